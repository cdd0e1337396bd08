#pragma once

/* The functions of the language: tables of signatures, each with its implementation.
 *
 *   { "matches", "string.(string) bool", string_matches, CEL_COST_REGEX },
 *
 * A signature names the receiver before the dot, the arguments and the result. Types are bool, int,
 * …, list(int), map(string, A), optional(A). A single capital letter means any type, and the same
 * type wherever it occurs in the signature. A new function is a row in a table; a new table is a
 * line in lib.c. */

#include "cel/eval.h"
#include "cel/value.h"

/* The cost of a call, both at run time and in the estimate (cost.c). */
enum cel_cost {
    CEL_COST_ONE = 0,
    CEL_COST_NONE,      /* evaluated by code of its own */
    CEL_COST_TRAVERSAL, /* of the first argument */
    CEL_COST_TRAVERSAL_TWICE,
    CEL_COST_TRANSFORM, /* a traversal that returns a text of the same size */
    CEL_COST_AFFIX,     /* startsWith, endsWith */
    CEL_COST_EQUAL,     /* of the smaller of two values */
    CEL_COST_ORDER,     /* the same for texts */
    CEL_COST_ADD_TEXT,
    CEL_COST_ADD_LIST,
    CEL_COST_IN_LIST,
    CEL_COST_MATCHES,
    CEL_COST_FIND,
    CEL_COST_CONTAINS,
    CEL_COST_TO_BYTES,
    CEL_COST_FROM_BYTES,
    CEL_COST_QUOTE,
    CEL_COST_FORMAT_STRING,
    CEL_COST_REPLACE,
    CEL_COST_SPLIT,
    CEL_COST_JOIN,
    CEL_COST_LIST_WALK, /* isSorted, sum, min, max, indexOf, lastIndexOf */
    CEL_COST_CONTAINS_IP,
    CEL_COST_CONTAINS_IP_TEXT,
    CEL_COST_CONTAINS_CIDR,
    CEL_COST_CONTAINS_CIDR_TEXT,
    CEL_COST_VALIDATE,
    CEL_COST_SETS,
    CEL_COST_SETS_TWICE,
    CEL_COST_SLICE,
    CEL_COST_FLATTEN,
    CEL_COST_RANGE,
    CEL_COST_REVERSE,
    CEL_COST_DISTINCT,
    CEL_COST_SORT,
    CEL_COST_SORT_TEXT,
    CEL_COST_SORT_BY,
    CEL_COST_SORT_BY_TEXT,
    CEL_COST_INDEX_LIST,
    CEL_COST_INDEX_MAP,
    CEL_COST_LOGIC,
    CEL_COST_CONDITIONAL,
};

struct cel_function {
    const char *name;
    const char *signature;
    struct cel_value (*call)(
        struct cel_eval *e, const struct cel_function *f, const struct cel_value *args, size_t n);
    enum cel_cost cost;
};

/* The head of an implementation: CEL_IMPLEMENT(string_trim) { … args[0] … }. The arguments are
 * known to fit its signature. */
#define CEL_IMPLEMENT(name)                                                                        \
    static struct cel_value name(struct cel_eval *e,                                               \
        __attribute__((unused)) const struct cel_function *f,                                      \
        const struct cel_value *args,                                                              \
        __attribute__((unused)) size_t n)

/* The last row is empty. */
extern const struct cel_function cel_lib_operators[];
extern const struct cel_function cel_lib_core[];
extern const struct cel_function cel_lib_strings[];
extern const struct cel_function cel_lib_lists[];
extern const struct cel_function cel_lib_times[];
extern const struct cel_function cel_lib_optionals[];
extern const struct cel_function cel_lib_net[];
extern const struct cel_function cel_lib_url[];
extern const struct cel_function cel_lib_kube[];

/* Iterates over the overloads of a name; pass NULL to get the first. */
const struct cel_function *cel_function_next(struct str name, const struct cel_function *previous);

#define CEL_ARGS_MAX 8

/* A parsed signature. Its letters become the parameters first_param, first_param + 1, …; ret_params
 * is their number. */
struct cel_signature {
    bool is_member;
    size_t count; /* including the receiver */
    const struct cel_type *args[CEL_ARGS_MAX];
    const struct cel_type *result;
};
void cel_signature_read(struct arena *a, const struct cel_function *f, unsigned first_param,
    struct cel_signature *ret, unsigned *ret_params);
/* Whether values fit a signature, as far as their kinds show. */
bool cel_signature_fits(
    const struct cel_function *f, const struct cel_value *args, size_t count, bool is_member);

/* ---- shared by the files of the library ---- */

/* Returned by an implementation that cannot handle its arguments. */
struct cel_value cel_no_overload(struct cel_eval *e);
struct cel_value cel_string_of(struct cel_eval *e, const char *bytes, size_t count); /* copied */
/* The value of a buffer, which is freed. */
struct buf;
struct cel_value cel_string_of_buf(struct cel_eval *e, struct buf *b);
/* The largest text that an evaluation may build. */
#define CEL_TEXT_BYTES_MAX ((size_t)32 << 20)

/* Whether a quantity was computed and not parsed. cel-go gives it another type then, so in
 * comparisons it is equal to nothing. */
bool cel_quantity_is_sum(struct cel_value v);
struct cel_value cel_list_contains(
    struct cel_eval *e, struct cel_value list, struct cel_value item);
/* string() of a value; false if there is none. */
bool cel_to_text(struct cel_eval *e, struct cel_value v, struct cel_value *ret);
struct cel_value cel_format_string(
    struct cel_eval *e, struct cel_value format, struct cel_value args);

/* Times are RFC 3339 with nanoseconds, or a date. Durations are in Go's format, or also in that of
 * OpenAPI ("3 days"). */
bool cel_time_parse(struct str text, struct cel_instant *ret);
bool cel_date_parse(struct str text, struct cel_instant *ret);
bool cel_duration_parse_loose(struct str text, int64_t *ret_ns);
const char *cel_time_text(struct arena *a, struct cel_instant t);
/* Years 1 to 9999, the range of a timestamp. */
bool cel_time_in_range(struct cel_instant t);

/* Whether two values of the same Kubernetes type (quantity, URL, …) are equal. */
bool cel_opaque_equal(struct cel_value a, struct cel_value b);
struct cel_ip {
    uint8_t bytes[16];
    uint8_t length; /* 4 or 16 */
    int prefix;     /* of a CIDR; -1 of an address */
};
uint64_t cel_ip_size(const struct cel_ip *ip);
const char *cel_ip_text(struct arena *a, const struct cel_ip *ip);
struct cel_url {
    const char *text; /* the whole address, for comparison */
    const char *scheme, *host, *path, *query;
};
/* Like Go's url.ParseRequestURI. Returns NULL, or why it is not a URL. */
const char *cel_url_parse(struct arena *a, struct str text, struct cel_url *ret);
struct cel_semver {
    uint64_t number[3];
    const char *pre; /* "" or "rc.1" */
};
struct cel_format {
    const char *name;
    const char *(*check)(struct arena *a, const char *text, const struct cel_format *f);
    uint32_t regex_size;
    int arg;
};
