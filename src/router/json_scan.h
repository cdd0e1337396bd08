#pragma once

/* Scans a JSON text as a stream: checks that it is JSON, and reports the scalars near its top.
 *
 *   while ((event = json_scan(&s, &bytes)) != JSON_SCAN_MORE) …      consumes *bytes
 *
 * JSON_SCAN_BEGIN comes before the first byte of a scalar, JSON_SCAN_VALUE after its last byte, so
 * a caller that forwards the bytes can replace the value. Both come only for scalars whose path
 * from the top has object keys alone, JSON_SCAN_DEPTH of them at most: `model`,
 * `usage.prompt_tokens`, `message.usage.input_tokens`. Everything else is skipped.
 *
 * Uses constant memory. A byte order mark at the beginning is skipped, because servers skip it,
 * too. Escapes in keys and values are decoded, so that no spelling hides a key. For numbers only
 * the set of characters is checked. */

#include "base/str.h"

#define JSON_SCAN_DEPTH 3
#define JSON_SCAN_KEY_MAX 31
#define JSON_SCAN_TEXT_MAX 511
#define JSON_SCAN_NEST_MAX 1024

enum json_scan_event {
    JSON_SCAN_MORE,   /* all bytes are consumed */
    JSON_SCAN_BEGIN,  /* the next byte starts a scalar */
    JSON_SCAN_VALUE,  /* the scalar is in text and type */
    JSON_SCAN_FAILED, /* permanently: not JSON, or nested too deeply */
};

enum json_scan_type { JSON_SCAN_STRING, JSON_SCAN_NUMBER, JSON_SCAN_WORD };

struct json_scan {
    /* the scalar of the last event */
    char keys[JSON_SCAN_DEPTH][JSON_SCAN_KEY_MAX + 1]; /* "" for a key that is too long */
    uint32_t depth;                                    /* of keys */
    enum json_scan_type type;
    char text[JSON_SCAN_TEXT_MAX + 1]; /* decoded; a JSON_SCAN_WORD is true, false or null */
    bool text_cut;                     /* it was truncated */
    bool is_object;                    /* the whole text is an object */
    bool has_members;                  /* … that is not empty */
    /* private */
    uint8_t state, string_state;
    uint8_t bom;
    bool keyed;            /* the current string is a key */
    bool near;             /* the value is reported */
    bool begun;            /* BEGIN was reported for the next byte */
    uint32_t nest, arrays; /* open containers, and how many of them are arrays */
    uint32_t text_len, unit, unit_digits, surrogate;
    uint8_t is_array[JSON_SCAN_NEST_MAX / 8];
};

void json_scan_init(struct json_scan *s);
enum json_scan_event json_scan(struct json_scan *s, struct str *bytes);
/* Whether the text may end here: one complete value, or only blanks. A number at the top ends with
 * the text. */
bool json_scan_complete(const struct json_scan *s);
/* Whether there were only blanks so far. */
bool json_scan_empty(const struct json_scan *s);
/* Whether the scalar's path is this one: "usage.prompt_tokens". */
bool json_scan_is(const struct json_scan *s, const char *path);
