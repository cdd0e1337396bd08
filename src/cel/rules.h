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
 * What the API server does, this does: rules that mention oldSelf run only where there is an old
 * value to compare with, found by key in maps and in lists of type map; a rule that fails on a part
 * that did not change is a warning instead; all rules of one object share one budget. Objects are
 * expected to be pruned, defaulted and valid against the rest of their schema: what is not, makes
 * rules fail with a message, never the process.
 *
 * The order of problems is that of the schema's sorted properties; the API server's is random. */

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

/* A cause of a 422 Status: {"reason": reason, "message": message, "field": path}. All texts are
 * from the arena of the call. */
struct cel_problem {
    struct cel_problem *next;
    enum cel_problem_type type;
    const char *path;    /* "spec.rules[0].host", "spec.labels[a/b]"; "<nil>" is the root */
    const char *reason;  /* "FieldValueInvalid", …: the cause's reason */
    const char *message; /* `Invalid value: "object": no such key: x evaluating rule: …` */
};

/* A list in order; all zero is an empty one. */
struct cel_problems {
    struct cel_problem *first;
    struct cel_problem **end;
    size_t count;
};

/* "PATH: MESSAGE": how a problem is in the Status's own message and in a warning. */
const char *cel_problem_text(struct arena *a, const struct cel_problem *p);

struct cel_rules_options {
    const char *at; /* the path of the schema in its CustomResourceDefinition, for problems */
    /* Leave out the limits of estimated cost: for a CustomResourceDefinition that was stored
     * already, whose rules must go on working. */
    bool no_cost_limits;
    /* Paths of what is known to be wrong with the schema, fields of rules among them, sorted: rules
     * there and above are left alone. NULL: the fields of rules are checked here. */
    const char *const *wrong;
    size_t wrong_count;
};

/* What is wrong with the rules of this one schema, apart from their expressions: texts, reasons,
 * paths to fields; how many problems there are. at is the schema's path. */
size_t cel_rules_check_fields(
    struct arena *a, struct json schema, const char *at, struct cel_problems *ret_problems);

/* Compiles every rule of an openAPIV3Schema (the root of a resource). Never NULL: rules that do not
 * compile are in ret_problems, and fail every object they would be checked against. The result
 * lives as long as the arena and the schema, whose parts it shares. */
const struct cel_rules *cel_rules_compile(struct arena *a, struct json schema,
    const struct cel_rules_options *options, struct cel_problems *ret_problems);

/* Whether there is any rule at all: without one, cel_rules_check() does nothing. */
bool cel_rules_any(const struct cel_rules *rules);

struct cel_rules_input {
    struct json object;
    struct json old; /* absent when the object is being created */
};

/* Adds what is wrong with the object; nothing added means that it is accepted. ret_warnings takes
 * failures of parts that were as wrong before, may be NULL. Bounded by the budget of
 * CEL_BUDGET_OBJECT (cel.h), whose end is a problem itself. */
void cel_rules_check(const struct cel_rules *rules, struct arena *a,
    const struct cel_rules_input *input, struct cel_problems *ret_problems,
    struct cel_problems *ret_warnings);
