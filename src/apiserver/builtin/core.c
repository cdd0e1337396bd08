/* Small kinds of the core group and of other groups: defaults and derived fields. */

#include "apiserver/builtin/pod/security_admit.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/builtin/warn.h"
#include "apiserver/core/call.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"
#include "base/base64.h"
#include "base/json_index.h"
#include "base/quantity.h"

/* ---- Secret ---- */

static struct json fill_secret(struct arena *a, struct json o)
{
    o = fill_path(a, o, "type", json_str("Opaque"));
    struct json texts = json_member(o, "stringData");
    if (!json_present(texts))
        return o;
    struct json data = json_member(o, "data");
    if (data.type != JSON_MAP)
        data = json_empty_map();
    json_each_member (m, texts) {
        struct str bytes = { m->value.string, m->value.count };
        data = json_with_member(a, data, m->key, json_str(base64_encode(a, bytes)));
    }
    o = json_with_member(a, o, "data", json_or_absent(data));
    return json_with_member(a, o, "stringData", json_none);
}

/* ---- Namespace and Node ---- */

/* Namespaces have their name as a label, for selectors. */
static struct json fill_namespace(struct arena *a, struct json o)
{
    struct json labels = json_get(o, "metadata.labels"), name = json_get(o, "metadata.name");
    if (labels.type != JSON_MAP)
        labels = json_empty_map();
    if (!text_empty(json_text(name)))
        labels = json_with_member(a, labels, "kubernetes.io/metadata.name", name);
    return json_with(a, o, "metadata.labels", json_or_absent(labels));
}

static bool prepare_namespace(const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    struct arena *a = w->arena;
    struct json old = json_get(w->old, "spec.finalizers");
    if (json_present(w->old) && text_eq(w->subresource, "")) {
        *object = json_with(a, *object, "spec.finalizers", old);
    } else if (!json_present(w->old)) {
        *object = json_with(a, *object, "status.phase", json_str("Active"));
        struct json finalizers = json_get(*object, "spec.finalizers");
        if (!json_list_has(finalizers, "kubernetes")) {
            struct json_builder b;
            json_builder_init(&b, a);
            json_push_all(&b, finalizers);
            json_push(&b, json_str("kubernetes"));
            *object = json_with(a, *object, "spec.finalizers", json_list_end(&b));
        }
    }
    return true;
}

/* New nodes are not ready. */
static bool prepare_node(const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    struct arena *a = w->arena;
    if (json_present(w->old))
        return true;
    struct json taints = json_get(*object, "spec.taints");
    if (json_present(json_find(taints, "key", "node.kubernetes.io/not-ready")))
        return true;
    struct json_builder b;
    json_builder_init(&b, a);
    json_push_all(&b, taints);
    json_push(&b,
        json_map(a,
            { "effect", json_str("NoSchedule") },
            { "key", json_str("node.kubernetes.io/not-ready") }));
    *object = json_with(a, *object, "spec.taints", json_list_end(&b));
    return true;
}

static struct json fill_node(struct arena *a, struct json o)
{
    struct json range = json_get(o, "spec.podCIDR"), ranges = json_get(o, "spec.podCIDRs");
    if (!check_is_empty(range) && !(ranges.count && json_equal(ranges.items[0], range)))
        o = json_with(a, o, "spec.podCIDRs", json_list(a, range));
    else if (ranges.count)
        o = json_with(a, o, "spec.podCIDR", ranges.items[0]);
    return json_present(json_get(o, "status.allocatable"))
               ? o
               : fill_path(a, o, "status.allocatable", json_get(o, "status.capacity"));
}

/* ---- validation ---- */

#define DATA_MAX (1024 * 1024)

/* Keys, and the total size of all values. */
static size_t check_data(struct field_errors *e, struct json data, const char *path)
{
    static const struct check key = { "", CHECK_KEY };
    size_t bytes = 0;
    json_each_member (m, data) {
        check_value(e, json_str(m->key), field_key(e->arena, path, m->key), &key);
        bytes += m->value.count;
    }
    return bytes;
}

