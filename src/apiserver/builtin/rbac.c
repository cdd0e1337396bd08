/* Roles and their bindings. */

#include "apiserver/builtin/rules.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"

static struct json fill_subject(struct arena *a, struct json subject)
{
    const char *kind = json_get_text(subject, "kind");
    bool named = text_eq(kind, "User") || text_eq(kind, "Group");
    return named ? fill_path(a, subject, "apiGroup", json_str("rbac.authorization.k8s.io"))
                 : subject;
}

static struct json fill_binding(struct arena *a, struct json o)
{
    if (text_empty(json_get_text(o, "roleRef.apiGroup")))
        o = json_with(a, o, "roleRef.apiGroup", json_str("rbac.authorization.k8s.io"));
    return fill_each(a, o, "subjects.*", fill_subject);
}

static bool is_cluster_wide(const struct api_write *w)
{
    return w->kind->resource.cluster_scoped;
}

static void check_rule(
    const struct api_write *w, struct json rule, const char *path, struct field_errors *e)
{
    struct arena *a = e->arena;
    size_t urls = json_member(rule, "nonResourceURLs").count;
    if (!json_member(rule, "verbs").count)
        field_required(e, field_child(a, path, "verbs"), "verbs must contain at least one value");
    if (urls) {
        const char *here = field_child(a, path, "nonResourceURLs");
        if (!is_cluster_wide(w))
            field_invalid(e,
                here,
                json_member(rule, "nonResourceURLs"),
                "namespaced rules cannot apply to non-resource URLs");
        if (json_member(rule, "apiGroups").count || json_member(rule, "resources").count ||
            json_member(rule, "resourceNames").count)
            field_invalid(e,
                here,
                json_member(rule, "nonResourceURLs"),
                "rules cannot apply to both regular resources and non-resource URLs");
        return;
    }
    if (!json_member(rule, "apiGroups").count)
        field_required(e,
            field_child(a, path, "apiGroups"),
            "resource rules must supply at least one api group");
    if (!json_member(rule, "resources").count)
        field_required(e,
            field_child(a, path, "resources"),
            "resource rules must supply at least one resource");
}

static void check_role(const struct api_write *w, struct json o, struct field_errors *e)
{
    size_t i = 0;
    json_each (rule, json_member(o, "rules"))
        check_rule(w, *rule, check_item_path(e->arena, "", "rules", i++), e);
    struct json aggregation = json_member(o, "aggregationRule"),
                selectors = json_member(aggregation, "clusterRoleSelectors");
    if (json_present(aggregation) && !selectors.count)
        field_required(e,
            "aggregationRule.clusterRoleSelectors",
            "at least one clusterRoleSelector required if aggregationRule is non-nil");
    for (size_t j = 0; j < selectors.count; j++) {
        const char *here = check_item_path(e->arena, "aggregationRule", "clusterRoleSelectors", j);
        size_t before = e->count;
        check_selector(e, selectors.items[j], here);
        if (e->count > before)
            field_invalid(e, here, json_null(), "invalid label selector.");
    }
}

static void check_subject(
    const struct api_write *w, struct json subject, const char *path, struct field_errors *e)
{
    static const char *const kinds[] = { "ServiceAccount", "User", "Group", NULL };
    static const char *const groups[] = { "rbac.authorization.k8s.io", NULL };
    static const char *const core[] = { "", NULL };
    struct arena *a = e->arena;
    struct json kind = json_member(subject, "kind"), group = json_member(subject, "apiGroup");
    struct json group_text = json_present(group) ? group : json_str("");
    if (check_is_empty(json_member(subject, "name")))
        field_required(e, field_child(a, path, "name"), NULL);
    if (text_eq(json_text(kind), "ServiceAccount")) {
        if (!check_is_empty(json_member(subject, "name")))
            check_name(e,
                json_member(subject, "name"),
                field_child(a, path, "name"),
                NAME_DNS1123_SUBDOMAIN);
        if (!check_is_empty(group))
            field_not_supported(e, field_child(a, path, "apiGroup"), group, core);
        if (is_cluster_wide(w) && check_is_empty(json_member(subject, "namespace")))
            field_required(e, field_child(a, path, "namespace"), NULL);
    } else if (text_eq(json_text(kind), "User") || text_eq(json_text(kind), "Group")) {
        check_enum(e, group_text, field_child(a, path, "apiGroup"), groups);
    } else {
        check_enum(e, kind, field_child(a, path, "kind"), kinds);
    }
}

static void check_binding(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const groups[] = { "rbac.authorization.k8s.io", NULL };
    static const char *const kinds[] = { "Role", "ClusterRole", NULL };
    static const char *const cluster_kinds[] = { "ClusterRole", NULL };
    check_enum(e, json_get(o, "roleRef.apiGroup"), "roleRef.apiGroup", groups);
    check_enum(
        e, json_get(o, "roleRef.kind"), "roleRef.kind", is_cluster_wide(w) ? cluster_kinds : kinds);
    struct json name = json_get(o, "roleRef.name");
    if (check_is_empty(name))
        field_required(e, "roleRef.name", NULL);
    else
        check_segment(e, name, "roleRef.name", json_text(name));
    size_t i = 0;
    json_each (subject, json_member(o, "subjects"))
        check_subject(w, *subject, check_item_path(e->arena, "", "subjects", i++), e);
}

static void check_binding_change(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json fresh = json_member(o, "roleRef");
    if (!json_equal(json_member(w->old, "roleRef"), fresh))
        field_invalid(e, "roleRef", fresh, "cannot change roleRef");
}

const struct builtin_rules builtin_role = { .validate = check_role };
const struct builtin_rules builtin_binding = {
    .fill = fill_binding,
    .validate = check_binding,
    .validate_change = check_binding_change,
};
