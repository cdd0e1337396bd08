#pragma once

/* Documents that upstream's programs read: runconfig.json and config.yaml. A checksum of their
 * bytes triggers rollouts, so they are written exactly as Go writes its structs.
 *
 * A table describes a Go struct: its fields in order, their types, and omitempty. A value is a
 * plain JSON map; the table defines the order and the zero values.
 *
 *   static const struct document_field network[] = {
 *       { "outbound", DOCUMENT_STRUCT, .omitempty = true, .of = outbound },
 *       { "allow_host", DOCUMENT_TEXT, DOCUMENT_LIST, .omitempty = true },
 *       { 0 },
 *   };
 *   document_json(a, network, value)
 *
 * A key that is in the value but not in the table is an assertion failure: nothing is dropped
 * silently. */

#include "base/json.h"

struct buf;

enum document_kind {
    DOCUMENT_RAW = 0, /* any value, keys sorted: map[string]any, json.RawMessage, a pointer to a
                       * scalar; absent is null */
    DOCUMENT_TEXT,
    DOCUMENT_DURATION, /* a text as Go prints durations: 1m30s */
    DOCUMENT_INT,      /* also time.Duration in JSON */
    DOCUMENT_BOOL,
    DOCUMENT_STRUCT,  /* by value: never empty for omitempty */
    DOCUMENT_POINTER, /* to a struct: absent is nil */
    DOCUMENT_MARK,    /* never written: input of choose() */
};

enum document_shape {
    DOCUMENT_ONE = 0,
    DOCUMENT_LIST,
    DOCUMENT_MAP, /* keys are sorted */
};

struct document_field {
    const char *name;
    enum document_kind kind;
    enum document_shape shape;
    bool omitempty;
    const struct document_field *of; /* fields of a struct */
    /* For structs whose fields depend on their neighbours (the type of a middleware): used instead
     * of `of`; NULL means that the value is raw. */
    const struct document_field *(*choose)(struct json owner);
};

/* Two spaces per level, HTML escapes, no newline at the end: json.MarshalIndent(v, "", "  "). */
const char *document_json(struct arena *a, const struct document_field *fields, struct json value);
/* On one line: json.Marshal. */
const char *document_json_compact(
    struct arena *a, const struct document_field *fields, struct json value);
/* Reads a map as Go reads it into the struct: checks types, prints durations in Go's format and
 * drops keys that the struct does not have. Errors start with the path, which starts with
 * `path`. */
bool document_read(struct arena *a, const struct document_field *fields, struct json given,
    const char *path, struct json *ret, struct error *err) must_check;
/* Four spaces per level: yaml.v3's Marshal. */
const char *document_yaml(struct arena *a, const struct document_field *fields, struct json value);

/* A scalar as yaml.v3 writes it; `indent` is that of its line, for literal blocks. */
void document_yaml_text(struct buf *b, const char *text, size_t length, int indent, bool key);

/* The value to write for a field, for both formats; false: the field is left out. A zero value
 * replaces an absent one if the field has no omitempty. */
bool document_field_value(const struct document_field *f, struct json owner, struct json *ret);
