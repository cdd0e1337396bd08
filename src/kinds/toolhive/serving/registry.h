#pragma once

#include "kinds/toolhive/toolhive.h"

/* ---- registry_hash.c ---- */

/* The hash of a spec; changes with every field. */
const char *registry_spec_hash(struct arena *a, struct json spec);
/* The hash of the configuration's text. */
const char *registry_content_hash(struct arena *a, const char *text);
