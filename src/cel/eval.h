#pragma once

/* Evaluation of a checked expression, for the files of this folder. Errors are values here, as the
 * language has it: `false && (1/0 > 0)` is false. */

#include "cel/ast.h"
#include "cel/regex/regex.h"
#include "cel/value.h"

struct cel_variable {
    const struct cel_variable *next; /* the surrounding scope */
    struct str name;
    struct cel_value value;
    const struct cel_node *later; /* what gives the value, as long as nothing asked for it */
};

/* A regular expression that is in the program, compiled. */
struct cel_known_regex {
    const struct cel_known_regex *next;
    struct str pattern;
    const struct cel_regex *regex;
};

struct cel_eval {
    struct arena *arena;
    uint64_t cost, cost_limit;
    uint64_t work;      /* comparisons, of which a call may make many for little cost */
    bool stopped;       /* a limit was reached: nothing more counts */
    const char *broken; /* why it was stopped, where cel-go fails itself */
    const struct cel_variable *variables;
    const struct cel_known_regex *regexes;
    struct cel_regex_scratch scratch;
};

/* Some seconds' worth. cel-go has no such limit: there one comparison of two large objects costs as
 * much as that of two numbers. */
#define CEL_WORK_MAX ((uint64_t)100000000)

/* An error value. */
struct cel_value cel_error(struct cel_eval *e, const char *format, ...) printf_like(2, 3);
/* Adds to the cost; false, and everything ends, if that was too much. */
bool cel_spend(struct cel_eval *e, uint64_t cost);

struct cel_value cel_variable_now(struct cel_eval *e, const struct cel_variable *v);

struct cel_value cel_evaluate(struct cel_eval *e, const struct cel_node *n);

/* Equality of lists of type set or map, where the order does not matter. */
struct cel_value cel_list_equal_unordered(
    struct cel_eval *e, struct cel_value a, struct cel_value b);
