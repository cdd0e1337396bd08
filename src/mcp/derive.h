#pragma once

#include "base/json.h"

/* The middleware of a RunConfig that has no middleware_configs, from its other fields and in the
 * operator's order: who may do what must not depend on which half of the file was written. */
struct json derive_middleware(struct arena *a, struct json document);
