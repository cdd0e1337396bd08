#pragma once

/* Which alternative a text takes, where one token does not tell: all are followed at once until one
 * is left, as ANTLR's adaptive prediction does it. First without regard to who called the rule; if
 * that leaves two that look alike, again with it. */

#include "cel/grammar.h"

/* Where a rule goes on when one that it called ends. */
struct cel_return {
    const struct cel_return *outer;
    int state;
    struct cel_return *inner, *sibling; /* of predict.c */
};

struct cel_prediction {
    const struct cel_grammar *grammar;
    const uint8_t *symbols; /* up to and with CEL_SYMBOL_EOF */
    size_t at;              /* the first to look at */
    int decision;
    const struct cel_return *callers;
};

/* The number of the alternative, from 0; -1 if there is none, and which token showed it. */
int cel_predict(const struct cel_prediction *p, size_t *ret_bad);
