#pragma once

/* Reading a JSON object into a struct: a table beside the struct says which path fills which
 * member.
 *
 *   struct isvc_spec { const char *model_ref; int64_t replicas; struct json tolerations; };
 *
 *   static const struct json_bind isvc_spec_bind[] = {
 *       BIND(struct isvc_spec, model_ref, "modelRef", .required = true),
 *       BIND(struct isvc_spec, replicas, "replicas", .min = 0),
 *       BIND(struct isvc_spec, tolerations, "tolerations"),
 *       { 0 },
 *   };
 *
 *   struct isvc_spec spec = { .replicas = 1 };                 defaults first
 *   json_bind(a, json_get(object, "spec"), "spec", isvc_spec_bind, &spec, err)
 *
 * The type of a row comes from the type of the member, so a row cannot contradict its struct: const
 * char *, int64_t, double, bool, struct json (unchanged), and pointers to const int64_t, const
 * double, const bool, which stay NULL when the value is absent. null counts as absent. Only values
 * that the code interprets become members; the rest stays JSON.
 *
 * The first value of a wrong type or range fails with its full path: `spec.endpoint.port: expected
 * integer, got string`. */

#include "base/json.h"

enum json_bind_type {
    JSON_BIND_END = 0,
    JSON_BIND_STR,
    JSON_BIND_INT,
    JSON_BIND_REAL,
    JSON_BIND_BOOL,
    JSON_BIND_ANY,
    JSON_BIND_OPT_INT,
    JSON_BIND_OPT_REAL,
    JSON_BIND_OPT_BOOL,
};

struct json_bind {
    const char *path; /* dotted, relative to the object */
    enum json_bind_type type;
    size_t offset;
    bool required;
    int64_t min, max; /* of an integer; both 0: no bounds */
};

/* clang-format off */
#define BIND(struct_type, member, path_, ...)                                                      \
    {                                                                                              \
        .path = (path_), .offset = offsetof(struct_type, member),                                  \
        .type = _Generic(((struct_type *)0)->member,                                               \
            const char *: JSON_BIND_STR,                                                           \
            int64_t: JSON_BIND_INT,                                                                \
            double: JSON_BIND_REAL,                                                                \
            bool: JSON_BIND_BOOL,                                                                  \
            struct json: JSON_BIND_ANY,                                                            \
            const int64_t *: JSON_BIND_OPT_INT,                                                    \
            const double *: JSON_BIND_OPT_REAL,                                                    \
            const bool *: JSON_BIND_OPT_BOOL),                                                     \
        __VA_ARGS__                                                                                \
    }
/* clang-format on */

/* `at` is the path of `object` itself, for messages; "" for the root. Strings are borrowed. */
bool json_bind(struct arena *a, struct json object, const char *at, const struct json_bind *table,
    void *into, struct error *err) must_check;
