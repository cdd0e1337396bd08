#pragma once

/* The Common Expression Language, as Kubernetes 1.36 uses it in x-kubernetes-validations.
 *
 *   const struct cel_decl *self = cel_decl_new(a, schema, true);
 *   const struct cel_program *p;
 *   const char *trouble = cel_compile(a, self, "self.replicas <= 5", NULL, &p);
 *   if (trouble) …"ERROR: <input>:1:6: undefined field 'replicas'\n | self.…" …
 *   struct cel_outcome got = cel_run(p, a, &(struct cel_input){ .self = object });
 *
 *   text → lex → parse (macro) → check (type, literals) → estimate → program
 *   program + JSON → eval (collection, lib_*, format, regex, cost) → value
 *
 * The variables are self and, if there is an old value, oldSelf. The language is complete except
 * for messages, which have no use here. The libraries are those that Kubernetes 1.36 offers to new
 * rules: strings, lists, sets, regular expressions, URLs, IPs and CIDRs, quantities, formats,
 * semantic versions, optional values and comprehensions of two variables.
 *
 * Nothing here blocks, allocates outside of the arena or keeps state. Time and memory are bounded
 * by the budget of a run. An API server uses rules.h.
 *
 * Differences from the real server: parsing stops at the first syntax error; time zones are UTC and
 * offsets; \p{…} in regular expressions supports general categories but no scripts; (?i) folds
 * ASCII only. */

#include "cel/decl.h"
#include "cel/value.h"

/* Cost limit of one run, and of all runs of one object's rules together. */
#define CEL_BUDGET_CALL ((uint64_t)1000000)
#define CEL_BUDGET_OBJECT ((int64_t)10000000)
/* Limit of the estimated cost of one rule, and of all rules of one schema together. */
#define CEL_ESTIMATE_RULE ((uint64_t)10000000)
#define CEL_ESTIMATE_SCHEMA ((uint64_t)100000000)

struct cel_options {
    bool optional_old_self; /* oldSelf is an optional and always defined */
    enum cel_kind wanted;   /* CEL_BOOL for a rule, CEL_STRING for a message; CEL_DYN: any type */
    const char *variable;   /* the only variable; NULL: self, and oldSelf */
};

struct cel_program {
    struct cel_node *root;
    const struct cel_decl *self;
    const struct cel_known_regex *regexes;
    const struct cel_type *type; /* of the result */
    uint64_t estimate;           /* of its cost */
    bool uses_old_self, optional_old_self;
};

/* Returns NULL, or why the expression cannot be compiled, in the API server's full wording. The
 * program lives as long as the arena, the schema and the text. */
const char *cel_compile(struct arena *a, const struct cel_decl *self, const char *text,
    const struct cel_options *options, const struct cel_program **ret);

struct cel_input {
    struct json self;
    struct json old_self; /* absent: there is none */
};

struct cel_outcome {
    struct cel_value value; /* may be an error */
    uint64_t cost;
    bool over_budget;
};

struct cel_outcome cel_run(
    const struct cel_program *p, struct arena *a, const struct cel_input *input);
