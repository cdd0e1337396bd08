#pragma once

/* x-kubernetes-validations, reported as causes of a Status; see cel/rules.h. */

#include "apiserver/rules/field_errors.h"

struct cel_rules;

/* Whether a schema contains any rule. */
bool crd_rules_any(struct json schema);
/* Validates the rules of this one schema, except their expressions. */
void crd_rules_check_fields(
    struct arena *a, struct json schema, const char *at, struct field_errors *errors);
/* Validates the expressions in the schema at this path. If `errors`, from the given index on, has
 * an error at or below a rule's schema, the rule is skipped. unchanged: they were accepted before,
 * so their cost is not limited. */
void crd_rules_check(struct arena *a, struct json schema, const char *at, bool unchanged,
    size_t errors_from, struct field_errors *errors);
/* Compiles accepted rules; NULL: there are none. The result does not refer to the schema. */
const struct cel_rules *crd_rules_compile(struct arena *a, struct json schema);
/* Evaluates the rules for a value; `at` is prepended to paths, "" for an object. */
void crd_rules_ask(const struct cel_rules *rules, struct arena *a, struct json value,
    struct json old, const char *at, struct field_errors *errors);
