#pragma once

/* What the endpoint of `leeboard up` routes by: the router's config for the InferenceServices and
 * ModelRouters of a machine. Pure. */

#include "base/json.h"

/* A service is called NAMESPACE/NAME, and NAME if no other namespace has that name; in "default" it
 * is called NAME in any case. served has, under NAMESPACE/NAME, the list of model names that a
 * service's own /v1/models has. A ModelRouter is one too, after all others, unless an
 * InferenceService of its namespace has its name. One that is not ready stays in the config, with
 * the reason. */
struct json endpoint_config(struct arena *a, struct json services, struct json served);
/* NAMESPACE/NAME of an object. */
const char *endpoint_key(struct arena *a, struct json object);
/* By its kind. */
bool endpoint_is_router(struct json object);
/* "http://ADDRESS:PORT" of a service that can be asked; NULL: it cannot. */
const char *endpoint_origin(struct arena *a, struct json service);
