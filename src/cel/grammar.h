#pragma once

/* The grammar of the language as a network of states, in the form that ANTLR gives to cel-go's:
 * what its parser says of a text that is no expression, and where it goes on reading, follows from
 * it. */

#include "cel/lex.h"

/* Kinds of tokens, in the order in which messages list them. Sets of them are bits of a uint64_t.
 */
#define CEL_SYMBOL_EOF 0
#define CEL_SYMBOLS 36
#define CEL_SYMBOL_EPSILON 63 /* in a set: the end of the rule can be reached */
#define CEL_BIT(symbol) ((uint64_t)1 << (symbol))

enum cel_rule {
    CEL_RULE_START,
    CEL_RULE_EXPR,
    CEL_RULE_OR,
    CEL_RULE_AND,
    CEL_RULE_RELATION,
    CEL_RULE_CALC,
    CEL_RULE_UNARY,
    CEL_RULE_MEMBER,
    CEL_RULE_PRIMARY,
    CEL_RULE_EXPRS,
    CEL_RULE_ITEMS,
    CEL_RULE_FIELDS,
    CEL_RULE_FIELD,
    CEL_RULE_ENTRIES,
    CEL_RULE_NAME,
    CEL_RULE_ITEM,
    CEL_RULE_LITERAL,
    CEL_RULES,
};

enum cel_element_kind {
    CEL_ELEMENT_TOKEN, /* one of a set */
    CEL_ELEMENT_RULE,
    CEL_ELEMENT_BLOCK,    /* one of several alternatives */
    CEL_ELEMENT_OPTIONAL, /* ? */
    CEL_ELEMENT_STAR,     /* * */
    CEL_ELEMENT_PLUS,     /* + */
    CEL_ELEMENT_LEFT, /* what a left-recursive rule repeats, each time around what it has read */
};

#define CEL_ALTS_MAX 8

/* A part of a rule: an item of a sequence. */
struct cel_element {
    enum cel_element_kind kind;
    struct cel_element *next;
    int state;     /* where it begins */
    int back;      /* of a loop: behind an iteration */
    int inner;     /* of a star or left one: where its alternatives begin */
    int decision;  /* the state whose targets are the alternatives, and the way past them */
    uint64_t set;  /* of a token */
    int rule;      /* of a rule */
    int level;     /* of a rule: how tightly an operator must bind */
    int alt_count; /* of blocks */
    struct cel_element *alts[CEL_ALTS_MAX];
};

enum cel_state_kind {
    CEL_STATE_BASIC,
    CEL_STATE_BLOCK, /* also where a star's alternatives begin */
    CEL_STATE_LOOP_ENTRY,
    CEL_STATE_LOOP_BACK,
    CEL_STATE_STOP, /* the end of a rule */
};

struct cel_state {
    enum cel_state_kind kind;
    int rule;
    uint64_t set; /* a token leads to targets[0]; 0: nothing is read */
    int call;     /* the rule that is read before targets[0]; -1: none */
    int count, targets[CEL_ALTS_MAX];
};

struct cel_grammar {
    struct cel_state *states;
    int count;
    struct {
        struct cel_element *body;
        int start, stop;
    } rules[CEL_RULES];
};

const struct cel_grammar *cel_grammar_new(struct arena *a);
int cel_symbol_of(const struct cel_token *t);
/* What a message calls it. */
const char *cel_symbol_name(int symbol);
int cel_symbol_named(struct str name);
/* What can be read next from a state: with CEL_SYMBOL_EPSILON if the rule may end before, or, if
 * `beyond`, with all that may follow the rule anywhere. */
uint64_t cel_grammar_look(const struct cel_grammar *g, int state, bool beyond);
