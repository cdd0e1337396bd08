#include "router/json_scan.h"

#include <stdio.h>

#include "tests/test.h"

/* The scalars of a text, fed in pieces of so many bytes. */
static const char *scan(const char *text, size_t piece)
{
    struct json_scan s;
    json_scan_init(&s);
    const char *got = "";
    struct str rest = str_of(text);
    while (rest.len) {
        struct str part = { rest.ptr, rest.len < piece ? rest.len : piece };
        rest = (struct str){ rest.ptr + part.len, rest.len - part.len };
        enum json_scan_event event;
        while ((event = json_scan(&s, &part)) != JSON_SCAN_MORE) {
            if (event == JSON_SCAN_FAILED)
                return "failed";
            if (event == JSON_SCAN_VALUE)
                got = arena_printf(test_arena(),
                    "%s%s.%s=%s;",
                    got,
                    s.keys[0],
                    s.depth > 1 ? s.keys[1] : "",
                    s.text);
        }
    }
    return json_scan_complete(&s) ? got : "incomplete";
}

static void check_scan(const char *text, const char *want)
{
    for (size_t piece = 1; piece < 20; piece++)
        check_text(scan(text, piece), want);
    check_text(scan(text, SIZE_MAX), want);
}

TEST(router_scan_finds_scalars_in_any_pieces)
{
    check_scan("{\"model\":\"m\",\"stream\":true}", "model.=m;stream.=true;");
    check_scan(" { \"a\" : [1,{\"model\":\"no\"}] , \"model\" : \"y\" } ", "model.=y;");
    check_scan("{\"usage\":{\"prompt_tokens\":12,\"x\":[]},\"n\":-1.5e3}",
        "usage.prompt_tokens=12;n.=-1.5e3;");
    check_scan("{\"a\":{\"b\":{\"c\":{\"model\":\"deep\"}}}}", "");
    check_scan("\xef\xbb\xbf{\"model\":\"bom\"}", "model.=bom;");
    check_scan("", "");
    check_scan("[1,2]", "");
    check_scan("7", "");
}

TEST(router_scan_decodes_every_spelling_of_a_key)
{
    check_scan(
        "{\"mod\\u0065l\":\"a\\n\\u00e9\\ud83d\\ude00\"}", "model.=a\n\xc3\xa9\xf0\x9f\x98\x80;");
    check_scan("{\"model\":\"\\ud800x\"}", "model.=\xef\xbf\xbdx;");
}

TEST(router_scan_refuses_what_is_not_json)
{
    static const char *const texts[] = { "{\"model\":\"m\"} x",
        "{]",
        "{\"a\" 1}",
        "{\"a\":}",
        "{,}",
        "[1,]",
        "{\"a\":1,}",
        "\"\\q\"",
        "{\"a\":nul}",
        "tru x",
        "\xef\xbb{}",
        "{\"a\":\"\n\"}" };
    for (size_t i = 0; i < lengthof(texts); i++)
        check_scan(texts[i], "failed");
    check_scan("{\"model\":\"m\"", "incomplete");
    check_scan("{\"model\":\"m", "incomplete");
}

TEST(router_scan_bounds_nesting_and_text)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    char *deep = arena_alloc(&a, JSON_SCAN_NEST_MAX + 2);
    memset(deep, '[', JSON_SCAN_NEST_MAX + 1);
    check_text(scan(deep, 64), "failed");
    deep[JSON_SCAN_NEST_MAX] = '\0';
    check_text(scan(deep, 64), "incomplete");
    char *text = arena_alloc(&a, 4096);
    snprintf(text, 4096, "{\"model\":\"%0*d\"}", 2000, 7);
    struct json_scan s;
    json_scan_init(&s);
    struct str bytes = str_of(text);
    check_int(json_scan(&s, &bytes), JSON_SCAN_BEGIN);
    check_int(*bytes.ptr, '"');
    check_int(json_scan(&s, &bytes), JSON_SCAN_VALUE);
    check(s.text_cut);
    check_int((int64_t)strlen(s.text), JSON_SCAN_TEXT_MAX);
}
