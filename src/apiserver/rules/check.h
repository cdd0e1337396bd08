#pragma once

/* Rules about fields, as tables; each adds the error in the API server's words.
 *
 *   static const struct check rules[] = {
 *       { "spec.replicas", CHECK_MIN },                     at least .min
 *       { "spec.ports.*.port", CHECK_PORT },                every item
 *       { "spec.type", CHECK_ENUM, .allowed = types },
 *       { 0 },
 *   };
 *   check_table(errors, object, "", rules);
 *
 * A rule looks at members that are there, CHECK_REQUIRED also at those that are not, if the map
 * that they belong to is there. */

#include "apiserver/rules/field_errors.h"
#include "base/names.h"

enum check_kind {
    CHECK_REQUIRED = 1, /* neither absent nor empty */
    CHECK_ENUM,         /* one of .allowed */
    CHECK_MIN,          /* a number of at least .min */
    CHECK_POSITIVE,     /* above 0, with other words */
    CHECK_PORT,         /* 1 to 65535 */
    CHECK_PORT_OR_NAME,
    CHECK_PORT_NAME,
    CHECK_LABEL, /* DNS-1123 */
    CHECK_SUBDOMAIN,
    CHECK_SEGMENT, /* can be in a path */
    CHECK_LABEL_KEY,
    CHECK_LABELS,   /* a map of labels */
    CHECK_SELECTOR, /* a LabelSelector */
    CHECK_KEY,      /* of a ConfigMap or Secret */
    CHECK_IP,
    CHECK_FILE_MODE,
    CHECK_LOCAL_PATH,    /* relative and not above itself */
    CHECK_RESERVED_PATH, /* and not one of the names that the kubelet uses itself */
    CHECK_USER_ID,
};

struct check {
    const char *path; /* NULL after the last */
    enum check_kind kind;
    const char *const *allowed; /* NULL-terminated */
    int64_t min, max;
    const char *detail; /* of CHECK_REQUIRED */
};

/* path: of v itself, "" at the top. */
void check_table(
    struct field_errors *e, struct json v, const char *path, const struct check *table);
/* One rule, on one value. */
void check_value(struct field_errors *e, struct json v, const char *path, const struct check *rule);

void check_name(struct field_errors *e, struct json v, const char *path, enum name_kind kind);
void check_labels(struct field_errors *e, struct json labels, const char *path);
void check_selector(struct field_errors *e, struct json selector, const char *path);
/* A selector as the server's own struct is printed: its labels come first. */
const char *check_selector_text(struct arena *a, struct json selector);
/* A text of this form and of a length that is allowed, if the form is all that may be wrong:
 * letters in the middle are left out. Length and form are told apart, and both are told. */
const char *check_shortened(struct arena *a, const char *text, size_t max);
/* Letters in lower case: of names that are the same in any case. */
const char *check_lower(struct arena *a, const char *text);
/* All that is wrong with it; v is what is shown. */
void check_label_key(struct field_errors *e, struct json v, const char *path, const char *key);
void check_label_value(struct field_errors *e, struct json v, const char *path);
/* A name below a domain: "acme.io/foo". */
void check_domain_path(struct field_errors *e, struct json v, const char *path);
/* A list of at most max items. */
void check_at_most(struct field_errors *e, struct json list, const char *path, size_t max);
/* What may not be in a path; v is what is shown. */
void check_segment(struct field_errors *e, struct json v, const char *path, const char *text);
void check_enum(
    struct field_errors *e, struct json v, const char *path, const char *const *allowed);
/* An error that shows a text in place of a value. */
void check_invalid_text(struct field_errors *e, enum field_error_type type, const char *path,
    const char *text, const char *detail);
/* The same value as before. */
void check_immutable(struct field_errors *e, struct json old, struct json fresh, const char *path);
/* Quantities that are at least 0. */
bool check_quantity(struct field_errors *e, struct json v, const char *path);
/* Whether a step of the path is "..". Takes NULL. */
bool check_steps_back(const char *path);
bool check_is_ip(const char *text);
bool check_is_cidr(const char *text);
/* Of one requirement of a selector: that it has as many values as its operator takes; false: the
 * operator is not known. Then its key and its values. */
bool check_selector_operator(struct field_errors *e, struct json r, const char *path);
void check_requirement(struct field_errors *e, struct json r, const char *path);
void check_cidr(struct field_errors *e, struct json v, const char *path);
/* Of a CIDR that check_is_cidr() has accepted: its address, and how many bits count. */
unsigned check_read_cidr(struct arena *a, const char *cidr, uint8_t ret_bytes[16]);
/* Neither absent nor null. */
static inline bool check_is_set(struct json v)
{
    return v.type != JSON_ABSENT && v.type != JSON_NULL;
}
/* "" and absent say the same. */
static inline bool check_is_empty(struct json v)
{
    return v.type == JSON_ABSENT || v.type == JSON_NULL ||
           ((v.type == JSON_STR || v.type == JSON_LIST || v.type == JSON_MAP) && !v.count);
}
/* "spec" and "ports" and 3 are "spec.ports[3]". */
const char *check_item_path(struct arena *a, const char *path, const char *list, size_t index);
