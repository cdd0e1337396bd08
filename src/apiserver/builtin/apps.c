/* Workloads that keep Pods running: Deployments, StatefulSets, DaemonSets, ReplicaSets. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/builtin/warn.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"
#include "base/intorstr.h"
#include "base/json_index.h"
#include "base/selector.h"

/* ---- Deployment ---- */

static const struct fill deployment_defaults[] = {
    { "spec.replicas", FILL_INT(1) },
    { "spec.strategy.type", FILL_STR("RollingUpdate") },
    { "spec.revisionHistoryLimit", FILL_INT(10) },
    { "spec.progressDeadlineSeconds", FILL_INT(600) },
    { 0 },
};

static const struct fill surge_defaults[] = {
    { "spec.strategy.rollingUpdate", FILL_MAP },
    { "spec.strategy.rollingUpdate.maxUnavailable", FILL_STR("25%"), true },
    { "spec.strategy.rollingUpdate.maxSurge", FILL_STR("25%"), true },
    { 0 },
};

static struct json fill_deployment(struct arena *a, struct json o)
{
    o = fill_table(a, o, deployment_defaults);
    if (text_eq(json_get_text(o, "spec.strategy.type"), "RollingUpdate"))
        o = fill_table(a, o, surge_defaults);
    return pod_template_fill(a, o, "spec.template");
}

/* ---- ReplicaSet and ReplicationController ---- */

static struct json fill_replica_set(struct arena *a, struct json o)
{
    o = fill_path(a, o, "spec.replicas", json_int(1));
    return pod_template_fill(a, o, "spec.template");
}

/* The labels of the template are the default for the selector and the labels of the controller. */
static struct json fill_replication_controller(struct arena *a, struct json o)
{
    struct json labels = json_get(o, "spec.template.metadata.labels");
    if (json_present(labels)) {
        o = fill_path(a, o, "spec.selector", labels);
        o = fill_path(a, o, "metadata.labels", labels);
    }
    return fill_replica_set(a, o);
}

/* ---- DaemonSet ---- */

static const struct fill daemon_set_defaults[] = {
    { "spec.revisionHistoryLimit", FILL_INT(10) },
    { "spec.updateStrategy.type", FILL_STR("RollingUpdate") },
    { 0 },
};

static const struct fill daemon_update_defaults[] = {
    { "spec.updateStrategy.rollingUpdate", FILL_MAP },
    { "spec.updateStrategy.rollingUpdate.maxUnavailable", FILL_INT(1), true },
    { "spec.updateStrategy.rollingUpdate.maxSurge", FILL_INT(0), true },
    { 0 },
};

/* A field of an older API version, now an annotation. */
#define TEMPLATE_GENERATION "deprecated.daemonset.template.generation"

static struct json fill_daemon_set(struct arena *a, struct json o)
{
    struct json annotations = json_get(o, "metadata.annotations");
    if (!json_present(json_member(annotations, TEMPLATE_GENERATION))) {
        annotations = annotations.type == JSON_MAP ? annotations : json_empty_map();
        annotations = json_with_member(a, annotations, TEMPLATE_GENERATION, json_str("0"));
        o = json_with(a, o, "metadata.annotations", annotations);
    }
    o = fill_table(a, o, daemon_set_defaults);
    if (text_eq(json_get_text(o, "spec.updateStrategy.type"), "RollingUpdate"))
        o = fill_table(a, o, daemon_update_defaults);
    return pod_template_fill(a, o, "spec.template");
}

static bool prepare_daemon_set(const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    struct arena *a = w->arena;
    if (*w->subresource)
        return true;
    struct json annotations = json_get(*object, "metadata.annotations");
    struct json before = json_member(json_get(w->old, "metadata.annotations"), TEMPLATE_GENERATION);
    int64_t generation = 1;
    if (json_present(w->old)) {
        if (!str_to_int(str_of(json_text(before) ? json_text(before) : "1"), &generation))
            generation = 1;
        generation +=
            !json_equal(json_get(w->old, "spec.template"), json_get(*object, "spec.template"));
    }
    if (annotations.type != JSON_MAP)
        annotations = json_empty_map();
    annotations = json_with_member(
        a, annotations, TEMPLATE_GENERATION, json_strf(a, "%lld", (long long)generation));
    *object = json_with(a, *object, "metadata.annotations", annotations);
    return true;
}

