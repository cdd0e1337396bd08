#pragma once

/* Evaluation of a checked expression, for the files of this folder. Errors are values, as the
 * language requires: `false && (1/0 > 0)` is false. */

#include "cel/ast.h"
#include "cel/regex/regex.h"
#include "cel/value.h"

struct cel_variable {
    const struct cel_variable *next; /* the surrounding scope */
    struct str name;
    struct cel_value value;
    const struct cel_node *later; /* computes the value at its first use; NULL once it is known */
};

/* A compiled regular expression from a literal of the program. */
struct cel_known_regex {
    const struct cel_known_regex *next;
    struct str pattern;
    const struct cel_regex *regex;
};

struct cel_eval {
    struct arena *arena;
    uint64_t cost, cost_limit;
    uint64_t work;      /* comparisons; one cheap call may do many of them */
    bool stopped;       /* a limit was reached: all further results are ignored */
    const char *broken; /* why it was stopped, in cases where cel-go itself fails */
    const struct cel_variable *variables;
    const struct cel_known_regex *regexes;
    struct cel_regex_scratch scratch;
};

/* Some seconds of work. cel-go has no such limit: to it, a comparison of two large objects costs as
 * much as one of two numbers. */
#define CEL_WORK_MAX ((uint64_t)100000000)

/* An error value. */
struct cel_value cel_error(struct cel_eval *e, const char *format, ...) printf_like(2, 3);
/* Adds to the cost. False if the limit is exceeded, which ends the evaluation. */
bool cel_spend(struct cel_eval *e, uint64_t cost);

struct cel_value cel_variable_now(struct cel_eval *e, const struct cel_variable *v);

struct cel_value cel_evaluate(struct cel_eval *e, const struct cel_node *n);

/* Equality of lists of type set or map, which ignores the order. */
struct cel_value cel_list_equal_unordered(
    struct cel_eval *e, struct cel_value a, struct cel_value b);
