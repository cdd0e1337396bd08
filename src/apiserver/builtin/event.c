/* Events, in the old and the new version. */

#include "apiserver/builtin/convert.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/rules/check.h"

/* Times are always present, possibly as null. */
static bool prepare_event(const struct api_write *w, struct json *object, struct error *err)
{
    static const char *const times[] = { "firstTimestamp", "lastTimestamp", "eventTime" };
    static const char *const new_times[] = {
        "deprecatedFirstTimestamp", "deprecatedLastTimestamp", "eventTime"
    };
    (void)err;
    for (size_t i = 0; i < lengthof(times); i++) {
        const char *name = *w->kind->resource.group ? new_times[i] : times[i];
        if (!json_present(json_member(*object, name)))
            *object = json_with_member(w->arena, *object, name, json_null());
    }
    return true;
}

static struct json fill_event(struct arena *a, struct json o)
{
    struct json series = json_member(o, "series");
    return check_is_set(series) && !json_present(json_member(series, "lastObservedTime"))
               ? json_with(a, o, "series.lastObservedTime", json_null())
               : o;
}

static void check_length(struct field_errors *e, struct json v, const char *path, size_t most)
{
    if (v.type == JSON_STR && v.count > most)
        field_invalid(
            e, path, json_str(""), arena_printf(e->arena, "can have at most %zu characters", most));
}

/* In both versions, errors use the field names of the old one, except for the reporter. */
static void check_reporter(struct field_errors *e, struct json o, bool core)
{
    const char *reporter = core ? "reportingComponent" : "reportingController";
    static const char *const texts[] = { "reportingInstance", "action", "reason" };
    struct json who = json_member(o, reporter);
    if (check_is_empty(who))
        field_required(e, reporter, NULL);
    check_name(e, who, reporter, NAME_LABEL_KEY);
    for (size_t i = 0; i < lengthof(texts); i++) {
        struct json v = json_member(o, texts[i]);
        if (check_is_empty(v))
            field_required(e, texts[i], NULL);
        check_length(e, v, texts[i], 128);
    }
    check_length(e, json_member(o, core ? "message" : "note"), "message", 1024);
}

static void check_series(struct field_errors *e, struct json series)
{
    if (!check_is_set(series))
        return;
    if (json_get_int(series, "count", 0) < 2)
        field_invalid(e, "series.count", json_str(""), "should be at least 2");
    if (!check_is_set(json_member(series, "lastObservedTime")))
        field_required(e, "series.lastObservedTime", NULL);
}

static void check_new_event(struct field_errors *e, struct json o)
{
    static const struct {
        const char *field, *shown;
    } unset[] = {
        { "deprecatedFirstTimestamp", "firstTimestamp" },
        { "deprecatedLastTimestamp", "lastTimestamp" },
        { "deprecatedCount", "count" },
        { "deprecatedSource", "source" },
    };
    const char *type = json_get_text(o, "type");
    check_series(e, json_member(o, "series"));
    if (!check_is_set(json_member(o, "eventTime")))
        field_required(e, "eventTime", NULL);
    if (!text_eq(type, "Normal") && !text_eq(type, "Warning"))
        field_invalid(e,
            "type",
            json_str(""),
            arena_printf(e->arena, "has invalid value: %s", type ? type : ""));
    for (size_t i = 0; i < lengthof(unset); i++) {
        struct json v = json_member(o, unset[i].field);
        if (!check_is_empty(v) && !(v.type == JSON_INT && !v.integer))
            field_invalid(e, unset[i].shown, json_str(""), "needs to be unset");
    }
}

static void check_event(const struct api_write *w, struct json o, struct field_errors *e)
{
    bool core = !*w->kind->resource.group;
    const char *about = json_get_text(o, core ? "involvedObject.namespace" : "regarding.namespace"),
               *ns = json_get_text(o, "metadata.namespace");
    bool fresh = check_is_set(json_member(o, "eventTime")),
         common = text_eq(ns, "default") || (fresh && text_eq(ns, "kube-system"));
    about = about ? about : "";
    if (*about ? !fresh && !text_eq(about, ns) : !common)
        field_invalid(
            e, "involvedObject.namespace", json_str(about), "does not match event.namespace");
    if (!core && !json_present(w->old))
        check_new_event(e, o);
    if (fresh)
        check_reporter(e, o, core);
}

/* An Event in the new version is immutable, except for its series. */
static void check_new_event_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const struct {
        const char *field, *shown;
    } fixed[] = {
        { "regarding", "involvedObject" },
        { "reason", "reason" },
        { "note", "message" },
        { "deprecatedSource", "source" },
        { "deprecatedFirstTimestamp", "firstTimestamp" },
        { "deprecatedLastTimestamp", "lastTimestamp" },
        { "deprecatedCount", "count" },
        { "type", "type" },
        { "eventTime", "eventTime" },
        { "action", "action" },
        { "related", "related" },
        { "reportingController", "reportingController" },
        { "reportingInstance", "reportingInstance" },
    };
    if (!json_equal(json_member(w->old, "series"), json_member(o, "series")))
        check_series(e, json_member(o, "series"));
    for (size_t i = 0; i < lengthof(fixed); i++) {
        struct json old = json_member(w->old, fixed[i].field),
                    fresh = json_member(o, fixed[i].field);
        bool text = old.type == JSON_STR && !json_present(fresh);
        check_immutable(e, old, text ? json_str("") : fresh, fixed[i].shown);
    }
}

static const char *const event_fields[] = { "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
    NULL };

static const char *const new_event_fields[] = { "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
    NULL };

const struct builtin_rules builtin_event = {
    .fill = fill_event,
    .prepare = prepare_event,
    .validate = check_event,
    .convert = convert_event,
    .fields = event_fields,
};
const struct builtin_rules builtin_new_event = {
    .fill = fill_event,
    .prepare = prepare_event,
    .validate = check_event,
    .validate_change = check_new_event_change,
    .convert = convert_event,
    .fields = new_event_fields,
};
