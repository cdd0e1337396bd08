#pragma once

/* A JSON value: 16 bytes, passed by value, immutable once built, so sub-trees may be shared freely.
 * Containers and strings live in the arena that built them.
 *
 *   - Absent (the zero value) means "not set". Adding it to a container has no effect. A real null
 *     is json_null().
 *   - Maps are always sorted by key, byte by byte, so comparison is linear and output is stable.
 *   - Whole numbers that fit are integers, all others are real.
 *
 * Building: a flat list of field paths, as `kubectl explain` prints them.
 *
 *   json_fields(a,
 *       { "metadata.name", json_str(name) },
 *       { "spec.replicas", json_int(3) });
 *
 * The same path twice, or a path below a value, is an assertion failure. json_map() takes keys
 * literally: labels, annotations, resource names.
 *
 * Reading: json_get(v, "spec.ports.0.name"); a missing step returns absent, never an error. */

#include "base/arena.h"
#include "base/base.h"
#include "base/error.h"
#include "base/str.h"

struct buf;
struct json_member;

enum json_type {
    JSON_ABSENT = 0,
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,
    JSON_REAL,
    JSON_STR,
    JSON_LIST,
    JSON_MAP,
};

struct json {
    uint8_t type;   /* enum json_type */
    uint32_t count; /* bytes of a string, items of a list, members of a map */
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *string; /* NUL-terminated */
        const struct json *items;
        const struct json_member *members; /* sorted by key */
    };
};

struct json_member {
    const char *key;
    struct json value;
};

struct json_field {
    const char *path;
    struct json value;
};

/* Values nested deeper are refused when parsed, and assert when built. */
#define JSON_DEPTH_MAX 200

const char *json_type_name(struct json v); /* "string", "integer", … for messages */

static inline bool json_present(struct json v)
{
    return v.type != JSON_ABSENT;
}
static inline bool json_is(struct json v, enum json_type type)
{
    return v.type == type;
}

/* Absent. */
#define json_none ((struct json){ 0 })
/* The value if the condition holds, else absent. Only then is the value evaluated. */
#define json_if(condition, ...) ((condition) ? (__VA_ARGS__) : json_none)

/* ---- scalars ---- */

struct json json_str(const char *text);           /* borrowed; NULL is absent */
struct json json_str_or_absent(const char *text); /* also absent when empty, as Go's omitempty */
struct json json_strn(struct arena *a, const char *text, size_t length); /* copied */
struct json json_strf(struct arena *a, const char *format, ...) printf_like(2, 3);
struct json json_int(int64_t value);
struct json json_int_or_absent(int64_t value); /* absent when 0 */
struct json json_real(double value);
struct json json_bool(bool value);
struct json json_true_or_absent(bool value);
struct json json_null(void);

/* ---- containers ---- */

#define json_fields(a, ...) json_fields_from((a), (const struct json_field[]){ __VA_ARGS__, { 0 } })
#define json_map(a, ...) json_map_from((a), (const struct json_field[]){ __VA_ARGS__, { 0 } })
#define json_list(a, ...) json_list_from((a), (const struct json[]){ __VA_ARGS__, JSON_LIST_END })
#define JSON_LIST_END                                                                              \
    {                                                                                              \
        .type = 0xff                                                                               \
    }

struct json json_fields_from(struct arena *a, const struct json_field *fields);
struct json json_map_from(struct arena *a, const struct json_field *fields);
struct json json_list_from(struct arena *a, const struct json *items);
struct json json_empty_map(void);
struct json json_empty_list(void);
/* Turns an empty list or map into absent. */
struct json json_or_absent(struct json container);

/* For loops. A list: init, push…, json_list_end(). A map: init, put…, json_map_end(); if a key is
 * put twice, the later value wins. */
struct json_builder {
    struct arena *arena;
    struct json_member *members; /* key NULL for list items */
    uint32_t count;
    uint32_t size;
};
void json_builder_init(struct json_builder *b, struct arena *a);
/* The same with room for `count` items. */
void json_builder_init_for(struct json_builder *b, struct arena *a, uint32_t count);
void json_push(struct json_builder *b, struct json value);
void json_push_all(struct json_builder *b, struct json list);
void json_put(struct json_builder *b, const char *key, struct json value);
void json_put_all(struct json_builder *b, struct json map);
struct json json_list_end(struct json_builder *b);
struct json json_map_end(struct json_builder *b);

