/* Webhook configurations and admission policies, which are stored but not called; PriorityClasses
 * and RuntimeClasses. */

#include "apiserver/builtin/defaults.h"
#include "apiserver/builtin/pod/pod.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/core/call.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"

static struct json fill_priority_class(struct arena *a, struct json o)
{
    return fill_path(a, o, "preemptionPolicy", json_str("PreemptLowerPriority"));
}

/* ---- validation ---- */

#define PRIORITY_MAX 1000000000

static void check_priority_class(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const policies[] = { "PreemptLowerPriority", "Never", NULL };
    struct json policy = json_member(o, "preemptionPolicy");
    bool system = text_starts(json_get_text(o, "metadata.name"), "system-");
    if (json_present(w->old))
        return;
    if (!system && json_get_int(o, "value", 0) > PRIORITY_MAX)
        field_forbidden(e,
            "value",
            arena_printf(
                e->arena, "maximum allowed value of a user defined priority is %d", PRIORITY_MAX));
    check_enum(e, policy, "preemptionPolicy", policies);
}

static void check_priority_class_change(
    const struct api_write *w, struct json o, struct field_errors *e)
{
    if (!json_equal(json_member(w->old, "value"), json_member(o, "value")))
        field_forbidden(e, "value", "may not be changed in an update.");
    check_immutable(e,
        json_member(w->old, "preemptionPolicy"),
        json_member(o, "preemptionPolicy"),
        "preemptionPolicy");
}

static void check_runtime_class(const struct api_write *w, struct json o, struct field_errors *e)
{
    (void)w;
    struct json handler = json_member(o, "handler");
    if (check_is_empty(handler))
        field_required(e, "handler", NULL);
    else
        check_name(e, handler, "handler", NAME_DNS1123_LABEL);
    pod_tolerations_check(e, json_member(o, "scheduling"), "scheduling");
}

static void check_runtime_class_change(
    const struct api_write *w, struct json o, struct field_errors *e)
{
    check_immutable(e, json_member(w->old, "handler"), json_member(o, "handler"), "handler");
}

/* Warns that a new one has no effect here. */
static void warn_new(const struct api_write *w, const char *text)
{
    if (!json_present(w->old) && w->call)
        call_warn(w->call, text);
}

static void warn_webhook(const struct api_write *w, struct json o)
{
    (void)o;
    warn_new(w, "this server stores webhook configurations and calls no webhooks");
}

static void warn_policy(const struct api_write *w, struct json o)
{
    (void)o;
    warn_new(w, "this server stores admission policies and does not enforce them");
}

/* The generation is always 1. */
static bool prepare_priority_class(
    const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    if (!json_present(w->old))
        *object = json_with(w->arena, *object, "metadata.generation", json_int(1));
    return true;
}

/* Only one can be the default for pods. */
static bool admit_priority_class(const struct api_write *w, struct json o, struct error *err)
{
    const char *name = json_get_text(o, "metadata.name");
    if (!json_get_bool(o, "globalDefault", false))
        return true;
    const char *other = json_get_text(defaults_priority(w), "metadata.name");
    return !other || (json_present(w->old) && text_eq(other, name)) ||
           fail(err,
               ERR_FORBIDDEN,
               "priorityclasses.scheduling.k8s.io \"%s\" is forbidden: PriorityClass %s is already "
               "marked as default. Only one default can exist",
               name,
               other);
}

const struct builtin_rules builtin_priority_class = {
    .fill = fill_priority_class,
    .prepare = prepare_priority_class,
    .admit = admit_priority_class,
    .validate = check_priority_class,
    .validate_change = check_priority_class_change,
};
const struct builtin_rules builtin_runtime_class = {
    .validate = check_runtime_class,
    .validate_change = check_runtime_class_change,
};
const struct builtin_rules builtin_policy = { .warn = warn_policy };
const struct builtin_rules builtin_webhook = { .warn = warn_webhook };
