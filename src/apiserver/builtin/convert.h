#pragma once

/* Kinds that are served in two forms: Events of two groups, autoscalers of two versions. */

#include "apiserver/core/registry.h"

struct json convert_event(
    const struct api_kind *k, struct arena *a, struct json object, const char *api_version);
/* What v1 has no field for travels in annotations there; k is of either version. */
struct json convert_autoscaler(
    const struct api_kind *k, struct arena *a, struct json object, const char *api_version);
/* A v1 object whose annotations are read and written anew. */
struct json convert_autoscaler_settle(
    const struct api_kind *k, struct arena *a, struct json object);
/* A v2 object without them. */
struct json convert_autoscaler_plain(struct arena *a, struct json object);
/* Of a v1 object: those annotations that belong to its status, or to its spec, as another has them.
 */
struct json convert_autoscaler_keep(
    struct arena *a, struct json object, struct json from, bool status);
