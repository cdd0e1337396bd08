#pragma once

#include "base/json.h"

/* Derives the middleware of a RunConfig without middleware_configs from its other fields, in the
 * operator's order: access control must not depend on which form the file uses. */
struct json derive_middleware(struct arena *a, struct json document);
