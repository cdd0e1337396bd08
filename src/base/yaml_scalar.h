#pragma once

/* What a YAML scalar means: the core schema of YAML 1.2, section 10.3.2. For yaml.c. */

#include "base/json.h"

#define YAML_TAG_PREFIX "tag:yaml.org,2002:"

/* A scalar without quotes. Returns NULL, or what is wrong with it. */
const char *yaml_scalar_plain(struct arena *a, struct str text, struct json *ret);
/* A scalar with a tag, which must say what the scalar is anyway, or that it is text. */
const char *yaml_scalar_tagged(struct arena *a, struct str tag, struct str text, struct json *ret);
/* What stands between quotes, without folds, doubled quotes and escapes. */
struct str yaml_scalar_single_quoted(struct arena *a, struct str between);
/* Returns NULL, or what is wrong with it. */
const char *yaml_scalar_double_quoted(struct arena *a, struct str between, struct str *ret);
/* The lines of a block, without the indentation of the first that has text. chomp: ' ', + or -. */
struct str yaml_scalar_block(struct arena *a, struct str lines, bool folded, char chomp);
/* Finds | or > with its chomping at the end of the line in front of a block. False if there is none
 * or it gives the indentation as a number. */
bool yaml_scalar_block_header(struct str line, bool folded, char *ret_chomp);
