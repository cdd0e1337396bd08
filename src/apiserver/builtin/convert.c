/* Events in two groups: stored as v1. */

#include "apiserver/builtin/convert.h"

struct rename {
    const char *core, *other;
};

static const struct rename event_names[] = {
    { "involvedObject", "regarding" },
    { "message", "note" },
    { "source", "deprecatedSource" },
    { "firstTimestamp", "deprecatedFirstTimestamp" },
    { "lastTimestamp", "deprecatedLastTimestamp" },
    { "count", "deprecatedCount" },
    { "reportingComponent", "reportingController" },
};

/* Fields that are always present in only one of the versions. */
static struct json fill_event(struct arena *a, struct json o, bool core)
{
    static const char *const always[] = { "firstTimestamp", "lastTimestamp", "eventTime" };
    for (size_t i = 0; i < lengthof(always); i++)
        if (core && !json_present(json_member(o, always[i])))
            o = json_with_member(a, o, always[i], json_null());
    static const char *const texts[] = { "reportingComponent", "reportingInstance" };
    for (size_t i = 0; i < lengthof(texts); i++) {
        struct json v = json_member(o, texts[i]);
        if (core && !json_present(v))
            o = json_with_member(a, o, texts[i], json_str(""));
        if (!core && v.type == JSON_STR && !v.count)
            o = json_with_member(a, o, texts[i], json_none);
    }
    return o;
}

struct json convert_event(
    const struct api_kind *k, struct arena *a, struct json object, const char *api_version)
{
    (void)k;
    bool core = text_eq(api_version, "v1");
    if (text_eq(json_get_text(object, "apiVersion"), api_version))
        return object;
    for (size_t i = 0; i < lengthof(event_names); i++) {
        const char *from = core ? event_names[i].other : event_names[i].core,
                   *to = core ? event_names[i].core : event_names[i].other;
        struct json v = json_member(object, from);
        object = json_with_member(a, object, from, json_none);
        bool empty = (v.type == JSON_STR && !v.count);
        object = json_with_member(a, object, to, !core && empty ? json_none : v);
    }
    object = fill_event(a, object, core);
    return json_with_member(a, object, "apiVersion", json_str(api_version));
}
