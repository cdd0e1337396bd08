#include "http/head.h"

#include "tests/test.h"

TEST(header_is_found_without_case_and_tokens_in_lists)
{
    struct http_headers h = HTTP_HEADERS({ STR("Accept"), STR("a") },
        { STR("X-List"), STR("one, Two") },
        { STR("x-list"), STR("three") });
    check(str_eq(http_header_find(h, "accept"), STR("a")));
    check(http_header_find(h, "missing").ptr == NULL);
    check(http_header_has_token(h, "x-list", "two"));
    check(http_header_has_token(h, "x-list", "THREE"));
    check(!http_header_has_token(h, "x-list", "tw"));
}

TEST(retry_after_is_read_as_seconds_or_date)
{
    static const struct {
        struct str value;
        int64_t ms;
    } cases[] = {
        { STR("5"), 5000 },
        { STR("0"), 0 },
        { STR("-3"), 0 },
        { STR("999999999"), 3600000 },
        { STR("soon"), 0 },
        { STR("Sun, 06 Nov 1994 08:50:00 GMT"), 23000 },
        { STR("Sun, 06 Nov 1994 08:00:00 GMT"), 0 },
        { STR(""), 0 },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct http_header h = { STR("Retry-After"), cases[i].value };
        /* 1994-11-06 08:49:37 */
        check_int(http_retry_after_ms((struct http_headers){ &h, 1 }, 784111777000), cases[i].ms);
    }
    check_int(http_retry_after_ms((struct http_headers){ 0 }, 0), 0);
}

TEST(head_is_built_from_pieces_within_limits)
{
    struct head_builder b;
    head_init(&b, &(struct http_limits){ .header_bytes_max = 20, .header_count_max = 2 });
    head_add_name(&b, STR("na"));
    head_add_name(&b, STR("me"));
    head_add_value(&b, STR("va"));
    head_add_value(&b, STR("lue"));
    head_add(&b, STR("empty"), STR(""));
    struct http_headers h = head_headers(&b);
    check_int((int64_t)h.count, 2);
    check(str_eq(h.list[0].name, STR("name")) && str_eq(h.list[0].value, STR("value")));
    check(str_eq(h.list[1].name, STR("empty")) && h.list[1].value.len == 0);
    check(!b.too_large);
    head_add(&b, STR("third"), STR("3"));
    check(b.too_large);
    head_reset(&b);
    check(!b.too_large);
    head_add(&b, STR("long"), STR("0123456789abcdefg"));
    check(b.too_large);
    head_done(&b);
}

TEST(head_that_must_not_go_out_is_known)
{
    static const struct {
        struct http_header field;
        bool ok;
    } cases[] = {
        { { STR("x-a"), STR("plain\ttext \xc3\xa4") }, true },
        { { STR("x-a"), STR("line\nbreak") }, false },
        { { STR("x-a"), STR("car\rriage") }, false },
        { { STR("x-a"), STR("nul\0") }, false },
        { { STR("x a"), STR("v") }, false },
        { { STR("x:a"), STR("v") }, false },
        { { STR(""), STR("v") }, false },
        { { STR("x\r\ny"), STR("v") }, false },
    };
    for (size_t i = 0; i < lengthof(cases); i++)
        check_int(head_is_sendable((struct http_headers){ &cases[i].field, 1 }), cases[i].ok);
}

TEST(content_length_is_digits_only)
{
    int64_t n;
    check(head_content_length(STR("12"), &n) && n == 12);
    check(!head_content_length(STR("-1"), &n));
    check(!head_content_length(STR("+1"), &n));
    check(!head_content_length(STR("1 "), &n));
    check(!head_content_length(STR(""), &n));
    check(!head_content_length(STR("99999999999999999999"), &n));
}
