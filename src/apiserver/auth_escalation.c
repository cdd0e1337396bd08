/* Nobody gives rights away that they do not have themselves. */

#include "apiserver/auth.h"
#include "apiserver/auth_internal.h"
#include "base/buf.h"

#define GROUP "rbac.authorization.k8s.io"

static bool may(struct auth *auth, const struct api_write *w, const char *verb,
    const char *resource, const char *namespace, const char *name)
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
            .namespace = namespace,
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
    const char *namespace, struct json wanted, struct api_answer *ret)
{
    struct json held = rbac_rules_of(auth->rbac, w->arena, w->user, namespace);
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

static bool check_role(
    struct auth *auth, const struct api_write *w, struct json object, struct api_answer *ret)
{
    const char *namespace = json_get_text(object, "metadata.namespace");
    struct json rules = json_member(object, "rules");
    struct json aggregation = json_member(object, "aggregationRule");
    namespace = namespace ? namespace : "";
    if (json_equal(rules, json_member(w->old, "rules")) &&
        json_equal(aggregation, json_member(w->old, "aggregationRule")) && json_present(w->old))
        return true;
    if (may(auth,
            w,
            "escalate",
            w->kind->resource.plural,
            namespace,
            json_get_text(object, "metadata.name")))
        return true;
    if (json_present(aggregation) &&
        !json_equal(aggregation, json_member(w->old, "aggregationRule"))) {
        struct json all = json_list(w->arena,
            json_map(w->arena,
                { "verbs", json_list(w->arena, json_str("*")) },
                { "apiGroups", json_list(w->arena, json_str("*")) },
                { "resources", json_list(w->arena, json_str("*")) }));
        if (rbac_missing(w->arena, rbac_rules_of(auth->rbac, w->arena, w->user, ""), all))
            return refuse(
                w, object, "must have cluster-admin privileges to use the aggregationRule", ret);
    }
    return holds_all(auth, w, object, namespace, rules, ret);
}

static bool check_binding(
    struct auth *auth, const struct api_write *w, struct json object, struct api_answer *ret)
{
    const char *namespace = json_get_text(object, "metadata.namespace");
    struct json ref = json_member(object, "roleRef"), rules;
    const char *role = json_get_text(ref, "name");
    const char *kind = json_get_text(ref, "kind");
    bool local = text_eq(kind, "Role");
    namespace = namespace ? namespace : "";
    if (json_present(w->old) && json_equal(ref, json_member(w->old, "roleRef")) &&
        json_equal(json_member(object, "subjects"), json_member(w->old, "subjects")))
        return true;
    if (!local && !text_eq(kind, "ClusterRole")) {
        const char *words =
            arena_printf(w->arena, "unsupported role reference kind: \"%s\"", kind ? kind : "");
        answer_status(w->arena, ret, 500, "", words, (struct json){ 0 });
        return false;
    }
    if (may(auth, w, "bind", local ? "roles" : "clusterroles", namespace, role))
        return true;
    if (!rbac_rules_of_ref(auth->rbac, w->arena, namespace, ref, &rules)) {
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
    return holds_all(auth, w, object, namespace, rules, ret);
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
