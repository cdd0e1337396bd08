/* Validates ResourceQuotas. They are enforced in controllers/quota.c. */

#include "apiserver/builtin/rules.h"
#include "apiserver/controllers/quota.h"
#include "apiserver/rules/check.h"
#include "base/quantity.h"

/* The resource names without a '/' that can be limited, and their properties. */
enum { COUNT = 1, POD = 2, COMPUTE = 4, CLAIM = 8 };
static const struct {
    const char *name;
    unsigned is;
} standard[] = {
    { "cpu", COMPUTE },
    { "memory", COMPUTE },
    { "ephemeral-storage", 0 },
    { "requests.cpu", COMPUTE },
    { "requests.memory", COMPUTE },
    { "requests.storage", CLAIM },
    { "requests.ephemeral-storage", 0 },
    { "limits.cpu", COMPUTE },
    { "limits.memory", COMPUTE },
    { "limits.ephemeral-storage", 0 },
    { "pods", COUNT | POD },
    { "resourcequotas", COUNT },
    { "services", COUNT },
    { "replicationcontrollers", COUNT },
    { "secrets", COUNT },
    { "configmaps", COUNT },
    { "persistentvolumeclaims", COUNT | CLAIM },
    { "services.nodeports", COUNT },
    { "services.loadbalancers", COUNT },
};

/* Scopes, and the standard resources that they support. */
static const struct scope {
    const char *name;
    unsigned of;
    bool exists; /* supports only the operator Exists */
} scopes[] = {
    { "Terminating", POD | COMPUTE, true },
    { "NotTerminating", POD | COMPUTE, true },
    { "BestEffort", POD, true },
    { "NotBestEffort", POD | COMPUTE, true },
    { "CrossNamespacePodAffinity", POD | COMPUTE, true },
    { "PriorityClass", POD | COMPUTE, false },
    { "VolumeAttributesClass", CLAIM, false },
};

static bool is_standard(const char *name, unsigned *ret)
{
    *ret = 0;
    for (size_t i = 0; i < lengthof(standard); i++)
        if (text_eq(standard[i].name, name)) {
            *ret = standard[i].is;
            return true;
        }
    return text_starts(name, "hugepages-") || text_starts(name, "requests.hugepages-");
}

static const struct scope *scope_of(struct json name)
{
    for (size_t i = 0; i < lengthof(scopes); i++)
        if (text_eq(scopes[i].name, json_text(name)))
            return &scopes[i];
    return NULL;
}

static void check_amounts(struct field_errors *e, struct json amounts, const char *path)
{
    json_each_member (m, amounts) {
        const char *here = field_key(e->arena, path, m->key);
        struct json name = json_str(m->key);
        struct quantity q;
        unsigned is;
        size_t before = e->count;
        check_name(e, name, here, NAME_LABEL_KEY);
        bool known = is_standard(m->key, &is) || strchr(m->key, '/');
        if (!known && e->count == before && !text_eq(m->key, "storage"))
            field_invalid(e, here, name, "must be a standard resource type or fully qualified");
        if (!known)
            field_invalid(e, here, name, "must be a standard resource for quota");
        check_quantity(e, m->value, here);
        if ((is & COUNT) && quantity_parse(str_of(json_text(m->value)), &q, NULL) &&
            quantity_milli_value(q) != INT64_MAX && quantity_milli_value(q) % 1000)
            field_invalid(e, here, m->value, "must be an integer");
    }
}

/* A scope in `scopes` or in the selector; wrong: the value shown in messages. */
static void check_scope(struct field_errors *e, struct json spec, struct json name,
    struct json wrong, const char *path, const char *name_path)
{
    const struct scope *scope = scope_of(name);
    unsigned is;
    if (!scope)
        field_invalid(e, name_path, text_eq(path, name_path) ? wrong : name, "unsupported scope");
    json_each_member (m, json_member(spec, "hard"))
        if (scope && is_standard(m->key, &is) && !(is & scope->of))
            field_invalid(e, path, wrong, "unsupported scope applied to resource");
}

static void check_pairs(
    struct field_errors *e, struct json names, struct json wrong, const char *path)
{
    static const char *const pairs[][2] = {
        { "BestEffort", "NotBestEffort" },
        { "Terminating", "NotTerminating" },
    };
    for (size_t i = 0; i < lengthof(pairs); i++)
        if (json_list_has(names, pairs[i][0]) && json_list_has(names, pairs[i][1]))
            field_invalid(e, path, wrong, "conflicting scopes");
}

static void check_operator(struct field_errors *e, struct json x, const char *path)
{
    struct json given = json_member(x, "operator"), values = json_member(x, "values");
    const struct scope *scope = scope_of(json_member(x, "scopeName"));
    const char *op = json_text(given), *values_path = field_child(e->arena, path, "values");
    const char *operator_path = field_child(e->arena, path, "operator");
    if (scope && scope->exists && !text_eq(op, "Exists"))
        field_invalid(e,
            operator_path,
            given,
            "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
            "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
            "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity");
    if (text_eq(op, "In") || text_eq(op, "NotIn")) {
        if (!values.count)
            field_required(e,
                values_path,
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope "
                "selector");
    } else if (text_eq(op, "Exists") || text_eq(op, "DoesNotExist")) {
        if (values.count)
            field_invalid(e,
                values_path,
                values,
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope "
                "selector");
    } else {
        field_invalid(e, operator_path, given, "not a valid selector operator");
    }
}

void builtin_quota_status_check(struct json object, struct field_errors *e)
{
    check_amounts(e, json_get(object, "status.hard"), "status.hard");
    check_amounts(e, json_get(object, "status.used"), "status.used");
}

static void check_quota(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json spec = json_member(o, "spec"), names = json_member(spec, "scopes"),
                selector = json_member(spec, "scopeSelector");
    (void)w;
    check_amounts(e, json_member(spec, "hard"), "spec.hard");
    json_each (name, names)
        check_scope(e, spec, *name, names, "spec.scopes", "spec.scopes");
    check_pairs(e, names, names, "spec.scopes");
    if (!json_is(selector, JSON_MAP))
        return;
    static const char path[] = "spec.scopeSelector.matchExpressions";
    struct json_builder selected;
    json_builder_init(&selected, e->arena);
    json_each (x, json_member(selector, "matchExpressions")) {
        struct json name = json_member(*x, "scopeName");
        check_scope(e, spec, name, selector, path, "spec.scopeSelector.matchExpressions.scopeName");
        check_operator(e, *x, path);
        json_push(&selected, name);
    }
    check_pairs(e, json_list_end(&selected), json_present(names) ? names : json_null(), path);
}

static void check_quota_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json old = json_get(w->old, "spec.scopes"), now = json_get(o, "spec.scopes");
    bool same = true;
    json_each (name, old)
        same = same && json_list_has(now, json_text(*name));
    json_each (name, now)
        same = same && json_list_has(old, json_text(*name));
    if (!same)
        field_invalid(e, "spec.scopes", now, "field is immutable");
}

const struct builtin_rules builtin_resource_quota = {
    .warn = quota_warn,
    .validate = check_quota,
    .validate_change = check_quota_change,
};
