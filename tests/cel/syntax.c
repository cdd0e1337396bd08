#include "cel/ast.h"

#include "tests/test.h"

/* What is said of a text, without the lines that show where. */
static const char *said(const char *text)
{
    struct cel_source s = { .arena = test_arena(), .text = str_of(text) };
    const char *all = "";
    check(cel_parse(&s) == NULL);
    for (const struct cel_issue *i = s.issues; i; i = i->next)
        all = arena_printf(test_arena(), "%s%d: %s\n", all, (int)i->offset, i->text);
    return all;
}

#define EXPRESSION                                                                                 \
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "       \
    "STRING, BYTES, IDENTIFIER}"

TEST(syntax_tokens_that_lack_or_are_too_many_are_named)
{
    check_text(said("f(1"), "3: Syntax error: missing ')' at '<EOF>'\n");
    check_text(said("1 1"), "2: Syntax error: extraneous input '1' expecting <EOF>\n");
    check_text(said("!"), "1: Syntax error: extraneous input '<EOF>' expecting " EXPRESSION "\n");
    check_text(said("[1,,2]"), "3: Syntax error: mismatched input ',' expecting ']'\n");
    check_text(said("self."), "5: Syntax error: no viable alternative at input '.'\n");
}

TEST(syntax_goes_on_behind_an_error)
{
    check_text(said("-"),
        "1: Syntax error: no viable alternative at input '-'\n"
        "1: Syntax error: mismatched input '<EOF>' expecting " EXPRESSION "\n");
    check_text(said("in"),
        "0: Syntax error: mismatched input 'in' expecting " EXPRESSION "\n"
        "2: Syntax error: mismatched input '<EOF>' expecting " EXPRESSION "\n");
}

TEST(syntax_parts_are_looked_at_too)
{
    check_text(said("as + has(1) + 1e999 ="),
        "0: reserved identifier: as\n"
        "9: invalid argument to has() macro\n"
        "14: invalid double literal\n"
        "20: Syntax error: token recognition error at: '='\n");
    check_text(said("a.?1"),
        "3: Syntax error: mismatched input '1' expecting {IDENTIFIER, ESC_IDENTIFIER}\n"
        "3: unsupported ident kind\n");
}

TEST(syntax_nesting_has_an_end)
{
    char deep[2001];
    memset(deep, '(', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    check_text(said(deep), "-2: expression recursion limit exceeded: 250\n");
}
