#include "apiserver/rules/go_words.h"

#include "tests/test.h"

/* Each was asked of a real server. */
TEST(what_is_wrong_with_a_time_is_said_in_gos_words)
{
    static const struct {
        const char *text, *says;
        bool micro;
    } rows[] = {
        { "x",
            "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"",
            false },
        { "2020-1-1",
            "parsing time \"2020-1-1\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"1-1\" as "
            "\"01\"",
            false },
        { "2020-13-01T00:00:00Z",
            "parsing time \"2020-13-01T00:00:00Z\": month out of range",
            false },
        { "2020-02-30T00:00:00Z",
            "parsing time \"2020-02-30T00:00:00Z\": day out of range",
            false },
        { "2020-01-01T05:00:00",
            "parsing time \"2020-01-01T05:00:00\" as \"2006-01-02T15:04:05Z07:00\": cannot parse "
            "\"\" as "
            "\"Z07:00\"",
            false },
        { "2020-01-01T05:00:00.5Z",
            "parsing time \"2020-01-01T05:00:00.5Z\" as \"2006-01-02T15:04:05.000000Z07:00\": "
            "cannot parse "
            "\".5Z\" as \".000000\"",
            true },
        { "2020-01-01T05:00:00+25:00",
            "parsing time \"2020-01-01T05:00:00+25:00\": time zone offset hour out of range",
            false },
        { "2020-01-01T00:00:00.000000Zx",
            "parsing time \"2020-01-01T00:00:00.000000Zx\": extra text: \"x\"",
            true },
    };
    for (size_t i = 0; i < lengthof(rows); i++)
        check_text(go_time_trouble(test_arena(), rows[i].text, rows[i].micro), rows[i].says);
}

TEST(where_base64_ends_to_be_some_is_where_go_says)
{
    static const struct {
        const char *text;
        int byte;
    } rows[] = {
        { "x", 0 },
        { "YQ", 0 },
        { "YQ=", 3 },
        { "YQ==x", 4 },
        { "Y===", 1 },
        { "====", 0 },
        { "YWI==", 4 },
        { "YQ=x", 2 },
        { "YQ\n=\nx", 4 },
        { "ab cd", 2 },
        { "abcde", 4 },
        { "YWJjYQ=", 7 },
        { "Y\nQ\nx", 2 },
    };
    for (size_t i = 0; i < lengthof(rows); i++)
        check_text(go_base64_trouble(test_arena(), rows[i].text),
            arena_printf(test_arena(), "illegal base64 data at input byte %d", rows[i].byte));
}
