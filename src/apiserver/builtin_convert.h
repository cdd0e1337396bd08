#pragma once

/* Kinds that are served in two forms: Events of two groups, autoscalers of two versions. */

#include "apiserver/registry.h"

struct json convert_event(
    const struct api_kind *k, struct arena *a, struct json object, const char *api_version);
struct json convert_autoscaler(
    const struct api_kind *k, struct arena *a, struct json object, const char *api_version);
