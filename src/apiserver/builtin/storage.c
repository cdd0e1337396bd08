/* Volumes, claims, and their classes. */

#include "apiserver/builtin/defaults.h"
#include "apiserver/builtin/pod/pod.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/builtin/warn.h"
#include "apiserver/core/server.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"
#include "base/quantity.h"

static const struct fill claim_defaults[] = {
    { "volumeMode", FILL_STR("Filesystem"), .empty = true },
    { "dataSource.apiGroup", { .type = JSON_NULL }, .empty = true },
    { "dataSourceRef.apiGroup", { .type = JSON_NULL }, .empty = true },
    { 0 },
};

/* What the old field of a data source supports: other sources are silently left out. */
static bool is_old_source(struct json source)
{
    const char *group = json_get_text(source, "apiGroup"), *kind = json_get_text(source, "kind");
    return text_eq(kind, "PersistentVolumeClaim")
               ? text_empty(group)
               : text_eq(kind, "VolumeSnapshot") && text_eq(group, "snapshot.storage.k8s.io");
}

struct json claim_spec_fill(struct arena *a, struct json spec)
{
    return fill_table(a, spec, claim_defaults);
}

/* A data source may be in the old or the new field; each fills the other. in_use: the old claim had
 * one. */
static struct json give_sources(struct arena *a, struct json spec, bool in_use)
{
    struct json source = json_member(spec, "dataSource"), ref = json_member(spec, "dataSourceRef");
    if (json_present(source) && !is_old_source(source) && !in_use) {
        spec = json_with_member(a, spec, "dataSource", json_none);
        source = json_none;
    }
    if (json_present(source) && !json_present(ref))
        spec = json_with_member(a, spec, "dataSourceRef", source);
    if (json_present(ref) && !json_present(source) && !json_present(json_member(ref, "namespace")))
        spec = json_with_member(a, spec, "dataSource", ref);
    return claim_spec_fill(a, spec);
}

static struct json fill_claim(struct arena *a, struct json o)
{
    o = fill_each(a, o, "spec", claim_spec_fill);
    return fill_path(a, o, "status.phase", json_str("Pending"));
}

static const struct fill volume_defaults[] = {
    { "spec.persistentVolumeReclaimPolicy", FILL_STR("Retain") },
    { "spec.volumeMode", FILL_STR("Filesystem"), .empty = true },
    { "spec.hostPath.type", FILL_STR("") },
    { "status.phase", FILL_STR("Pending") },
    { 0 },
};

static struct json fill_volume(struct arena *a, struct json o)
{
    return fill_table(a, o, volume_defaults);
}

/* Adds a finalizer, so that a volume in use is not deleted. */
static bool protect(const struct api_write *w, struct json *object, const char *finalizer)
{
    struct arena *a = w->arena;
    if (json_present(w->old))
        return true;
    struct json finalizers = json_get(*object, "metadata.finalizers");
    if (json_list_has(finalizers, finalizer))
        return true;
    struct json_builder b;
    json_builder_init(&b, a);
    json_push_all(&b, finalizers);
    json_push(&b, json_str(finalizer));
    *object = json_with(a, *object, "metadata.finalizers", json_list_end(&b));
    return true;
}

static const char *noted_class(struct json claim)
{
    struct json annotations = json_get(claim, "metadata.annotations");
    return json_text(json_member(annotations, STORAGE_CLASS_ANNOTATION));
}

/* An empty class was chosen explicitly: no class. */
static struct json give_class(const struct api_write *w, struct json claim)
{
    static const char *const marks[] = { "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
        NULL };
    if (noted_class(claim) || check_is_set(json_get(claim, "spec.storageClassName")))
        return claim;
    const char *class_name = defaults_class(w, "storage.k8s.io", "storageclasses", marks);
    return class_name ? json_with(w->arena, claim, "spec.storageClassName", json_str(class_name))
                      : claim;
}

static bool prepare_claim(const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    if (*w->subresource)
        return true;
    bool in_use = json_present(json_get(w->old, "spec.dataSource")) ||
                  json_present(json_get(w->old, "spec.dataSourceRef"));
    *object = json_with_member(
        w->arena, *object, "spec", give_sources(w->arena, json_member(*object, "spec"), in_use));
    if (!json_present(w->old)) {
        *object = give_class(w, *object);
        *object = json_with(w->arena, *object, "status.phase", json_str("Pending"));
    }
    return protect(w, object, "kubernetes.io/pvc-protection");
}

