#pragma once

/* Data that is embedded in the program. */

#include "base/json.h"

/* The CRDs under api/, parsed; a list. */
struct json embedded_crds(struct arena *a);
/* The same as the original text with comments, one document each. */
extern const char *const embedded_crd_texts[]; /* NULL-terminated */
/* A digest of those texts: sixteen hexadecimal digits. */
const char *embedded_crds_digest(struct arena *a);
/* The priority classes that serving pods use; a list. */
struct json embedded_priority_classes(struct arena *a);