/* ---- StatefulSet ---- */

static const struct fill stateful_set_defaults[] = {
    { "spec.replicas", FILL_INT(1) },
    { "spec.podManagementPolicy", FILL_STR("OrderedReady") },
    { "spec.revisionHistoryLimit", FILL_INT(10) },
    { "spec.updateStrategy.type", FILL_STR("RollingUpdate") },
    { "spec.persistentVolumeClaimRetentionPolicy", FILL_MAP },
    { "spec.persistentVolumeClaimRetentionPolicy.whenDeleted", FILL_STR("Retain") },
    { "spec.persistentVolumeClaimRetentionPolicy.whenScaled", FILL_STR("Retain") },
    { "spec.volumeClaimTemplates.*.apiVersion", FILL_STR("v1") },
    { "spec.volumeClaimTemplates.*.kind", FILL_STR("PersistentVolumeClaim") },
    { "spec.volumeClaimTemplates.*.status.phase", FILL_STR("Pending") },
    { 0 },
};

static const struct fill stateful_update_defaults[] = {
    { "spec.updateStrategy.rollingUpdate", FILL_MAP },
    { "spec.updateStrategy.rollingUpdate.partition", FILL_INT(0) },
    { 0 },
};

static struct json fill_stateful_set(struct arena *a, struct json o)
{
    /* If the client sets only the type of the strategy, no defaults are added. */
    bool whole = text_empty(json_get_text(o, "spec.updateStrategy.type")) ||
                 json_is(json_get(o, "spec.updateStrategy.rollingUpdate"), JSON_MAP);
    o = fill_table(a, o, stateful_set_defaults);
    if (whole && text_eq(json_get_text(o, "spec.updateStrategy.type"), "RollingUpdate"))
        o = fill_table(a, o, stateful_update_defaults);
    o = fill_each(a, o, "spec.volumeClaimTemplates.*.spec", claim_spec_fill);
    return pod_template_fill(a, o, "spec.template");
}

/* A field behind a feature gate that is off by default. */
static bool prepare_stateful_set(const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    static const char path[] = "spec.updateStrategy.rollingUpdate.maxUnavailable";
    if (json_present(json_get(*object, path)))
        *object = json_with(w->arena, *object, path, json_none);
    return true;
}

/* ---- validation ---- */

/* The template of a StatefulSet's pods: with a volume for each claim, in front, which replaces a
 * volume of the same name. */
static struct json with_claims(struct arena *a, struct json spec)
{
    struct json tmpl = json_member(spec, "template");
    struct json claims = json_member(spec, "volumeClaimTemplates");
    struct json_seen names = { .arena = a };
    struct json_builder volumes;
    if (!json_is(claims, JSON_LIST) || claims.count == 0)
        return tmpl;
    json_builder_init(&volumes, a);
    json_each (claim, claims) {
        struct json name = json_get(*claim, "metadata.name");
        name = json_present(name) ? name : json_str("");
        if (!json_seen_add(&names, name))
            json_push(&volumes,
                json_fields(a, { "name", name }, { "persistentVolumeClaim.claimName", name }));
    }
    json_each (volume, json_get(tmpl, "spec.volumes")) {
        if (!json_seen_has(&names, json_member(*volume, "name")))
            json_push(&volumes, *volume);
    }
    return json_with(a, tmpl, "spec.volumes", json_list_end(&volumes));
}

