/* Users cannot grant rights that they do not have. */

#include "apiserver/access/auth.h"
#include "apiserver/access/auth_internal.h"
#include "base/buf.h"

#define GROUP "rbac.authorization.k8s.io"

static bool may(struct auth *auth, const struct api_write *w, const char *verb,
    const char *resource, const char *ns, const char *name)
{
    return auth_allows(auth,
        w->arena,
        w->user,
        &(struct auth_request){
            .verb = verb,
            .group = GROUP,
            .version = "v1",
            .resource = resource,
            .subresource = "",
            .ns = ns,
            .name = name,
        },
        NULL);
}

static bool refuse(
    const struct api_write *w, struct json object, const char *why, struct api_answer *ret)
{
    const char *plural = w->kind->resource.plural, *name = json_get_text(object, "metadata.name");
    answer_status(w->arena,
        ret,
        403,
        "Forbidden",
        arena_printf(w->arena, "%s." GROUP " \"%s\" is forbidden: %s", plural, name, why),
        json_map(w->arena,
            { "name", json_str(name) },
            { "group", json_str(GROUP) },
            { "kind", json_str(plural) }));
    return false;
}

static const char *user_text(struct arena *a, const struct api_user *user)
{
    cleanup(buf_done) struct buf groups = BUF_INIT(65536);
    for (const char *const *g = user->groups; g && *g; g++)
        buf_printf(&groups, "%s\"%s\"", groups.len ? " " : "", *g);
    return arena_printf(a, "user \"%s\" (groups=[%s])", user->name, buf_text(&groups));
}

static bool holds_all(struct auth *auth, const struct api_write *w, struct json object,
    const char *ns, struct json wanted, struct api_answer *ret)
{
    struct json held = rbac_rules_of(auth->rbac, w->arena, w->user, ns);
    const char *missing = rbac_missing(w->arena, held, wanted);
    if (!missing)
        return true;
    return refuse(w,
        object,
        arena_printf(w->arena,
            "%s is attempting to grant RBAC permissions not currently held:%s",
            user_text(w->arena, w->user),
            missing),
        ret);
}

/* Whether an update changes only fields for garbage collection and field ownership. All others
 * count, including labels: a label decides which aggregated roles include the rules. */
static bool is_only_bookkeeping(const struct api_write *w, struct json object)
{
    static const char *const free_fields[] = { "metadata.ownerReferences",
        "metadata.finalizers",
        "metadata.managedFields",
        "metadata.resourceVersion",
        "metadata.generation" };
    struct json before = w->old;
    if (!json_present(before))
        return false;
    for (size_t i = 0; i < lengthof(free_fields); i++) {
        before = json_with(w->arena, before, free_fields[i], json_none);
        object = json_with(w->arena, object, free_fields[i], json_none);
    }
    return json_equal(before, object);
}

/* An aggregated role includes the rules of roles that get the label later, so only a user with all
 * rights may write it. */
static bool holds_everything(struct auth *auth, const struct api_write *w)
{
    struct arena *a = w->arena;
    struct json any = json_list(a, json_str("*"));
    struct json all = json_list(a,
        json_map(a, { "verbs", any }, { "apiGroups", any }, { "resources", any }),
        json_map(a, { "verbs", any }, { "nonResourceURLs", any }));
    return !rbac_missing(a, rbac_rules_of(auth->rbac, a, w->user, ""), all);
}

static bool check_role(
    struct auth *auth, const struct api_write *w, struct json object, struct api_answer *ret)
{
    const char *ns = json_get_text(object, "metadata.namespace");
    const char *name = json_get_text(object, "metadata.name");
    ns = ns ? ns : "";
    if (is_only_bookkeeping(w, object) ||
        may(auth, w, "escalate", w->kind->resource.plural, ns, name))
        return true;
    if (!holds_all(auth, w, object, ns, json_member(object, "rules"), ret))
        return false;
    bool aggregates = json_present(json_member(object, "aggregationRule")) ||
                      json_present(json_member(w->old, "aggregationRule"));
    return !aggregates || holds_everything(auth, w) ||
           refuse(w, object, "must have cluster-admin privileges to use the aggregationRule", ret);
}

static bool check_binding(
    struct auth *auth, const struct api_write *w, struct json object, struct api_answer *ret)
{
    const char *ns = json_get_text(object, "metadata.namespace");
    struct json ref = json_member(object, "roleRef"), rules;
    const char *role = json_get_text(ref, "name");
    const char *kind = json_get_text(ref, "kind");
    bool local = text_eq(kind, "Role");
    ns = ns ? ns : "";
    if (is_only_bookkeeping(w, object))
        return true;
    if (!local && !text_eq(kind, "ClusterRole")) {
        const char *words =
            arena_printf(w->arena, "unsupported role reference kind: \"%s\"", kind ? kind : "");
        answer_status(w->arena, ret, 500, "", words, json_none);
        return false;
    }
    if (may(auth, w, "bind", local ? "roles" : "clusterroles", ns, role))
        return true;
    if (!rbac_rules_of_ref(auth->rbac, w->arena, ns, ref, &rules)) {
        const char *plural = w->kind->resource.plural;
        answer_status(w->arena,
            ret,
            404,
            "NotFound",
            arena_printf(w->arena, "%s." GROUP " \"%s\" not found", plural, role),
            json_map(w->arena,
                { "name", json_str(role) },
                { "group", json_str(GROUP) },
                { "kind", json_str(plural) }));
        return false;
    }
    return holds_all(auth, w, object, ns, rules, ret);
}

bool auth_check_escalation(
    struct auth *auth, const struct api_write *w, struct json object, struct api_answer *ret_answer)
{
    if (!w->user || !text_eq(w->kind->resource.group, GROUP) || auth->allow_all ||
        auth_is_master(w->user))
        return true;
    return text_ends(w->kind->resource.plural, "bindings")
               ? check_binding(auth, w, object, ret_answer)
               : check_role(auth, w, object, ret_answer);
}