static bool prepare_volume(const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    if (!json_present(w->old)) {
        *object = json_with(w->arena, *object, "status.phase", json_str("Pending"));
        *object = json_with(w->arena, *object, "status.lastPhaseTransitionTime", json_str(w->now));
    }
    return protect(w, object, "kubernetes.io/pv-protection");
}

static const struct fill class_defaults[] = {
    { "reclaimPolicy", FILL_STR("Delete"), true },
    { "volumeBindingMode", FILL_STR("Immediate"), true },
    { 0 },
};

static struct json fill_storage_class(struct arena *a, struct json o)
{
    return fill_table(a, o, class_defaults);
}

/* ---- validation ---- */

static const char *const access_modes[] = {
    "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod", NULL
};
static const char *const volume_modes[] = { "Block", "Filesystem", NULL };
static const char *const reclaim_policies[] = { "Delete", "Recycle", "Retain", NULL };
static const char *const binding_modes[] = { "Immediate", "WaitForFirstConsumer", NULL };

static void check_storage(struct field_errors *e, struct json v, const char *path, bool volume)
{
    struct quantity q;
    if (volume && v.type == JSON_STR && quantity_parse(str_of(v.string), &q, NULL) &&
        quantity_value(q) < 0)
        field_invalid(e, path, json_int(quantity_value(q)), "must be a valid resource quantity");
    if (!json_present(v))
        field_required(e, path, NULL);
    else if (v.type == JSON_STR && (v.string[0] == '-' || text_eq(v.string, "0")))
        field_invalid(e, path, v, "must be greater than zero");
}

static void check_modes(struct field_errors *e, struct json spec, const char *path)
{
    struct json modes = json_member(spec, "accessModes");
    const char *here = field_child(e->arena, path, "accessModes");
    bool others = false;
    json_each (mode, modes) {
        check_enum(e, *mode, here, access_modes);
        others = others || !text_eq(json_text(*mode), "ReadWriteOncePod");
    }
    if (others && json_list_has(modes, "ReadWriteOncePod"))
        field_forbidden(e, here, "may not use ReadWriteOncePod with other access modes");
}

