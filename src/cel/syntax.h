#pragma once

/* What is wrong with a text that is no expression, in the words of cel-go. Its parser does not stop
 * at the first error: it drops a token, or imagines one, or passes over what it cannot use, and
 * goes on; what is left then is looked through for names, numbers and macros that are wrong too.
 * This is the way for texts that cel_parse() gave up; it takes the longer one through the grammar.
 */

#include "cel/grammar.h"

/* A node of what was read: a rule, or a token. */
struct cel_branch {
    struct cel_branch *next, *first, *last;
    int rule;         /* -1: a token */
    int alt;          /* of a rule with alternatives, from 1; 0: none was chosen */
    bool is_extra;    /* a token that was passed over */
    bool is_repeated; /* made by a left-recursive rule, around what it had read before */
    struct cel_token token;
    uint32_t offset; /* where it begins */
};

/* Adds at least one issue. */
void cel_syntax_explain(struct cel_source *s);

/* ---- for syntax.c ---- */

/* Adds what is wrong with the parts, once the whole was read as well as could be. */
void cel_syntax_inspect(struct cel_source *s, const struct cel_branch *root);