/* ---- changing: a new value that shares unchanged parts ---- */

/* Sets the value at a dotted path, or removes it if the new value is absent. Missing maps are
 * created. */
struct json json_with(struct arena *a, struct json v, const char *path, struct json value);
/* The same for one member, by its literal key. */
struct json json_with_member(struct arena *a, struct json map, const char *key, struct json value);
/* The members of both maps; those of `over` win. Either may be absent. Not recursive. */
struct json json_overlay(struct arena *a, struct json under, struct json over);
/* A copy that shares nothing with the original: for values that outlive their arena. */
struct json json_copy(struct arena *a, struct json v);

/* ---- reading ---- */

struct json json_member(struct json map, const char *key); /* literal key */
struct json json_member_n(struct json map, struct str key);
struct json json_item(struct json list, size_t index);
struct json json_get(struct json v, const char *path); /* dotted; digits index lists */
const char *json_text(struct json v);                  /* NULL unless a string */
const char *json_get_text(struct json v, const char *path);
int64_t json_get_int(struct json v, const char *path, int64_t otherwise);
bool json_get_bool(struct json v, const char *path, bool otherwise);
/* The item of a list of maps whose member has this text; absent if none. */
struct json json_find(struct json list, const char *key, const char *text);
/* Whether a list holds this text. */
bool json_list_has(struct json list, const char *text);

/* json_each (item, list) { … *item … }     the list is evaluated once */
#define json_each(item, list)                                                                      \
    for (const struct json item##_of = (list),                                                     \
                           *item = item##_of.type == JSON_LIST ? item##_of.items : NULL,           \
                           *item##_end = item ? item + item##_of.count : NULL;                     \
         item != item##_end;                                                                       \
         item++)
#define json_each_member(m, map)                                                                   \
    for (const struct json m##_of = (map), *m##_once = &m##_of; m##_once; m##_once = NULL)         \
        for (const struct json_member *m = m##_of.type == JSON_MAP ? m##_of.members : NULL,        \
                                      *m##_end = m ? m + m##_of.count : NULL;                      \
             m != m##_end;                                                                         \
             m++)

bool json_equal(struct json a, struct json b); /* 1 equals 1.0 */
/* A total order, for sorting: type, then value. */
int json_compare(struct json a, struct json b);

/* ---- text ---- */

/* Parses one value; only whitespace may follow. Errors name line and column. If a key is
 * duplicated, the last value wins, as in encoding/json. Strings that are not UTF-8 are refused. */
bool json_parse(struct arena *a, struct str text, struct json *ret, struct error *err) must_check;
/* The same, and reports whether any map has a duplicate key. */
bool json_parse_keys(struct arena *a, struct str text, struct json *ret, bool *ret_twice,
    struct error *err) must_check;
/* The same, but maps under a duplicate key are merged, as when Go decodes into a struct. */
bool json_parse_joined(
    struct arena *a, struct str text, struct json *ret, struct error *err) must_check;
/* The maps of a text as written: all keys, including duplicates, in their order. */
struct json_givens {
    struct json_given {
        const struct json_member *map; /* what json_parse_given() made of it */
        const struct json_member *members;
        uint32_t count;
    } * items;
    size_t count, size;
};
bool json_parse_given(struct arena *a, struct str text, struct json *ret,
    struct json_givens *ret_givens, struct error *err) must_check;
/* Prints a value that contains some of these maps: unchanged maps are printed as written. */
char *json_given_to_text(struct arena *a, struct json v, const struct json_givens *givens);
/* From now on prints a map (with `deep`, all maps in a value) like any other. */
void json_given_forget(struct json_givens *givens, struct json v, bool deep);
/* Calls back for every key of a text that json_parse() accepts, in the order of the text, with its
 * path (`spec.ports[0].name`) and whether it is a duplicate in its map. If the callback returns
 * false, the keys below are skipped. */
void json_walk_keys(
    struct str text, bool (*key)(void *ctx, const char *path, bool again), void *ctx);
/* Compact; absent prints null. Invalid UTF-8 prints as U+FFFD, so that the text is JSON. */
void json_print(struct buf *b, struct json v);
void json_print_pretty(struct buf *b, struct json v, int indent);
char *json_to_text(struct arena *a, struct json v); /* compact */