/* The data source of a new volume. */
static void check_source(struct field_errors *e, struct json source, const char *path)
{
    static const struct check rules[] = {
        { "name", CHECK_REQUIRED },
        { "kind", CHECK_REQUIRED },
        { 0 },
    };
    struct json group = json_member(source, "apiGroup"), kind = json_member(source, "kind"),
                ns = json_member(source, "namespace");
    if (!check_is_set(source))
        return;
    check_table(e, source, path, rules);
    if (!check_is_empty(group))
        check_name(e, group, field_child(e->arena, path, "apiGroup"), NAME_DNS1123_SUBDOMAIN);
    else if (!text_eq(json_text(kind), "PersistentVolumeClaim"))
        field_invalid(e,
            path,
            check_is_set(kind) ? kind : json_str(""),
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
    if (!check_is_empty(ns))
        check_name(e, ns, field_child(e->arena, path, "namespace"), NAME_DNS1123_LABEL);
}

static void check_sources(struct field_errors *e, struct json spec, const char *path)
{
    struct json source = json_member(spec, "dataSource"), ref = json_member(spec, "dataSourceRef");
    check_source(e, source, field_child(e->arena, path, "dataSource"));
    check_source(e, ref, field_child(e->arena, path, "dataSourceRef"));
    bool foreign = !check_is_empty(json_member(ref, "namespace"));
    if (check_is_set(source) && check_is_set(ref) && (foreign || !json_equal(source, ref)))
        field_invalid(e,
            path,
            json_empty_map(),
            foreign ? "may not be specified when dataSourceRef.namespace is specified"
                    : "must match dataSourceRef");
}

void builtin_claim_check(struct field_errors *e, struct json spec, const char *path)
{
    static const struct check rules[] = {
        { "accessModes", CHECK_REQUIRED, .detail = "at least 1 access mode is required" },
        { "volumeMode", CHECK_ENUM, volume_modes },
        { "selector", CHECK_SELECTOR },
        { 0 },
    };
    static const char *const classes[] = { "storageClassName", "volumeAttributesClassName" };
    spec = check_is_set(spec) ? spec : json_empty_map();
    check_table(e, spec, path, rules);
    check_modes(e, spec, path);
    check_storage(e,
        json_get(spec, "resources.requests.storage"),
        field_child(e->arena, path, "resources[storage]"),
        false);
    for (size_t i = 0; i < lengthof(classes); i++)
        if (!check_is_empty(json_member(spec, classes[i])))
            check_name(e,
                json_member(spec, classes[i]),
                field_child(e->arena, path, classes[i]),
                NAME_DNS1123_SUBDOMAIN);
    check_sources(e, spec, path);
}

static void check_claim(const struct api_write *w, struct json o, struct field_errors *e)
{
    if (!*w->subresource)
        builtin_claim_check(e, json_member(o, "spec"), "spec");
}

const char *claim_class(struct json claim)
{
    const char *noted = noted_class(claim);
    return noted ? noted : json_get_text(claim, "spec.storageClassName");
}

static struct quantity claim_size(struct json claim)
{
    return pod_amount(json_get(claim, "spec.resources.requests"), "storage");
}

/* Makes mutable fields equal in both: volume and class of a claim without one, size and attributes
 * of a bound claim. */
static void level_claims(const struct api_write *w, struct json *old, struct json *fresh)
{
    static const char volume[] = "volumeName", attributes[] = "volumeAttributesClassName",
                      class_name[] = "storageClassName", size[] = "resources.requests.storage";
    struct arena *a = w->arena;
    const char *noted = noted_class(w->old);
    if (!json_present(json_member(*old, class_name)) &&
        (!noted || text_eq(noted, json_get_text(*fresh, class_name))))
        *fresh = json_with_member(a, *fresh, class_name, json_none);
    if (text_empty(json_get_text(*old, volume)))
        *old = json_with_member(a, *old, volume, json_member(*fresh, volume));
    if (!text_eq(json_get_text(w->old, "status.phase"), "Bound"))
        return;
    if (json_present(json_get(*fresh, "resources.requests")))
        *fresh = json_with(a, *fresh, size, json_get(*old, size));
    *fresh = json_with_member(a, *fresh, attributes, json_member(*old, attributes));
}

/* A claim can only be expanded. */
static void check_claim_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    if (*w->subresource)
        return;
    struct json old = json_member(w->old, "spec"), fresh = json_member(o, "spec");
    level_claims(w, &old, &fresh);
    if (!json_equal(old, fresh))
        field_forbidden(e,
            "spec",
            "spec is immutable after creation except resources.requests and "
            "volumeAttributesClassName for bound claims");
    struct quantity size = claim_size(o),
                    there = pod_amount(json_get(w->old, "status.capacity"), "storage");
    if (quantity_compare(size, claim_size(w->old)) < 0 && quantity_compare(size, there) <= 0)
        field_forbidden(
            e, "spec.resources.requests.storage", "field can not be less than status.capacity");
    check_immutable(
        e, json_member(old, "volumeMode"), json_get(o, "spec.volumeMode"), "volumeMode");
}

/* A claim can be expanded if its class allows it, or if its size is not enforced, as a condition
 * of the claim says. */
static bool may_grow(const struct api_write *w, struct json o)
{
    const struct api_kind *k =
        registry_find(apiserver_registry(w->server), "storage.k8s.io", "v1", "storageclasses");
    const char *class_name = claim_class(o);
    struct json conditions = json_get(w->old, "status.conditions");
    if (json_present(json_find(conditions, "type", "leeboard.dev/SizeNotEnforced")))
        return true;
    if (text_empty(class_name) || !text_eq(class_name, claim_class(w->old)))
        return false;
    struct json found = apiserver_read(w->server, w->arena, k, "", class_name);
    return json_get_bool(found, "allowVolumeExpansion", false);
}

static bool admit_claim(const struct api_write *w, struct json o, struct error *err)
{
    if (!limits_check(w, o, err))
        return false;
    if (!json_present(w->old) || *w->subresource ||
        quantity_compare(claim_size(o), claim_size(w->old)) <= 0 || may_grow(w, o))
        return true;
    return fail(err,
        ERR_FORBIDDEN,
        "persistentvolumeclaims \"%s\" is forbidden: only dynamically provisioned pvc can be "
        "resized and the storageclass that provisions the pvc must support resize",
        json_get_text(o, "metadata.name"));
}

/* Fields of a PersistentVolume's spec that are not volume sources. */
static const char *const no_sources[] = { "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode" };

