#pragma once

/* Makes the router's config of the `leeboard up` endpoint from the InferenceServices and
 * ModelRouters of a machine. Pure. */

#include "base/json.h"

/* A service has the name NAMESPACE/NAME, and also NAME if it is in "default" or no other namespace
 * has that name. served maps NAMESPACE/NAME to the model names in a service's own /v1/models.
 * ModelRouters are added after all services, unless an InferenceService in the same namespace has
 * the same name. A service that is not ready stays in the config, with the reason. */
struct json endpoint_config(struct arena *a, struct json services, struct json served);
/* NAMESPACE/NAME of an object. */
const char *endpoint_key(struct arena *a, struct json object);
/* By its kind. */
bool endpoint_is_router(struct json object);
/* "http://ADDRESS:PORT" of a service that accepts requests; NULL: none. */
const char *endpoint_origin(struct arena *a, struct json service);
