#include "apiserver/certificate_request.h"

#include "base/base64.h"
#include "tests/test.h"

/* Made by openssl, of a subject each. */
static const struct {
    const char *text;
    bool masters;
} requests[] = {
    { "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIZ01JR0hBZ0VBTUNVeEZ6QVZCZ05WQkFv"
      "TURuTjVjM1JsYlRwdFlYTjBaWEp6TVFvd0NBWURWUVFEREFGNApNRmt3RXdZSEtvWkl6ajBDQVFZSUtvWkl6"
      "ajBEQVFjRFFnQUV2WE9GT01GaEhNYU05QzJ5OEZtRFNuQ0o3d0tXCk9QWERmQTM0UkJUMU9CWDY1d2FNSVpH"
      "YXVOR3hkN2tGcHF4eXhEbklEdk1na0ovNzlRWFNCODYzWWFBQU1Bb0cKQ0NxR1NNNDlCQU1DQTBnQU1FVUNJ"
      "QU5VMDhmTWxvQloxRTRFQjg3L0dGZlU0MDBHaW0zNUxYTDJFZERPNENRSQpBaUVBek10WXBGeG1GdlRMSlUz"
      "dkR2a1RYNWJjUEc4dEE4R3hmTlcxZGI1dFlEaz0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0t"
      "Cg==",
        true },
    { "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIc01JR1RBZ0VBTURFeENqQUlCZ05WQkFv"
      "TUFXRXhGekFWQmdOVkJBb01Ebk41YzNSbGJUcHRZWE4wWlhKegpNUW93Q0FZRFZRUUREQUY0TUZrd0V3WUhL"
      "b1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFdlhPRk9NRmhITWFNCjlDMnk4Rm1EU25DSjd3S1dPUFhEZkEz"
      "NFJCVDFPQlg2NXdhTUlaR2F1Tkd4ZDdrRnBxeHl4RG5JRHZNZ2tKLzcKOVFYU0I4NjNZYUFBTUFvR0NDcUdT"
      "TTQ5QkFNQ0EwZ0FNRVVDSVFDYjUrVlV2Mnp6bU9IL2FoQzVJRXpWdFZrawoxZnZBSGRLd0k4dWI4cG9UNkFJ"
      "Z095YTY1SHYxNnc1bSs5WWtub3B6VjREWGFJQUI0dWRMRi9YUDF5a1ZJTlU9Ci0tLS0tRU5EIENFUlRJRklD"
      "QVRFIFJFUVVFU1QtLS0tLQo=",
        true },
    { "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIaU1JR0lBZ0VBTUNZeEdEQVdCZ05WQkFv"
      "TUQzTjVjM1JsYlRwdFlYTjBaWEp6Y3pFS01BZ0dBMVVFQXd3QgplREJaTUJNR0J5cUdTTTQ5QWdFR0NDcUdT"
      "TTQ5QXdFSEEwSUFCTDF6aFRqQllSekdqUFF0c3ZCWmcwcHdpZThDCmxqajF3M3dOK0VRVTlUZ1YrdWNHakNH"
      "Um1yalJzWGU1QmFhc2NzUTV5QTd6SUpDZisvVUYwZ2ZPdDJHZ0FEQUsKQmdncWhrak9QUVFEQWdOSkFEQkdB"
      "aUVBMjJsb3Fjb21NeHVGejdueC9RTTA2ZHRSTnJvN0JpbkJIWC9IcXpBcQpEZWtDSVFDUEcvd3luKzZlOVBq"
      "bitnLzVsQlRiUVZLTVVSbEtYeWg5WVltdTc5RThLdz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1Qt"
      "LS0tLQo=",
        false },
};

static struct str pem_of(const char *text)
{
    struct str pem;
    check(base64_decode(test_arena(), str_of(text), &pem));
    return pem;
}

TEST(a_certificate_request_tells_the_groups_of_its_subject)
{
    struct str der;
    bool readable;
    for (size_t i = 0; i < lengthof(requests); i++) {
        check(certificate_request_der(test_arena(), pem_of(requests[i].text), &der));
        check(
            certificate_request_has_group(der, "system:masters", &readable) == requests[i].masters);
        check(readable);
        /* Cut short, it is none, up to where the subject ends. */
        for (size_t length = 0; length < 9; length++)
            check(!certificate_request_has_group(
                      (struct str){ der.ptr, length }, "system:masters", &readable) &&
                  !readable);
    }
}

TEST(a_certificate_request_in_two_bytes_a_character_is_read)
{
    static const char der[] = "\x30\x18\x30\x16\x02\x01\x00\x30\x11\x31\x0f\x30\x0d\x06\x03\x55"
                              "\x04\x0a\x1e\x06\x00s\x00y\x00s";
    struct str text = { der, sizeof(der) - 1 };
    bool readable;
    check(certificate_request_has_group(text, "sys", &readable) && readable);
    check(!certificate_request_has_group(text, "sy", &readable) && readable);
    check(!certificate_request_has_group(text, "syt", &readable) && readable);
}

TEST(a_certificate_request_is_the_only_thing_in_its_text)
{
    struct str pem = pem_of(requests[2].text), der;
    const char *twice =
        arena_printf(test_arena(), "%.*s%.*s", (int)pem.len, pem.ptr, (int)pem.len, pem.ptr);
    const char *behind = arena_printf(test_arena(), "x\n%.*s", (int)pem.len, pem.ptr);
    check(!certificate_request_der(test_arena(), str_of(twice), &der));
    check(!certificate_request_der(test_arena(), str_of(behind), &der));
    check(!certificate_request_der(test_arena(), (struct str){ pem.ptr, pem.len - 9 }, &der));
    check(!certificate_request_der(test_arena(), (struct str){ NULL, 0 }, &der));
}