/* The sources that workloads here use. Others, such as those of cloud providers, are stored
 * unchecked. */
static void check_volume_source(struct field_errors *e, struct json spec)
{
    static const struct check rules[] = {
        { "csi.driver", CHECK_REQUIRED },
        { "csi.volumeHandle", CHECK_REQUIRED },
        { "hostPath.path", CHECK_REQUIRED },
        { "hostPath.type", CHECK_ENUM, builtin_host_path_types },
        { "local.path", CHECK_REQUIRED },
        { "nfs.server", CHECK_REQUIRED },
        { "nfs.path", CHECK_REQUIRED },
        { 0 },
    };
    struct json nfs = json_get(spec, "nfs.path");
    check_table(e, spec, "spec", rules);
    if (!check_is_empty(nfs) && !text_starts(json_text(nfs), "/"))
        field_invalid(e, "spec.nfs.path", nfs, "must be an absolute path");
}

static void check_volume(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const struct check rules[] = {
        { "spec.accessModes", CHECK_REQUIRED },
        { "spec.capacity", CHECK_REQUIRED },
        { "spec.persistentVolumeReclaimPolicy", CHECK_ENUM, reclaim_policies },
        { "spec.volumeMode", CHECK_ENUM, volume_modes },
        { 0 },
    };
    if (*w->subresource)
        return;
    check_table(e, o, "", rules);
    check_modes(e, json_member(o, "spec"), "spec");
    struct json capacity = json_get(o, "spec.capacity"), storage = json_member(capacity, "storage");
    static const char *const only_storage[] = { "storage", NULL };
    if (!json_present(storage) || capacity.count > 1)
        field_not_supported(
            e, "spec.capacity", json_present(capacity) ? capacity : json_null(), only_storage);
    json_each_member (m, capacity)
        check_storage(e, m->value, field_key(e->arena, "spec.capacity", m->key), true);
    size_t sources = 0;
    json_each_member (m, json_member(o, "spec")) {
        bool source = true;
        for (size_t i = 0; i < lengthof(no_sources); i++)
            source = source && !text_eq(m->key, no_sources[i]);
        if (source && sources++ == 1)
            field_forbidden(e,
                field_child(e->arena, "spec", m->key),
                "may not specify more than 1 volume type");
    }
    if (!sources)
        field_required(e, "spec", "must specify a volume type");
    check_volume_source(e, json_member(o, "spec"));
    struct json driver = json_get(o, "spec.csi.driver"),
                class_name = json_get(o, "spec.storageClassName");
    if (!check_is_empty(driver))
        csi_driver_name_check(e, driver, "spec.csi.driver");
    if (!check_is_empty(class_name))
        check_name(e, class_name, "spec.storageClassName", NAME_DNS1123_SUBDOMAIN);
    if (json_present(json_get(o, "spec.local")) && !json_present(json_get(o, "spec.nodeAffinity")))
        field_required(e, "spec.nodeAffinity", "Local volume requires node affinity");
    struct json affinity = json_get(o, "spec.nodeAffinity"),
                required = json_member(affinity, "required");
    if (json_present(required))
        pod_node_selector_check(e, required, "spec.nodeAffinity.required");
    else if (json_present(affinity))
        field_required(e, "spec.nodeAffinity.required", "must specify required node constraints");
}

static struct json source_of(struct arena *a, struct json spec)
{
    for (size_t i = 0; i < lengthof(no_sources); i++)
        spec = json_with_member(a, spec, no_sources[i], json_none);
    return spec;
}

static void check_volume_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char secret[] = "csi.controllerExpandSecretRef";
    struct json old = json_member(w->old, "spec"), fresh = json_member(o, "spec"),
                affinity = json_member(fresh, "nodeAffinity");
    if (*w->subresource)
        return;
    struct json was = source_of(w->arena, old), is = source_of(w->arena, fresh);
    if (json_present(json_member(was, "csi")) && !json_present(json_get(was, secret)))
        was = json_with(w->arena, was, secret, json_get(is, secret));
    if (!json_equal(was, is))
        field_forbidden(e,
            "spec.persistentvolumesource",
            "spec.persistentvolumesource is immutable after creation");
    if (json_present(json_member(old, "nodeAffinity")) &&
        !json_equal(affinity, json_member(old, "nodeAffinity")))
        field_invalid(e,
            "nodeAffinity",
            affinity,
            "field is immutable, except for updating from beta label to GA");
    check_immutable(
        e, json_get(w->old, "spec.volumeMode"), json_get(o, "spec.volumeMode"), "volumeMode");
}

