#include "cel/regex/regex.h"

#include "tests/test.h"

static const char *found(const char *pattern, const char *text)
{
    const struct cel_regex *re;
    struct cel_regex_scratch scratch = { 0 };
    struct cel_regex_match m;
    const char *trouble = cel_regex_compile(test_arena(), str_of(pattern), &re);
    if (trouble)
        return trouble;
    if (!cel_regex_search(re, test_arena(), &scratch, str_of(text), 0, &m))
        return NULL;
    return arena_strndup(test_arena(), text + m.start, m.end - m.start);
}

TEST(regex_finds_the_leftmost_and_prefers_the_first)
{
    check_text(found("a|ab", "xabab"), "a");
    check_text(found("a+", "baaa"), "aaa");
    check_text(found("a+?", "baaa"), "a");
    check_text(found("(a*)(ab)*b", "aab"), "aab");
    check_text(found("x*", "aaa"), "");
    check_text(found("b", "aaa"), NULL);
    check_text(found("(?U)a+", "aaa"), "a");
}

TEST(regex_knows_classes_and_edges)
{
    check_text(found("[^a-c]+", "abcxyz"), "xyz");
    check_text(found("[[:digit:]]+\\s\\w", "ab12 c"), "12 c");
    check_text(found("\\bfoo\\b", "a foo b"), "foo");
    check_text(found("^b$", "a\nb\nc"), NULL);
    check_text(found("(?m)^b$", "a\nb\nc"), "b");
    check_text(found("(?i)HeL", "hello"), "hel");
    check_text(found("\\p{Lu}\\P{Lu}", "aÄb"), "Äb");
    check_text(found(".{2}", "é€x"), "é€");
    check_text(found("[]-]+", "a]-b"), "]-");
    check_text(found("[0-9a-zA-Z-.]+", "!a-b.c!"), "a-b.c");
    check_text(found("[a-c-e]+", "dc-e"), "c-e");
    check_text(found("\\x{20ac}\\Q.*\\E", "€.*"), "€.*");
}

TEST(regex_repeats_in_bounds)
{
    check_text(found("^a{2,3}", "aaaa"), "aaa");
    check_text(found("^(ab){2}$", "abab"), "abab");
    check_text(found("a{,3}", "a{,3}"), "a{,3}");
    check(strstr(found("a{1001}", ""), "invalid repeat count: `{1001}`"));
    check(strstr(found("((a{1000}){1000}){10}", ""), "too large"));
}

TEST(regex_refuses_what_go_refuses)
{
    static const char *const wrong[][2] = {
        { "a(b", "missing closing ): `a(b`" },
        { "a)b", "unexpected ): `a)b`" },
        { "*a", "missing argument to repetition operator: `*`" },
        { "a**", "invalid nested repetition operator: `**`" },
        { "[a", "missing closing ]: `[a`" },
        { "[z-a]", "invalid character class range: `z-a`" },
        { "\\8", "invalid escape sequence: `\\8`" },
        { "a\\", "trailing backslash at end of expression: ``" },
        { "(?=a)", "invalid or unsupported Perl syntax: `(?=`" },
        { "\\1", "invalid escape sequence: `\\1`" },
        { "\\pX", "invalid character class range: `\\pX`" },
    };
    for (size_t i = 0; i < lengthof(wrong); i++)
        check_text(found(wrong[i][0], ""),
            arena_printf(test_arena(), "error parsing regexp: %s", wrong[i][1]));
}

TEST(regex_takes_linear_time_where_backtracking_would_not_end)
{
    char *text = arena_alloc(test_arena(), 30001);
    memset(text, 'a', 30000);
    check_text(found("(a*)*b", text), NULL);
    check_text(found("(a|aa)+$", text), text);
    check_text(found("(x+x+)+y", text), NULL);
}
