#pragma once

/* The schema of one version of a custom kind, compiled once and asked often.
 *
 *   const struct structural *s = structural_compile(a, open_api_v3_schema);
 *   object = structural_prune(s, a, object, &unknown);     what the kind does not have
 *   object = structural_fill(s, a, object);                defaults
 *   structural_check(s, a, object, old, &errors);          what is wrong with it
 *
 * What comes out is what a kube-apiserver makes of the same object, word for word: paths, messages,
 * the part of an unchanged object that may stay wrong, which branch of an anyOf the errors are
 * taken from. Only the order of errors is ours: fields by name, where the API server has none.
 *
 * The rules of x-kubernetes-validations are not here but in cel/rules.h. */

#include "apiserver/rules/field_errors.h"

struct structural;

/* Of spec.versions[].schema.openAPIV3Schema of a CustomResourceDefinition that was accepted; absent
 * gives a schema that keeps every field. Nothing of the JSON value is referred to afterwards. What
 * a valid schema cannot have is ignored. */
const struct structural *structural_compile(struct arena *a, struct json schema);
/* The same to check a default in the schema, of which the API server does not ask that an int or
 * string is either. */
const struct structural *structural_compile_default(struct arena *a, struct json schema);

/* The object without fields that the schema does not have, and without nulls that mean
 * nothing. unknown takes the paths, sorted ("spec.foo", "spec.list[0].bar"); NULL: not wanted.
 * apiVersion, kind and metadata of the object are left alone; those of embedded resources are
 * read, see structural_read_embedded(), and what is told of them comes last. */
struct json structural_prune(
    const struct structural *s, struct arena *a, struct json object, struct field_errors *unknown);

/* The object with defaults where there is nothing, or a null that is not allowed. */
struct json structural_fill(const struct structural *s, struct arena *a, struct json object);

/* What is wrong with an object that was pruned and filled. old absent: it is new; else errors of
 * parts that were like that before are left out. status: nothing else is written. */
void structural_check(const struct structural *s, struct arena *a, struct json object,
    struct json old, bool status, struct field_errors *errors);

/* The same for a value somewhere below the root, as defaults in a schema are: path comes
 * before the paths of errors. Pruning says whether there was anything to prune. The check leaves
 * out what lists and embedded resources must be; the latter has a function of its own. */
bool structural_prunes(const struct structural *s, struct arena *a, struct json value, bool root);
/* The value with embedded resources as the API server reads them, which pruning does too: metadata
 * has what all metadata has. unknown: fields that it has not; or, as FIELD_TYPE_INVALID, that
 * something cannot be read, which is left out. NULL: not wanted. */
struct json structural_read_embedded(const struct structural *s, struct arena *a, struct json value,
    const char *path, struct field_errors *unknown);
void structural_check_embedded(const struct structural *s, struct arena *a, struct json value,
    const char *path, struct field_errors *errors);
void structural_check_at(const struct structural *s, struct arena *a, struct json value,
    const char *path, struct field_errors *errors);