static void check_config_map(const struct api_write *w, struct json o, struct field_errors *e)
{
    (void)w;
    struct json data = json_member(o, "data"), binary = json_member(o, "binaryData");
    size_t bytes = check_data(e, data, "data");
    json_each_member (m, data)
        if (json_present(json_member(binary, m->key)))
            field_invalid(e,
                field_key(e->arena, "data", m->key),
                json_str(m->key),
                "duplicate of key present in binaryData");
    bytes += check_data(e, binary, "binaryData") / 4 * 3;
    if (bytes > DATA_MAX)
        field_error_add(e,
            FIELD_TOO_LONG,
            "[]", /* as in the real server */
            json_none,
            arena_printf(e->arena, "may not be more than %d bytes", DATA_MAX));
}

/* An immutable object stays immutable, and so does its data. */
static void check_data_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const parts[] = { "data", "binaryData" };
    if (!json_get_bool(w->old, "immutable", false))
        return;
    if (!json_get_bool(o, "immutable", false))
        field_forbidden(e, "immutable", "field is immutable when `immutable` is set");
    for (size_t i = 0; i < lengthof(parts); i++)
        if (!json_equal(json_member(w->old, parts[i]), json_member(o, parts[i])))
            field_forbidden(e, parts[i], "field is immutable when `immutable` is set");
}

static const struct {
    const char *type, *keys[2];
} secret_keys[] = {
    { "kubernetes.io/dockercfg", { ".dockercfg" } },
    { "kubernetes.io/dockerconfigjson", { ".dockerconfigjson" } },
    { "kubernetes.io/ssh-auth", { "ssh-privatekey" } },
    { "kubernetes.io/tls", { "tls.crt", "tls.key" } },
};

static void check_json_key(struct field_errors *e, struct json data, const char *key)
{
    struct str bytes;
    struct json parsed, text = json_member(data, key);
    struct error err;
    if (text.type != JSON_STR ||
        !base64_decode(e->arena, (struct str){ text.string, text.count }, &bytes))
        return;
    if (!json_parse(e->arena, bytes, &parsed, &err))
        field_invalid(
            e, field_key(e->arena, "data", key), json_str("<secret contents redacted>"), err.text);
}

static void check_secret(const struct api_write *w, struct json o, struct field_errors *e)
{
    (void)w;
    struct json data = json_member(o, "data");
    const char *type = json_get_text(o, "type");
    size_t bytes = check_data(e, data, "data") / 4 * 3;
    if (bytes > DATA_MAX)
        field_error_add(e,
            FIELD_TOO_LONG,
            "data",
            json_none,
            arena_printf(e->arena, "may not be more than %d bytes", DATA_MAX));
    for (size_t i = 0; i < lengthof(secret_keys); i++)
        for (size_t k = 0; k < 2 && text_eq(type, secret_keys[i].type); k++)
            if (secret_keys[i].keys[k] && !json_present(json_member(data, secret_keys[i].keys[k])))
                field_required(e, field_key(e->arena, "data", secret_keys[i].keys[k]), NULL);
    if (text_eq(type, "kubernetes.io/dockerconfigjson"))
        check_json_key(e, data, ".dockerconfigjson");
    if (text_eq(type, "kubernetes.io/dockercfg"))
        check_json_key(e, data, ".dockercfg");
    struct json key = json_member(data, "ssh-privatekey");
    if (text_eq(type, "kubernetes.io/ssh-auth") && json_present(key) && check_is_empty(key))
        field_required(e, "data[ssh-privatekey]", NULL);
    if (text_eq(type, "kubernetes.io/basic-auth") && !json_present(json_member(data, "username")) &&
        !json_present(json_member(data, "password"))) {
        field_required(e, "data[username]", NULL);
        field_required(e, "data[password]", NULL);
    }
    const char *account = json_text(
        json_member(json_get(o, "metadata.annotations"), "kubernetes.io/service-account.name"));
    if (text_eq(type, "kubernetes.io/service-account-token") && text_empty(account))
        field_required(e, "metadata.annotations[kubernetes.io/service-account.name]", NULL);
}