/* The selector must be set, and the template must match it; what: the kind, for messages. */
static void check_selected(struct field_errors *e, struct json spec, const char *what)
{
    static const char *const always[] = { "Always", NULL };
    struct json selector = json_member(spec, "selector"), tmpl = json_member(spec, "template");
    struct json labels = json_get(tmpl, "metadata.labels");
    struct selector parsed = { .nothing = true };
    size_t before = e->count;
    bool daemon = text_eq(what, "daemonset");
    if (!check_is_set(selector) && !daemon)
        field_required(e, "spec.selector", NULL);
    check_selector(e, selector, "spec.selector");
    bool sound = e->count == before || !check_is_set(selector), said = !sound && daemon;
    if (check_is_set(selector) && !json_member(selector, "matchLabels").count &&
        !json_member(selector, "matchExpressions").count)
        field_invalid(e,
            "spec.selector",
            selector,
            arena_printf(e->arena, "empty selector is invalid for %s", what));
    if (check_is_set(selector) && sound &&
        !selector_from_json(e->arena, selector, "", &parsed, NULL))
        sound = false;
    if (!sound && !said)
        field_error_add(e,
            FIELD_INVALID,
            "spec.selector",
            json_none,
            arena_printf(e->arena,
                "%s%s",
                check_selector_text(e->arena, selector),
                text_eq(what, "statefulset") ? "" : ": invalid label selector"));
    if (!sound && !daemon)
        return;
    if (sound && !selector_matches(&parsed, labels))
        field_invalid(e,
            "spec.template.metadata.labels",
            json_present(labels) ? labels : json_null(),
            "`selector` does not match template `labels`");
    pod_template_check(e, with_claims(e->arena, spec), "spec.template");
    struct json policy = json_get(tmpl, "spec.restartPolicy");
    if (json_present(policy) && !text_eq(json_text(policy), "Always"))
        field_not_supported(e, "spec.template.spec.restartPolicy", policy, always);
    if (json_present(json_get(tmpl, "spec.activeDeadlineSeconds")))
        field_forbidden(e,
            "spec.template.spec.activeDeadlineSeconds",
            "activeDeadlineSeconds in ReplicaSet is not Supported");
}

/* A number or a percentage. */
static void check_amount(struct field_errors *e, struct json v, const char *path, bool at_most_all)
{
    static const struct check at_least_0 = { "", CHECK_MIN };
    int64_t value;
    if (v.type == JSON_STR && !intorstr_scaled(v, 100, true, &value, NULL))
        field_invalid(e,
            path,
            v,
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%', "
            " or '93%', regex used for validation is '[0-9]+%')");
    else if (v.type == JSON_STR && at_most_all && value > 100)
        field_invalid(e, path, v, "must not be greater than 100%");
    else
        check_value(e, v, path, &at_least_0);
}

/* A text that is not a percentage may be a number. */
static bool is_nothing(struct json v)
{
    int64_t value = 0;
    if (v.type == JSON_INT)
        value = v.integer;
    else if (!intorstr_scaled(v, 100, true, &value, NULL) &&
             !str_to_int(str_of(json_text(v)), &value))
        value = 0;
    return value == 0;
}

static const struct check replica_rules[] = {
    { "spec.replicas", CHECK_MIN },
    { "spec.minReadySeconds", CHECK_MIN },
    { 0 },
};
/* A StatefulSet allows any limit. */
static const struct check rollout_rules[] = {
    { "spec.revisionHistoryLimit", CHECK_MIN },
    { "spec.progressDeadlineSeconds", CHECK_MIN },
    { 0 },
};

static void check_strategy(
    struct field_errors *e, struct json strategy, const char *path, const char *const *types)
{
    const char *type = json_get_text(strategy, "type");
    for (const char *const *t = types; *t; t++)
        if (text_eq(type, *t))
            return;
    field_not_supported(e, path, json_str_or_absent(type), types);
}

static void check_deployment(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const types[] = { "Recreate", "RollingUpdate", NULL };
    (void)w;
    struct json spec = json_member(o, "spec"), strategy = json_member(spec, "strategy"),
                rolling = json_member(strategy, "rollingUpdate"),
                type = json_member(strategy, "type");
    struct json surge = json_member(rolling, "maxSurge"),
                gone = json_member(rolling, "maxUnavailable");
    check_table(e, o, "", replica_rules);
    check_table(e, o, "", rollout_rules);
    check_selected(e, spec, "deployment");
    check_strategy(e, strategy, "spec.strategy", types);
    if (text_eq(json_text(type), "Recreate") && json_present(rolling))
        field_forbidden(e,
            "spec.strategy.rollingUpdate",
            "may not be specified when strategy `type` is 'Recreate'");
    if (text_eq(json_text(type), "RollingUpdate")) {
        check_amount(e, gone, "spec.strategy.rollingUpdate.maxUnavailable", true);
        check_amount(e, surge, "spec.strategy.rollingUpdate.maxSurge", false);
        if (is_nothing(gone) && is_nothing(surge))
            field_invalid(e,
                "spec.strategy.rollingUpdate.maxUnavailable",
                gone,
                "may not be 0 when `maxSurge` is 0");
    }
    if (json_get_int(spec, "progressDeadlineSeconds", 600) <=
        json_get_int(spec, "minReadySeconds", 0))
        field_invalid(e,
            "spec.progressDeadlineSeconds",
            json_member(spec, "progressDeadlineSeconds"),
            "must be greater than minReadySeconds");
}

