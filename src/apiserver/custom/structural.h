#pragma once

/* The schema of one version of a custom kind, compiled once and used often.
 *
 *   const struct structural *s = structural_compile(a, open_api_v3_schema);
 *   object = structural_prune(s, a, object, &unknown);     removes unknown fields
 *   object = structural_fill(s, a, object);                defaults
 *   structural_check(s, a, object, old, &errors);          validation
 *
 * The result is the same as in kube-apiserver: paths, messages, the parts of an unchanged object
 * that may stay invalid, the branch of an anyOf that errors are taken from. Only the order of
 * errors is ours: fields are sorted by name, because the API server's order is random.
 *
 * The rules of x-kubernetes-validations are in cel/rules.h. */

#include "apiserver/rules/field_errors.h"

struct structural;

/* Compiles spec.versions[].schema.openAPIV3Schema of an accepted CRD; an absent schema keeps every
 * field. The result does not refer to the JSON value. Keywords that a valid schema cannot have are
 * ignored. */
const struct structural *structural_compile(struct arena *a, struct json schema);
/* The same for checking a default in the schema. There the API server does not check int-or-string
 * values. */
const struct structural *structural_compile_default(struct arena *a, struct json schema);

/* Removes fields that are not in the schema, and nulls without a meaning. `unknown` gets their
 * paths, sorted ("spec.foo", "spec.list[0].bar"); NULL: not needed. apiVersion, kind and metadata
 * of the object are kept; those of embedded resources are read, see structural_read_embedded(), and
 * their errors come last. */
struct json structural_prune(
    const struct structural *s, struct arena *a, struct json object, struct field_errors *unknown);

/* Applies defaults to missing values, and to nulls that are not allowed. */
struct json structural_fill(const struct structural *s, struct arena *a, struct json object);

/* Validates an object that was pruned and filled. old absent: it is new; otherwise errors in
 * unchanged parts are ignored. status: only the status is written. */
void structural_check(const struct structural *s, struct arena *a, struct json object,
    struct json old, bool status, struct field_errors *errors);

/* The same for a value below the root, such as a default in a schema: `path` is prepended to the
 * paths of errors. structural_prunes() returns whether anything would be pruned. The check omits
 * the rules for list types and embedded resources; the latter have their own function. */
bool structural_prunes(const struct structural *s, struct arena *a, struct json value, bool root);
/* The value with its embedded resources as the API server reads them, which pruning also does: only
 * known metadata fields are kept. `unknown` gets unknown fields and, as FIELD_TYPE_INVALID,
 * unreadable values, which are dropped. NULL: not needed. */
struct json structural_read_embedded(const struct structural *s, struct arena *a, struct json value,
    const char *path, struct field_errors *unknown);
void structural_check_embedded(const struct structural *s, struct arena *a, struct json value,
    const char *path, struct field_errors *errors);
void structural_check_at(const struct structural *s, struct arena *a, struct json value,
    const char *path, struct field_errors *errors);
