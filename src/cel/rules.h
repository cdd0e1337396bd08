#pragma once

/* x-kubernetes-validations of a structural schema: compiled once, then checked against objects.
 *
 *   struct cel_problems found = { 0 };
 *   const struct cel_rules *rules = cel_rules_compile(a, schema, &(struct cel_rules_options){
 *       .at = "spec.versions[0].schema.openAPIV3Schema" }, &found);
 *   … found.first are the reasons to refuse the CustomResourceDefinition …
 *
 *   struct cel_problems refused = { 0 }, warned = { 0 };
 *   cel_rules_check(rules, a, &(struct cel_rules_input){ .object = new, .old = old },
 *       &refused, &warned);
 *   … refused are causes of a 422, warned go into Warning headers …
 *
 * Rules behave as in the API server. A rule that mentions oldSelf runs only if there is an old
 * value to compare with, found by key in maps and in lists of type map. A rule that fails on an
 * unchanged part gives a warning instead. All rules of one object share one budget. Objects must
 * already be pruned, defaulted and validated against the rest of their schema; on other objects
 * rules fail with a message, but the process never does.
 *
 * Problems are in the order of the schema's sorted properties; in the API server the order is
 * random. */

#include "base/json.h"

struct cel_rules;

enum cel_problem_type {
    CEL_PROBLEM_INVALID,
    CEL_PROBLEM_REQUIRED,
    CEL_PROBLEM_FORBIDDEN,
    CEL_PROBLEM_DUPLICATE,
    CEL_PROBLEM_NOT_SUPPORTED,
    CEL_PROBLEM_INTERNAL,
};

/* A cause of a 422 Status: {"reason": reason, "message": message, "field": path}. All texts are in
 * the arena of the call. */
struct cel_problem {
    struct cel_problem *next;
    enum cel_problem_type type;
    const char *path;    /* "spec.rules[0].host", "spec.labels[a/b]"; "<nil>" is the root */
    const char *reason;  /* "FieldValueInvalid", …: the cause's reason */
    const char *message; /* `Invalid value: "object": no such key: x evaluating rule: …` */
};

/* A list in order. All zero: empty. */
struct cel_problems {
    struct cel_problem *first;
    struct cel_problem **end;
    size_t count;
};

/* "PATH: MESSAGE", as in the Status's own message and in warnings. */
const char *cel_problem_text(struct arena *a, const struct cel_problem *p);

struct cel_rules_options {
    const char *at; /* the path of the schema in its CustomResourceDefinition, for problems */
    /* Disable the limits of estimated cost: for a stored CustomResourceDefinition, whose rules must
     * continue to work. */
    bool no_cost_limits;
    /* Sorted paths of known errors in the schema, including fields of rules. Rules at and above
     * these paths are skipped. NULL: fields of rules are checked here. */
    const char *const *wrong;
    size_t wrong_count;
};

/* Checks the rules of this one schema, except for their expressions: texts, reasons, paths to
 * fields. Returns the number of problems. at is the schema's path. */
size_t cel_rules_check_fields(
    struct arena *a, struct json schema, const char *at, struct cel_problems *ret_problems);

/* Compiles every rule of an openAPIV3Schema (the root of a resource). Never NULL: rules that do not
 * compile are reported in ret_problems and fail for every object. The result lives as long as the
 * arena and the schema, whose parts it shares. */
const struct cel_rules *cel_rules_compile(struct arena *a, struct json schema,
    const struct cel_rules_options *options, struct cel_problems *ret_problems);

/* Whether there are any rules. Without rules, cel_rules_check() does nothing. */
bool cel_rules_any(const struct cel_rules *rules);

struct cel_rules_input {
    struct json object;
    struct json old; /* absent when the object is being created */
};

/* Adds the problems of the object; it is accepted if none were added. ret_warnings receives
 * failures of parts that were already invalid before; it may be NULL. Bounded by the budget
 * CEL_BUDGET_OBJECT (cel.h); exceeding it is itself a problem. */
void cel_rules_check(const struct cel_rules *rules, struct arena *a,
    const struct cel_rules_input *input, struct cel_problems *ret_problems,
    struct cel_problems *ret_warnings);
