#pragma once

/* Validates the schema of a CRD in the same steps as kube-apiserver, because a step that fails
 * suppresses some of the later ones:
 *
 *   can it be structural at all ── no ──────────────────────┐
 *     │ yes                                                 │
 *   its form: does every field have a type                  │   crd_form.c
 *     │ nothing wrong                                       │
 *   its defaults: are they valid at their place             │   crd_schema.c
 *     │ nothing wrong                                       │
 *   its rules are compiled, if its keywords are valid       │   crd_rules.c
 *                                                           │
 *   its keywords: are they consistent (always checked) ◀────┘   crd_schema.c */

#include "apiserver/rules/field_errors.h"

/* Why the schema, or a schema in it, cannot be structural in any case; NULL: it can. */
const char *crd_form_strangeness(struct arena *a, struct json schema);

/* The reasons why such a schema is not structural yet, sorted by text. */
void crd_form_check(
    struct arena *a, struct json schema, const char *at, struct field_errors *errors);

/* ---- reading a schema ---- */

static inline bool schema_has(struct json schema, const char *keyword)
{
    return json_present(json_member(schema, keyword));
}

static inline const char *schema_text(struct json schema, const char *keyword)
{
    const char *text = json_text(json_member(schema, keyword));
    return text ? text : "";
}

static inline bool schema_is(struct json schema, const char *flag)
{
    struct json v = json_member(schema, flag);
    return json_is(v, JSON_BOOL) && v.boolean;
}

static inline bool schema_is_not(struct json schema, const char *flag)
{
    struct json v = json_member(schema, flag);
    return json_is(v, JSON_BOOL) && !v.boolean;
}

/* "AT.properties[KEY]", "AT.allOf[3]" */
static inline const char *schema_keyed(
    struct arena *a, const char *at, const char *keyword, const char *key)
{
    return field_key(a, field_child(a, at, keyword), key);
}

static inline const char *schema_indexed(
    struct arena *a, const char *at, const char *keyword, size_t index)
{
    return field_index(a, field_child(a, at, keyword), index);
}
/* The schema, with the objects in its defaults as the server reads them before storing it;
 * unreadable ones are unchanged. */
struct json crd_schema_read_defaults(struct arena *a, struct json schema);