static void check_secret_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    check_immutable(e, json_member(w->old, "type"), json_member(o, "type"), "type");
    check_data_change(w, o, e);
}

static void check_namespace(const struct api_write *w, struct json o, struct field_errors *e)
{
    size_t i = 0;
    json_each (f, json_get(o, "spec.finalizers")) {
        const char *here = "spec.finalizers";
        if (text_eq(w->subresource, "finalize"))
            here = field_index(e->arena, here, i++);
        check_name(e, *f, here, NAME_LABEL_KEY);
        if (!strchr(json_text(*f), '/') && !text_eq(json_text(*f), "kubernetes"))
            field_invalid(
                e, here, *f, "name is neither a standard finalizer name nor is it fully qualified");
    }
}

static bool is_same_taint(struct json a, struct json b)
{
    return json_equal(json_member(a, "key"), json_member(b, "key")) &&
           json_equal(json_member(a, "effect"), json_member(b, "effect"));
}

static void check_taint_once(struct field_errors *e, struct json taints, size_t at)
{
    struct json taint = taints.items[at], value = json_member(taint, "value");
    for (size_t i = 0; i < at; i++)
        if (is_same_taint(taints.items[i], taint)) {
            struct json since = json_member(taint, "timeAdded");
            struct json shown = json_map(e->arena,
                { "Key", json_member(taint, "key") },
                { "Value", json_present(value) ? value : json_str("") },
                { "Effect", json_member(taint, "effect") },
                { "TimeAdded", json_present(since) ? since : json_null() });
            field_error_add(e,
                FIELD_DUPLICATE,
                check_item_path(e->arena, "metadata", "taints", at),
                shown,
                "taints must be unique by key and effect pair");
            return;
        }
}

static void check_taints(struct field_errors *e, struct json taints)
{
    static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute", NULL };
    json_each (taint, taints) {
        size_t i = (size_t)(taint - taints.items);
        const char *here = check_item_path(e->arena, "metadata", "taints", i);
        struct json effect = json_member(*taint, "effect"), value = json_member(*taint, "value");
        check_name(
            e, json_member(*taint, "key"), field_child(e->arena, here, "key"), NAME_LABEL_KEY);
        if (!check_is_empty(value))
            check_label_value(e, value, field_child(e->arena, here, "value"));
        if (check_is_empty(effect))
            field_required(e, field_child(e->arena, here, "effect"), NULL);
        else
            check_enum(e, effect, field_child(e->arena, here, "effect"), effects);
        check_taint_once(e, taints, i);
    }
}

/* Resources that cannot be fractional. */
static bool is_whole(struct arena *a, const char *name)
{
    static const char *const counted[] = { "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports" };
    struct error why;
    for (size_t i = 0; i < lengthof(counted); i++)
        if (text_eq(name, counted[i]))
            return true;
    return strchr(name, '/') && !strstr(name, "kubernetes.io/") &&
           !text_starts(name, "requests.") &&
           name_check(NAME_LABEL_KEY, arena_printf(a, "requests.%s", name), &why);
}

static void check_amounts(struct field_errors *e, struct json o)
{
    static const char *const lists[] = { "status.capacity", "status.allocatable" };
    for (size_t i = 0; i < lengthof(lists); i++)
        json_each_member (m, json_get(o, lists[i])) {
            const char *here = field_child(e->arena, lists[i], m->key);
            struct quantity q;
            check_quantity(e, m->value, here);
            if (is_whole(e->arena, m->key) &&
                quantity_parse(str_of(json_text(m->value)), &q, NULL) &&
                quantity_milli_value(q) != INT64_MAX && quantity_milli_value(q) % 1000)
                field_invalid(e, here, m->value, "must be an integer");
        }
}

