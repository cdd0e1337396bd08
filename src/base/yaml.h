#pragma once

/* Converts YAML text to JSON values and back. JSON is YAML, so this reads both kinds of manifests.
 *
 * Read as YAML 1.2 with its core schema: only true and false (also True, TRUE, …) are booleans,
 * null, ~ and empty values are null, 0o17 is octal and 017 is seventeen. `yes`, `no`, `on`, `off`,
 * `y` and `n` stay text. (kubectl reads with YAML 1.1 rules, where `yes` and `on` are booleans and
 * 017 is fifteen; a quoted value reads the same in both, and yaml_print() quotes all of these.)
 * Anchors, aliases and merge keys (<<) work. A duplicate key is an error; so are tags other than
 * the core schema's, keys that are not scalars, NaN and infinity, and NUL characters. Keys become
 * text as they are written: `8080: x` has the key "8080". (libfyaml 0.7 refuses one thing that YAML
 * allows: an empty item, `-` alone, in a list that is not indented under its key.)
 *
 * Limits: YAML_BYTES_MAX of text, JSON_DEPTH_MAX levels, and YAML_NODES_MAX values after aliases
 * are expanded, so that nine lines cannot become a billion values. Thousands of blank lines in a
 * row are refused. */

#include "base/json.h"

struct buf;

#define YAML_BYTES_MAX ((size_t)16 << 20)
#define YAML_NODES_MAX 2000000

/* Returns all documents of a stream as one list; empty documents (only comments, or nothing) are
 * omitted. A `kind: List` is not expanded. file is for messages only: `FILE:LINE:COLUMN: …`. The
 * result does not point into text. */
bool yaml_parse_all(struct arena *a, struct str text, const char *file, struct json *ret_list,
    struct error *err) must_check;

/* The same by the rules of YAML 1.1, as the API server reads a body: `yes`, `no`, `on`, `off`, `y`
 * and `n` are booleans, 0644 is octal, and a character may be written as two escapes. If a key is
 * duplicated, the last value wins; *ret_twice has a line of text for each duplicate, `line 7: key
 * "a" already set in map`. */
bool yaml_parse_old(struct arena *a, struct str text, const char *file, struct json *ret_list,
    struct json *ret_twice, struct error *err) must_check;

/* Block style as printed by kubectl: two spaces per level, lists not indented under their key, keys
 * sorted, multi-line text as | blocks. Text is quoted only if it would otherwise be read back as
 * something else, by YAML 1.1 or 1.2. Ends with a line end. Reading it back gives an equal
 * value. */
void yaml_print(struct buf *b, struct json v);
