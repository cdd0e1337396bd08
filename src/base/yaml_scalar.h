#pragma once

/* The value of a YAML scalar: the core schema of YAML 1.2, section 10.3.2. For yaml.c. */

#include "base/json.h"

#define YAML_TAG_PREFIX "tag:yaml.org,2002:"

/* A scalar without quotes. Returns NULL, or the error. */
const char *yaml_scalar_plain(struct arena *a, struct str text, struct json *ret);
/* A scalar without quotes that has another meaning in YAML 1.1: a boolean (yes, off, y) or an octal
 * number (0644). Returns false if the meaning is the same. */
bool yaml_scalar_old(struct str text, struct json *ret);
/* A scalar with a tag. The tag must match the scalar's own type, or say that it is text. */
const char *yaml_scalar_tagged(struct arena *a, struct str tag, struct str text, struct json *ret);
/* The text between single quotes, with folds and doubled quotes resolved. */
struct str yaml_scalar_single_quoted(struct arena *a, struct str between);
/* Returns NULL, or the error. pairs: two escapes may form one character, as in JSON. */
const char *yaml_scalar_double_quoted(
    struct arena *a, struct str between, bool pairs, struct str *ret);
/* The header after the | or > of a block. */
struct yaml_block {
    bool folded;
    char chomp;    /* ' ', + or - */
    size_t indent; /* as written: relative to the parent; 0: the first line with text sets it */
};
/* The lines of a block, without their indentation. parent: the column of the list or map that
 * contains the block, from 0; for a whole document 0. */
struct str yaml_scalar_block(
    struct arena *a, struct str lines, const struct yaml_block *block, size_t parent);
/* Reads | or > with its chomping and indentation at the end of the line before a block. */
bool yaml_scalar_block_header(struct str line, bool folded, struct yaml_block *ret);