void builtin_node_status_check(struct json object, struct field_errors *errors)
{
    struct json addresses = json_get(object, "status.addresses");
    check_amounts(errors, object);
    struct json_index index = json_index_of(errors->arena, addresses, NULL);
    for (size_t i = 0; i < addresses.count; i++) {
        struct json one = addresses.items[i];
        if (json_index_again(&index, (uint32_t)i))
            field_duplicate(errors,
                check_item_path(errors->arena, "status", "addresses", i),
                json_map(errors->arena,
                    { "Type", json_member(one, "type") },
                    { "Address", json_member(one, "address") }));
    }
}

static void check_node(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char path[] = "spec.podCIDRs";
    struct json ranges = json_get(o, path);
    size_t i = 0, wide = 0;
    if (*w->subresource)
        return;
    check_taints(e, json_get(o, "spec.taints"));
    if (!json_present(w->old))
        check_amounts(e, o);
    size_t before = e->count;
    json_each (range, ranges) {
        check_cidr(e, *range, field_index(e->arena, path, i++));
        wide += strchr(json_text(*range) ? json_text(*range) : "", ':') != NULL;
    }
    if (ranges.count > 1 && e->count == before && (ranges.count > 2 || wide != 1))
        field_invalid(e, path, ranges, "may specify no more than one CIDR for each IP family");
}

/* Fields of a node that cannot be changed once they are set. */
static void check_node_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json old = json_get(w->old, "spec.podCIDRs"), fresh = json_get(o, "spec.podCIDRs"),
                id = json_get(w->old, "spec.providerID");
    size_t changed = old.count && old.count != fresh.count;
    for (size_t i = 0; i < old.count && old.count == fresh.count; i++)
        changed += !json_equal(old.items[i], fresh.items[i]);
    for (size_t i = 0; i < changed; i++)
        field_forbidden(
            e, "spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid");
    if (!check_is_empty(id) && !json_equal(id, json_get(o, "spec.providerID")))
        field_forbidden(e,
            "spec.providerID",
            "node updates may not change providerID except from \"\" to valid");
    check_taints(e, json_get(o, "spec.taints"));
}

static const char *const secret_fields[] = { "type", NULL };
static const char *const namespace_fields[] = { "status.phase", NULL };
static const char *const node_fields[] = { "spec.unschedulable", NULL };

const struct builtin_rules builtin_config_map = {
    .validate = check_config_map,
    .validate_change = check_data_change,
};
/* A TLS Secret whose certificate and key are invalid. */
static void warn_secret(const struct api_write *w, struct json o)
{
    static const struct {
        const char *key, *words;
    } parts[] = {
        { "tls.crt", "tls: failed to find any PEM data in certificate input" },
        { "tls.key", "tls: failed to find any PEM data in key input" },
    };
    if (!text_eq(json_get_text(o, "type"), "kubernetes.io/tls"))
        return;
    for (size_t i = 0; i < lengthof(parts); i++) {
        struct json text = json_member(json_member(o, "data"), parts[i].key);
        struct str bytes = { NULL, 0 };
        if (text.type == JSON_STR &&
            base64_decode(w->arena, (struct str){ text.string, text.count }, &bytes) &&
            memmem(bytes.ptr, bytes.len, "-----BEGIN ", 11))
            continue;
        call_warn(w->call, parts[i].words);
        return;
    }
}

const struct builtin_rules builtin_secret = {
    .warn = warn_secret,
    .fill = fill_secret,
    .validate = check_secret,
    .validate_change = check_secret_change,
    .fields = secret_fields,
};
const struct builtin_rules builtin_service_account = { 0 };

const struct builtin_rules builtin_namespace = {
    .fill = fill_namespace,
    .prepare = prepare_namespace,
    .validate = check_namespace,
    .admit = pod_security_admit_namespace,
    .fields = namespace_fields,
};
const struct builtin_rules builtin_node = {
    .fill = fill_node,
    .prepare = prepare_node,
    .keeps_status = true,
    .validate = check_node,
    .validate_change = check_node_change,
    .warn = warn_node,
    .fields = node_fields,
};