static void check_provisioner(struct field_errors *e, struct json o, const char *field)
{
    struct json name = json_member(o, field);
    if (check_is_empty(name))
        field_required(e, field, NULL);
    else
        check_name(e, json_str(check_lower(e->arena, name.string)), field, NAME_LABEL_KEY);
}

static void check_topology(struct field_errors *e, struct json expressions, const char *path)
{
    for (size_t i = 0; i < expressions.count; i++) {
        const char *here = field_index(e->arena, path, i);
        struct json key = json_member(expressions.items[i], "key"),
                    values = json_member(expressions.items[i], "values");
        check_name(e, key, field_child(e->arena, here, "key"), NAME_LABEL_KEY);
        for (size_t j = 0; j < i; j++)
            if (json_equal(key, json_member(expressions.items[j], "key"))) {
                field_duplicate(e, field_child(e->arena, here, "key"), key);
                break;
            }
        if (!values.count)
            field_required(e, field_child(e->arena, here, "values"), NULL);
        for (size_t j = 0; j < values.count; j++)
            for (size_t k = 0; k < j; k++)
                if (json_equal(values.items[j], values.items[k])) {
                    field_duplicate(
                        e, check_item_path(e->arena, here, "values", j), values.items[j]);
                    break;
                }
    }
}

/* No duplicates; a term without expressions is reported like one with expressions. */
static void check_topologies(struct field_errors *e, struct json terms)
{
    for (size_t i = 0; i < terms.count; i++) {
        struct json expressions = json_member(terms.items[i], "matchLabelExpressions");
        const char *path = field_child(e->arena,
            check_item_path(e->arena, "", "allowedTopologies", i),
            "matchLabelExpressions");
        bool twice = !expressions.count;
        for (size_t j = 0; j < i; j++)
            twice = twice || json_equal(terms.items[i], terms.items[j]);
        check_topology(e, expressions, path);
        if (twice)
            field_duplicate(e, path, json_str(""));
    }
}

static void check_storage_class(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const policies[] = { "Delete", "Retain", NULL };
    static const struct check rules[] = {
        { "volumeBindingMode", CHECK_ENUM, binding_modes },
        { 0 },
    };
    (void)w;
    struct json policy = json_member(o, "reclaimPolicy");
    if (!check_is_empty(policy))
        check_enum(e, policy, "reclaimPolicy", policies);
    check_provisioner(e, o, "provisioner");
    check_table(e, o, "", rules);
    check_topologies(e, json_member(o, "allowedTopologies"));
    json_each_member (m, json_member(o, "parameters"))
        if (!*m->key)
            field_invalid(e, "parameters", json_str(""), "field can not be empty.");
}

static void check_storage_class_change(
    const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const fixed[] = {
        "parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"
    };
    for (size_t i = 0; i < lengthof(fixed); i++)
        check_immutable(e, json_member(w->old, fixed[i]), json_member(o, fixed[i]), fixed[i]);
}

/* The name of a driver is a DNS subdomain, in any case. */
void csi_driver_name_check(struct field_errors *e, struct json name, const char *path)
{
    struct error why;
    if (check_is_empty(name)) {
        field_required(e, path, NULL);
        return;
    }
    if (name.count > NAME_LABEL_MAX)
        field_error_add(e, FIELD_TOO_LONG, path, json_none, "may not be more than 63 bytes");
    if (!name_check(NAME_DNS1123_SUBDOMAIN, check_lower(e->arena, name.string), &why))
        field_invalid(e, path, name, why.text);
}

const struct builtin_rules builtin_claim = {
    .fill = fill_claim,
    .prepare = prepare_claim,
    .admit = admit_claim,
    .validate = check_claim,
    .warn = warn_claim,
    .validate_change = check_claim_change,
};
const struct builtin_rules builtin_volume = {
    .fill = fill_volume,
    .prepare = prepare_volume,
    .validate = check_volume,
    .warn = warn_volume,
    .validate_change = check_volume_change,
};
const struct builtin_rules builtin_storage_class = {
    .fill = fill_storage_class,
    .validate = check_storage_class,
    .validate_change = check_storage_class_change,
};
