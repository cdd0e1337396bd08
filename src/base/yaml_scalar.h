#pragma once

/* What a YAML scalar means: the core schema of YAML 1.2, section 10.3.2. For yaml.c. */

#include "base/json.h"

#define YAML_TAG_PREFIX "tag:yaml.org,2002:"

/* A scalar without quotes. Returns NULL, or what is wrong with it. */
const char *yaml_scalar_plain(struct arena *a, struct str text, struct json *ret);
/* A scalar with a tag, which must say what the scalar is anyway, or that it is text. */
const char *yaml_scalar_tagged(struct arena *a, struct str tag, struct str text, struct json *ret);
/* What stands between single quotes, without its folds and doubled quotes: section 7.3.2. */
struct str yaml_scalar_single_quoted(struct arena *a, struct str between);
