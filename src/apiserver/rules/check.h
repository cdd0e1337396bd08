#pragma once

/* Validation rules for fields, as tables; each adds the API server's error.
 *
 *   static const struct check rules[] = {
 *       { "spec.replicas", CHECK_MIN },                     at least .min
 *       { "spec.ports.*.port", CHECK_PORT },                every item
 *       { "spec.type", CHECK_ENUM, .allowed = types },
 *       { 0 },
 *   };
 *   check_table(errors, object, "", rules);
 *
 * A rule applies to present members. CHECK_REQUIRED also applies to absent members, if the map that
 * contains them is present. */

#include "apiserver/rules/field_errors.h"
#include "base/names.h"

enum check_kind {
    CHECK_REQUIRED = 1, /* neither absent nor empty */
    CHECK_ENUM,         /* one of .allowed */
    CHECK_MIN,          /* a number of at least .min */
    CHECK_POSITIVE,     /* above 0, with another message */
    CHECK_PORT,         /* 1 to 65535 */
    CHECK_PORT_OR_NAME,
    CHECK_PORT_NAME,
    CHECK_LABEL, /* DNS-1123 */
    CHECK_SUBDOMAIN,
    CHECK_SEGMENT, /* allowed as a path segment */
    CHECK_LABEL_KEY,
    CHECK_LABELS,   /* a map of labels */
    CHECK_SELECTOR, /* a LabelSelector */
    CHECK_KEY,      /* of a ConfigMap or Secret */
    CHECK_IP,
    CHECK_FILE_MODE,
    CHECK_LOCAL_PATH,    /* relative and without ".." */
    CHECK_RESERVED_PATH, /* the same, and not a name reserved by the kubelet */
    CHECK_USER_ID,
};

struct check {
    const char *path; /* NULL after the last */
    enum check_kind kind;
    const char *const *allowed; /* NULL-terminated */
    int64_t min, max;
    const char *detail; /* for CHECK_REQUIRED */
};

/* path: of v itself, "" for the root. */
void check_table(
    struct field_errors *e, struct json v, const char *path, const struct check *table);
/* One rule, on one value. */
void check_value(struct field_errors *e, struct json v, const char *path, const struct check *rule);

void check_name(struct field_errors *e, struct json v, const char *path, enum name_kind kind);
void check_labels(struct field_errors *e, struct json labels, const char *path);
void check_selector(struct field_errors *e, struct json selector, const char *path);
/* A selector printed like the server's own struct: its labels come first. */
const char *check_selector_text(struct arena *a, struct json selector);
/* A text of the same form and an allowed length, so that only the form is checked: letters in the
 * middle are left out. Length and form are checked separately, and both errors are reported. */
const char *check_shortened(struct arena *a, const char *text, size_t max);
/* In lower case, for names that ignore case. */
const char *check_lower(struct arena *a, const char *text);
/* Adds all errors of a label key; v is the value shown. */
void check_label_key(struct field_errors *e, struct json v, const char *path, const char *key);
void check_label_value(struct field_errors *e, struct json v, const char *path);
/* A name with a domain: "acme.io/foo". */
void check_domain_path(struct field_errors *e, struct json v, const char *path);
/* A list of at most max items. */
void check_at_most(struct field_errors *e, struct json list, const char *path, size_t max);
/* Characters that are not allowed in a path segment; v is the value shown. */
void check_segment(struct field_errors *e, struct json v, const char *path, const char *text);
void check_enum(
    struct field_errors *e, struct json v, const char *path, const char *const *allowed);
/* An error that shows a text instead of a value. */
void check_invalid_text(struct field_errors *e, enum field_error_type type, const char *path,
    const char *text, const char *detail);
/* The value must be unchanged. */
void check_immutable(struct field_errors *e, struct json old, struct json fresh, const char *path);
/* Quantities that are at least 0. */
bool check_quantity(struct field_errors *e, struct json v, const char *path);
/* Whether a segment of the path is "..". NULL is allowed. */
bool check_steps_back(const char *path);
bool check_is_ip(const char *text);
bool check_is_cidr(const char *text);
/* For one requirement of a selector: the number of values must fit the operator; returns false for
 * an unknown operator. Then its key and its values. */
bool check_selector_operator(struct field_errors *e, struct json r, const char *path);
void check_requirement(struct field_errors *e, struct json r, const char *path);
void check_cidr(struct field_errors *e, struct json v, const char *path);
/* For a CIDR that check_is_cidr() has accepted: its address and prefix length. */
unsigned check_read_cidr(struct arena *a, const char *cidr, uint8_t ret_bytes[16]);
/* Neither absent nor null. */
static inline bool check_is_set(struct json v)
{
    return v.type != JSON_ABSENT && v.type != JSON_NULL;
}
/* "" counts as absent. */
static inline bool check_is_empty(struct json v)
{
    return v.type == JSON_ABSENT || v.type == JSON_NULL ||
           ((v.type == JSON_STR || v.type == JSON_LIST || v.type == JSON_MAP) && !v.count);
}
/* "spec", "ports" and 3 give "spec.ports[3]". */
const char *check_item_path(struct arena *a, const char *path, const char *list, size_t index);
