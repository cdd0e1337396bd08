#include "kinds/toolhive/config/config.h"

#include "base/hash.h"
#include "engine/plan.h"
#include "engine/view.h"

#define NAMED_MAX 10 /* workloads in a message */
#define HASH_DIGITS 8

struct config_verdict config_fault(struct arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct config_verdict v = { .fault = arena_vprintf(a, format, args) };
    va_end(args);
    return v;
}

/* ---- referents ---- */

/* Workloads as "MCPServer/weather", sorted by kind as the table has them, then by name. */
static struct json referents_of(const struct view *in, const struct config_kind *kind)
{
    struct json_builder list;
    json_builder_init(&list, in->arena);
    for (const struct config_referent *r = kind->referents; r->resource; r++)
        json_each (o, view_list(in, r->resource, view_namespace(in), NULL)) {
            bool told = false; /* by another path of the same object */
            for (const struct config_referent *s = kind->referents; s != r; s++)
                told = told || (s->resource == r->resource &&
                                   text_eq(json_get_text(*o, s->path), view_name(in)));
            if (!told && text_eq(json_get_text(*o, r->path), view_name(in)))
                json_push(&list,
                    json_strf(
                        in->arena, "%s/%s", r->resource->kind, json_get_text(*o, "metadata.name")));
        }
    return json_list_end(&list);
}

static const char *names_of(struct arena *a, struct json workloads)
{
    const char *text = "";
    for (uint32_t i = 0; i < workloads.count && i < NAMED_MAX; i++)
        text = arena_printf(a, "%s%s%s", text, i ? ", " : "", json_text(json_item(workloads, i)));
    if (workloads.count > NAMED_MAX)
        text = arena_printf(a, "%s and %u more", text, workloads.count - NAMED_MAX);
    return text;
}

/* ---- status ---- */

/* Changes with the spec, and with nothing else. */
static const char *hash_of(struct arena *a, struct json spec)
{
    const char *text = json_to_text(a, json_present(spec) ? spec : json_empty_map());
    return arena_strndup(a, sha256_hex(a, str_of(text)), HASH_DIGITS);
}

static bool was(const struct view *in, const char *type, const char *status)
{
    return text_eq(toolhive_condition(in->object, type), status);
}

static void tell_valid(const struct view *in, struct plan *out, const struct config_kind *kind)
{
    plan_condition(out, "Valid", true, kind->valid, "Spec validation passed");
    plan_status(out,
        json_fields(in->arena,
            { "configHash", json_str(hash_of(in->arena, json_get(in->object, "spec"))) },
            { "observedGeneration", json_int(json_get_int(in->object, "metadata.generation", 1)) }),
        NULL);
    if (kind->events && was(in, "Valid", "False"))
        plan_event(out, false, "ConfigValid", "Spec validation passed");
    plan_done(out);
}

static void tell_invalid(const struct view *in, struct plan *out, const struct config_kind *kind,
    struct config_verdict v)
{
    struct json status = json_get(in->object, "status");
    plan_condition(out, "Valid", false, v.reason ? v.reason : kind->invalid, "%s", v.fault);
    plan_status(out,
        json_fields(in->arena,
            { "configHash", json_get(status, "configHash") },
            { "observedGeneration", json_get(status, "observedGeneration") }),
        NULL);
    if (kind->events && !was(in, "Valid", "False"))
        plan_event(out, true, "ConfigInvalid", "spec validation failed: %s", v.fault);
    plan_wait(out, "%s", v.fault);
}

static void tell_blocked(
    const struct view *in, struct plan *out, const struct config_kind *kind, struct json workloads)
{
    const char *names = names_of(in->arena, workloads);
    struct json status = json_get(in->object, "status");
    struct json valid = json_find(json_get(status, "conditions"), "type", "Valid");
    plan_stay(out);
    if (json_present(valid))
        plan_condition(out,
            "Valid",
            was(in, "Valid", "True"),
            toolhive_text(valid, "reason", kind->valid),
            "%s",
            toolhive_text(valid, "message", ""));
    plan_condition(out,
        "DeletionBlocked",
        true,
        "ReferencedByWorkloads",
        "Cannot delete: referenced by workloads: %s",
        names);
    plan_status(out,
        json_fields(in->arena,
            { "configHash", json_get(status, "configHash") },
            { "observedGeneration", json_get(status, "observedGeneration") }),
        NULL);
    if (kind->events && !was(in, "DeletionBlocked", "True"))
        plan_event(out,
            true,
            "DeletionBlocked",
            "deletion blocked while still referenced by workloads: %s",
            names);
    plan_wait(out, "referenced by workloads: %s", names);
}

void config_reconcile(const struct view *in, struct plan *out, const struct config_kind *kind)
{
    if (json_present(json_get(in->object, "metadata.deletionTimestamp"))) {
        struct json workloads = referents_of(in, kind);
        if (workloads.count)
            tell_blocked(in, out, kind, workloads);
        else
            plan_done(out);
        return;
    }
    struct config_verdict v = kind->check(in, out, json_get(in->object, "spec"));
    if (v.fault)
        tell_invalid(in, out, kind, v);
    else
        tell_valid(in, out, kind);
}
