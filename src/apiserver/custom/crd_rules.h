#pragma once

/* x-kubernetes-validations as causes of a refusal; see cel/rules.h. */

#include "apiserver/rules/field_errors.h"

struct cel_rules;

/* Whether there is a rule anywhere in a schema. */
bool crd_rules_any(struct json schema);
/* What is wrong with the rules of this one schema, apart from their expressions. */
void crd_rules_check_fields(
    struct arena *a, struct json schema, const char *at, struct field_errors *errors);
/* What is wrong with the expressions in a schema that is at this path. Where errors, from the
 * given one on, have something at a rule's schema or below it, the rule is left alone. unchanged:
 * they were accepted before, so they may cost what they cost. */
void crd_rules_check(struct arena *a, struct json schema, const char *at, bool unchanged,
    size_t errors_from, struct field_errors *errors);
/* Rules that were accepted; NULL: there are none. Nothing of the schema is referred to afterwards.
 */
const struct cel_rules *crd_rules_compile(struct arena *a, struct json schema);
/* What they say about a value; at comes before paths, "" for an object. */
void crd_rules_ask(const struct cel_rules *rules, struct arena *a, struct json value,
    struct json old, const char *at, struct field_errors *errors);
