#pragma once

/* Kinds that are served in two forms: Events of two groups, autoscalers of two versions. */

#include "apiserver/core/registry.h"

struct json convert_event(
    const struct api_kind *k, struct arena *a, struct json object, const char *api_version);
/* Fields that v1 does not have are in an annotation of the v1 object; k is of either version. */
struct json convert_autoscaler(
    const struct api_kind *k, struct arena *a, struct json object, const char *api_version);
/* Whether a v1 object has that annotation. */
bool convert_autoscaler_has_rest(struct json object);
/* A v2 object without that annotation. */
struct json convert_autoscaler_plain(struct arena *a, struct json object);