static void check_selector_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    if (!*w->subresource)
        check_immutable(
            e, json_get(w->old, "spec.selector"), json_get(o, "spec.selector"), "spec.selector");
}

static void check_replica_set(const struct api_write *w, struct json o, struct field_errors *e)
{
    (void)w;
    check_table(e, o, "", replica_rules);
    check_selected(e, json_member(o, "spec"), "deployment");
}

static void check_replication_controller(
    const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const always[] = { "Always", NULL };
    (void)w;
    struct json spec = json_member(o, "spec"), tmpl = json_member(spec, "template");
    struct json selector = json_member(spec, "selector"),
                labels = json_get(tmpl, "metadata.labels");
    check_table(e, o, "", replica_rules);
    if (check_is_empty(selector))
        field_required(e, "spec.selector", NULL);
    if (!json_present(tmpl)) {
        field_required(e, "spec.template", NULL);
        return;
    }
    json_each_member (m, selector)
        if (!json_equal(json_member(labels, m->key), m->value)) {
            field_invalid(e,
                "spec.template.metadata.labels",
                json_present(labels) ? labels : json_null(),
                "`selector` does not match template `labels`");
            break;
        }
    pod_template_check(e, tmpl, "spec.template");
    struct json policy = json_get(tmpl, "spec.restartPolicy");
    if (!text_eq(json_text(policy), "Always"))
        field_not_supported(e, "spec.template.spec.restartPolicy", policy, always);
}

static void check_daemon_set(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const types[] = { "RollingUpdate", "OnDelete", NULL };
    (void)w;
    struct json spec = json_member(o, "spec"),
                rolling = json_get(spec, "updateStrategy.rollingUpdate"),
                type = json_get(spec, "updateStrategy.type");
    struct json surge = json_member(rolling, "maxSurge"),
                gone = json_member(rolling, "maxUnavailable");
    check_table(e, o, "", replica_rules);
    check_table(e, o, "", rollout_rules);
    check_selected(e, spec, "daemonset");
    check_strategy(e, json_member(spec, "updateStrategy"), "spec.updateStrategy", types);
    if (!text_eq(json_text(type), "RollingUpdate"))
        return;
    check_amount(e, gone, "spec.updateStrategy.rollingUpdate.maxUnavailable", true);
    check_amount(e, surge, "spec.updateStrategy.rollingUpdate.maxSurge", true);
    if (!is_nothing(gone) && !is_nothing(surge))
        field_invalid(e,
            "spec.updateStrategy.rollingUpdate.maxSurge",
            surge,
            "may not be set when maxUnavailable is non-zero");
    if (is_nothing(gone) && is_nothing(surge))
        field_required(e,
            "spec.updateStrategy.rollingUpdate.maxUnavailable",
            "cannot be 0 when maxSurge is 0");
}

/* Immutable fields are validated only once. */
static void check_fixed(struct field_errors *e, struct json spec)
{
    size_t i = 0;
    json_each (claim, json_member(spec, "volumeClaimTemplates"))
        builtin_claim_check(e,
            json_member(*claim, "spec"),
            field_child(
                e->arena, check_item_path(e->arena, "spec", "volumeClaimTemplates", i++), "spec"));
    struct json service = json_member(spec, "serviceName");
    if (!check_is_empty(service))
        check_name(e, service, "spec.serviceName", NAME_DNS1123_LABEL);
}

