/* Webhook configurations and admission policies, which are stored and not called; priority and
 * runtime classes. */

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

static const struct fill rule_defaults[] = {
    { "webhooks.*.failurePolicy", FILL_STR("Fail") },
    { "webhooks.*.matchPolicy", FILL_STR("Equivalent") },
    { "webhooks.*.namespaceSelector", FILL_MAP },
    { "webhooks.*.objectSelector", FILL_MAP },
    { "webhooks.*.timeoutSeconds", FILL_INT(10) },
    { "webhooks.*.rules.*.scope", FILL_STR("*") },
    { "webhooks.*.clientConfig.service.port", FILL_INT(443) },
    { "spec.failurePolicy", FILL_STR("Fail") },
    { "spec.matchConstraints.matchPolicy", FILL_STR("Equivalent") },
    { "spec.matchConstraints.namespaceSelector", FILL_MAP },
    { "spec.matchConstraints.objectSelector", FILL_MAP },
    { "spec.matchConstraints.resourceRules.*.scope", FILL_STR("*") },
    { "spec.matchConstraints.excludeResourceRules.*.scope", FILL_STR("*") },
    { 0 },
};

static struct json fill_admission(struct arena *a, struct json o)
{
    return fill_table(a, o, rule_defaults);
}

static struct json fill_mutating_webhook(struct arena *a, struct json o)
{
    o = fill_path(a, o, "webhooks.*.reinvocationPolicy", json_str("Never"));
    return fill_admission(a, o);
}

static const struct fill binding_defaults[] = {
    { "spec.matchResources.matchPolicy", FILL_STR("Equivalent") },
    { "spec.matchResources.namespaceSelector", FILL_MAP },
    { "spec.matchResources.objectSelector", FILL_MAP },
    { "spec.matchResources.resourceRules.*.scope", FILL_STR("*") },
    { 0 },
};

static struct json fill_admission_binding(struct arena *a, struct json o)
{
    return fill_table(a, o, binding_defaults);
}

/* ---- what is wrong ---- */

static void check_webhook(struct field_errors *e, struct json hook, const char *path)
{
    static const char *const effects[] = { "None", "NoneOnDryRun", NULL };
    static const char *const failures[] = { "Fail", "Ignore", NULL };
    struct arena *a = e->arena;
    struct json name = json_member(hook, "name"), config = json_member(hook, "clientConfig"),
                url = json_member(config, "url"), side = json_member(hook, "sideEffects");
    const char *config_path = field_child(a, path, "clientConfig");
    size_t dots = 0;
    for (const char *c = json_text(name) ? json_text(name) : ""; *c; c++)
        dots += *c == '.';
    if (dots < 2)
        field_invalid(e,
            field_child(a, path, "name"),
            name,
            "should be a domain with at least three segments separated by dots");
    if (!json_member(hook, "admissionReviewVersions").count)
        field_required(
            e, field_child(a, path, "admissionReviewVersions"), "must specify one of v1, v1beta1");
    if (!check_is_set(side))
        field_required(
            e, field_child(a, path, "sideEffects"), "must specify one of None, NoneOnDryRun");
    else
        check_enum(e, side, field_child(a, path, "sideEffects"), effects);
    check_enum(
        e, json_member(hook, "failurePolicy"), field_child(a, path, "failurePolicy"), failures);
    if (json_present(url) == json_present(json_member(config, "service")))
        field_required(e, config_path, "exactly one of url or service is required");
    else if (json_present(url) && !text_starts(json_text(url), "https://"))
        field_invalid(e,
            field_child(a, config_path, "url"),
            json_strn(a, json_text(url), strcspn(json_text(url), ":")),
            "'https' is the only allowed URL scheme; desired format: https://host[/path]");
}

static void check_webhooks(const struct api_write *w, struct json o, struct field_errors *e)
{
    (void)w;
    size_t i = 0;
    json_each (hook, json_member(o, "webhooks"))
        check_webhook(e, *hook, check_item_path(e->arena, "", "webhooks", i++));
}

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

/* Whoever makes one relies on it: they are told that nothing comes of it. */
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

static void check_actions(struct field_errors *e, struct json actions)
{
    static const char *const allowed[] = { "Audit", "Deny", "Warn", NULL };
    struct arena *a = e->arena;
    bool deny = false, warn = false;
    if (!actions.count)
        field_required(e, "spec.validationActions", "at least one validation action is required");
    for (size_t i = 0; i < actions.count; i++) {
        const char *here = field_index(a, "spec.validationActions", i);
        struct json action = actions.items[i];
        check_enum(e, action, here, allowed);
        deny = deny || text_eq(json_text(action), "Deny");
        warn = warn || text_eq(json_text(action), "Warn");
        for (size_t j = 0; j < i; j++)
            if (json_equal(actions.items[j], action)) {
                field_duplicate(e, here, action);
                break;
            }
    }
    if (deny && warn)
        field_invalid(e,
            "spec.validationActions",
            actions,
            "must not contain both Deny and Warn (repeating the same validation failure "
            "information in the API response and headers serves no purpose)");
}

static void check_binding(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json policy = json_get(o, "spec.policyName");
    if (check_is_empty(policy))
        field_required(e, "spec.policyName", NULL);
    else
        check_name(e, policy, "spec.policyName", NAME_DNS1123_SUBDOMAIN);
    if (text_starts(w->kind->resource.kind, "Validating"))
        check_actions(e, json_get(o, "spec.validationActions"));
}

/* It is the first generation, and no change makes another. */
static bool prepare_priority_class(
    const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    if (!json_present(w->old))
        *object = json_with(w->arena, *object, "metadata.generation", json_int(1));
    return true;
}

/* One of them is for pods that name none. */
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
const struct builtin_rules builtin_admission = { .fill = fill_admission, .warn = warn_policy };
const struct builtin_rules builtin_mutating_webhook = {
    .fill = fill_mutating_webhook,
    .validate = check_webhooks,
    .warn = warn_webhook,
};
const struct builtin_rules builtin_validating_webhook = {
    .fill = fill_admission,
    .validate = check_webhooks,
    .warn = warn_webhook,
};
const struct builtin_rules builtin_admission_binding = {
    .fill = fill_admission_binding,
    .validate = check_binding,
    .warn = warn_policy,
};
