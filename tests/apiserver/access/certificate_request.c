#include "apiserver/access/certificate_request.h"

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
    bool readable;
    for (size_t i = 0; i < lengthof(requests); i++) {
        struct str pem = pem_of(requests[i].text);
        check(
            certificate_request_has_group(pem, "system:masters", &readable) == requests[i].masters);
        check(readable);
        for (size_t length = 0; length < pem.len - 1; length++) /* but for the last line's end */
            check(!certificate_request_has_group(
                      (struct str){ pem.ptr, length }, "system:masters", &readable) &&
                  !readable);
    }
}

TEST(a_text_begins_with_its_certificate_request)
{
    struct str pem = pem_of(requests[0].text);
    const char *behind = arena_printf(test_arena(), "x\n%.*s", (int)pem.len, pem.ptr);
    bool readable;
    check(!certificate_request_has_group(str_of(behind), "system:masters", &readable) && !readable);
}
