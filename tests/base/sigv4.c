/* The vectors are of AWS's "Signature Version 4 test suite" and of its reference of S3. */

#include "base/sigv4.h"
#include "base/hash.h"
#include "tests/test.h"

#define NOW_MS ((int64_t)1440938160 * 1000) /* 2015-08-30T12:36:00Z */
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct sigv4_keys keys = {
    .id = "AKIDEXAMPLE",
    .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
};

static const char *signature_of(const struct sigv4_signature *s)
{
    return strstr(s->authorization, "Signature=") + strlen("Signature=");
}

static void check_vector(const char *method, const char *path, const char *query,
    const char *header, const char *value, const char *body, const char *signature)
{
    struct arena *a = test_arena();
    const struct sigv4_header headers[] = {
        { "Host", STR("example.amazonaws.com") },
        { header, str_of(value) },
    };
    struct sigv4_signature s = sigv4_sign(a,
        &keys,
        &(struct sigv4_request){
            .method = method,
            .path = path,
            .query = query,
            .region = "us-east-1",
            .service = "service",
            .headers = headers,
            .header_count = header ? 2 : 1,
            .body_sha256 = sha256_hex(a, str_of(body)),
            .now_ms = NOW_MS,
        });
    check_text(signature_of(&s), signature);
}

TEST(sigv4_gives_the_signatures_of_the_test_suite)
{
    check_vector("GET",
        "/",
        NULL,
        NULL,
        NULL,
        "",
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    check_vector("POST",
        "/",
        NULL,
        NULL,
        NULL,
        "",
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
    check_vector("GET",
        "/",
        "Param2=value2&Param1=value1",
        NULL,
        NULL,
        "",
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
    check_vector("GET",
        "/",
        "Param1=value1",
        NULL,
        NULL,
        "",
        "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb");
    check_vector("GET",
        "/\xe1\x88\xb4",
        NULL,
        NULL,
        NULL,
        "",
        "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
    check_vector("POST",
        "/",
        NULL,
        "Content-Type",
        "application/x-www-form-urlencoded",
        "Param1=value1",
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
    check_vector("GET",
        "/",
        "\xe1\x88\xb4=bar",
        NULL,
        NULL,
        "",
        "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04");
    check_vector("GET",
        "/",
        "Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
        NULL,
        NULL,
        "",
        "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac");
    check_vector("GET",
        "/example space/",
        NULL,
        NULL,
        NULL,
        "",
        "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741");
    check_vector("GET",
        "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        NULL,
        NULL,
        NULL,
        "",
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f");
    check_vector("POST",
        "/",
        NULL,
        "My-Header1",
        "value1",
        "",
        "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c");
}

/* get-relative, get-relative-relative, get-slash, get-slash-dot-slash: all become "/". */
TEST(sigv4_normalises_paths)
{
    static const char *const roots[] = {
        "/example/..", "/example1/example2/../..", "//", "/./", "", "/..", NULL
    };
    for (size_t i = 0; roots[i]; i++)
        check_vector("GET",
            roots[i],
            NULL,
            NULL,
            NULL,
            "",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    check_vector("GET",
        "//example//",
        NULL,
        NULL,
        NULL,
        "",
        "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84");
}

TEST(sigv4_encodes_an_encoded_path_again_but_not_for_s3)
{
    struct arena *a = test_arena();
    const struct sigv4_header host = { "host", STR("h.test") };
    struct sigv4_request q = {
        .method = "POST",
        .path = "/model/a.b-v1%3A0/converse",
        .region = "us-west-2",
        .service = "bedrock",
        .headers = &host,
        .header_count = 1,
        .body_sha256 = EMPTY,
        .now_ms = NOW_MS,
    };
    check(strstr(sigv4_sign(a, &keys, &q).canonical, "POST\n/model/a.b-v1%253A0/converse\n\n"));
    q.is_s3 = true;
    check(strstr(sigv4_sign(a, &keys, &q).canonical, "POST\n/model/a.b-v1%3A0/converse\n\n"));
}

TEST(sigv4_signs_the_token_of_temporary_keys)
{
    struct arena *a = test_arena();
    struct sigv4_keys temporary = keys;
    temporary.token = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267";
    const struct sigv4_header host = { "host", STR("example.amazonaws.com") };
    struct sigv4_signature s = sigv4_sign(a,
        &temporary,
        &(struct sigv4_request){
            .method = "GET",
            .path = "/",
            .region = "us-east-1",
            .service = "service",
            .headers = &host,
            .header_count = 1,
            .body_sha256 = EMPTY,
            .now_ms = NOW_MS,
        });
    check_text(s.date, "20150830T123600Z");
    check_text(s.authorization,
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        "SignedHeaders=host;x-amz-date;x-amz-security-token, "
        "Signature=07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8");
}

TEST(sigv4_joins_the_values_of_one_name_and_trims_them)
{
    struct arena *a = test_arena();
    const struct sigv4_header headers[] = {
        { "Host", STR("example.amazonaws.com") },
        { "My-Header1", STR(" value2 ") },
        { "my-header1", STR("value2") },
        { "My-Header1", STR("value1") },
    };
    struct sigv4_request q = {
        .method = "GET",
        .path = "/",
        .region = "us-east-1",
        .service = "service",
        .headers = headers,
        .header_count = lengthof(headers),
        .body_sha256 = EMPTY,
        .now_ms = NOW_MS,
    };
    struct sigv4_signature s = sigv4_sign(a, &keys, &q);
    check_text(
        signature_of(&s), "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea");
}

TEST(sigv4_gives_the_signatures_of_the_reference_of_s3)
{
    struct arena *a = test_arena();
    const struct sigv4_keys s3 = {
        .id = "AKIAIOSFODNN7EXAMPLE",
        .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    };
    const struct sigv4_header headers[] = {
        { "Host", STR("examplebucket.s3.amazonaws.com") },
        { "Range", STR("bytes=0-9") },
    };
    struct sigv4_request q = {
        .method = "GET",
        .path = "/test.txt",
        .region = "us-east-1",
        .service = "s3",
        .headers = headers,
        .header_count = 2,
        .body_sha256 = EMPTY,
        .sends_body_sha256 = true,
        .is_s3 = true,
        .now_ms = (int64_t)1369353600 * 1000,
    };
    struct sigv4_signature s = sigv4_sign(a, &s3, &q);
    check_text(
        signature_of(&s), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    q.path = "/";
    q.query = "lifecycle";
    q.header_count = 1;
    s = sigv4_sign(a, &s3, &q);
    check_text(
        signature_of(&s), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    q.query = "prefix=J&max-keys=2";
    s = sigv4_sign(a, &s3, &q);
    check_text(
        signature_of(&s), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}