static void check_stateful_set(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const claims[] = { "Retain", "Delete", NULL };
    static const struct check rules[] = {
        { "spec.updateStrategy.rollingUpdate.partition", CHECK_MIN },
        { "spec.persistentVolumeClaimRetentionPolicy.whenDeleted", CHECK_ENUM, claims },
        { "spec.persistentVolumeClaimRetentionPolicy.whenScaled", CHECK_ENUM, claims },
        { "spec.ordinals.start", CHECK_MIN },
        { 0 },
    };
    struct json policy = json_get(o, "spec.podManagementPolicy");
    if (!text_eq(json_text(policy), "OrderedReady") && !text_eq(json_text(policy), "Parallel"))
        field_invalid(
            e, "spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'");
    const char *type = json_get_text(o, "spec.updateStrategy.type");
    struct json rolling = json_get(o, "spec.updateStrategy.rollingUpdate");
    if (!text_eq(type, "RollingUpdate") && !text_eq(type, "OnDelete"))
        field_invalid(e,
            "spec.updateStrategy",
            json_get(o, "spec.updateStrategy"),
            "must be 'RollingUpdate' or 'OnDelete'");
    check_table(e, o, "", rules);
    check_table(e, o, "", replica_rules);
    check_selected(e, json_member(o, "spec"), "statefulset");
    if (!json_present(w->old))
        check_fixed(e, json_member(o, "spec"));
    if (text_eq(type, "OnDelete") && json_present(rolling))
        field_invalid(e,
            "spec.updateStrategy.rollingUpdate",
            rolling,
            "only allowed for updateStrategy 'RollingUpdate'");
}

static void check_stateful_set_change(
    const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const free_fields[] = { "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds" };
    struct json old = json_member(w->old, "spec"), fresh = json_member(o, "spec");
    if (*w->subresource)
        return;
    for (size_t i = 0; i < lengthof(free_fields); i++) {
        old = json_with_member(w->arena, old, free_fields[i], json_none);
        fresh = json_with_member(w->arena, fresh, free_fields[i], json_none);
    }
    if (!json_equal(old, fresh))
        field_forbidden(e,
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
            "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
            "'minReadySeconds' are forbidden");
}

static void check_controller_revision(
    const struct api_write *w, struct json o, struct field_errors *e)
{
    static const struct check rules[] = { { "revision", CHECK_MIN }, { 0 } };
    struct json data = json_member(o, "data");
    if (!json_present(w->old) && !check_is_set(data))
        field_required(e, "data", "data is mandatory");
    else if (!json_present(w->old) && data.type != JSON_MAP)
        field_required(e, "data", "data must be a valid JSON object");
    check_table(e, o, "", rules);
}

static void check_controller_revision_change(
    const struct api_write *w, struct json o, struct field_errors *e)
{
    check_immutable(e, json_member(w->old, "data"), json_member(o, "data"), "data");
}

static const char *const replica_fields[] = { "status.replicas", NULL };

const struct builtin_rules builtin_deployment = {
    .fill = fill_deployment,
    .validate = check_deployment,
    .warn = warn_workload,
    .validate_change = check_selector_change,
};
const struct builtin_rules builtin_replica_set = {
    .fill = fill_replica_set,
    .validate = check_replica_set,
    .warn = warn_workload,
    .validate_change = check_selector_change,
};
const struct builtin_rules builtin_replication_controller = {
    .fill = fill_replication_controller,
    .validate = check_replication_controller,
    .warn = warn_workload,
    .fields = replica_fields,
};
const struct builtin_rules builtin_daemon_set = {
    .fill = fill_daemon_set,
    .prepare = prepare_daemon_set,
    .validate = check_daemon_set,
    .warn = warn_template,
    .validate_change = check_selector_change,
};
const struct builtin_rules builtin_stateful_set = {
    .fill = fill_stateful_set,
    .prepare = prepare_stateful_set,
    .validate = check_stateful_set,
    .warn = warn_template,
    .validate_change = check_stateful_set_change,
};
const struct builtin_rules builtin_controller_revision = {
    .validate = check_controller_revision,
    .validate_change = check_controller_revision_change,
};
