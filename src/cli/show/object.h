#pragma once

/* Accessors that rows use on objects. */

#include "base/json.h"

static inline const char *text_or_empty(struct json object, const char *path)
{
    const char *text = json_get_text(object, path);
    return text ? text : "";
}

static inline struct json condition_of(struct json object, const char *type)
{
    return json_find(json_get(object, "status.conditions"), "type", type);
}

static inline bool condition_is(struct json object, const char *type, const char *status)
{
    return text_eq(json_get_text(condition_of(object, type), "status"), status);
}
