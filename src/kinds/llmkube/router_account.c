/* A router in front of a ModelPool needs permissions to request members by their replicas. */

#include "kinds/llmkube/router.h"

#define RBAC "rbac.authorization.k8s.io"

const struct resource ROUTER_ROLE = {
    .group = RBAC,
    .version = "v1",
    .kind = "Role",
    .plural = "roles",
};
const struct resource ROUTER_ROLE_BINDING = {
    .group = RBAC,
    .version = "v1",
    .kind = "RoleBinding",
    .plural = "rolebindings",
};

const struct kind_grant router_grants[] = {
    { .group = "inference.llmkube.dev",
        .what = "inferenceservices",
        .verbs = "get list watch patch" },
    { .group = "inference.llmkube.dev", .what = "modelpools", .verbs = "get list watch" },
    { 0 },
};

static struct json words(struct arena *a, const char *text)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (struct str rest = str_of(text); rest.ptr;) {
        struct str word = str_cut(&rest, ' ');
        json_push(&b, json_strn(a, word.ptr, word.len));
    }
    return json_list_end(&b);
}

static struct json rules_of(struct arena *a)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (const struct kind_grant *g = router_grants; g->what; g++)
        json_push(&b,
            json_fields(a,
                { "apiGroups", json_list(a, json_str(g->group)) },
                { "resources", words(a, g->what) },
                { "verbs", words(a, g->verbs) }));
    return json_list_end(&b);
}

void router_account_plan(struct router *r, struct json labels)
{
    struct arena *a = r->arena;
    struct json subject = json_fields(a,
        { "kind", json_str("ServiceAccount") },
        { "name", json_str(r->child) },
        { "namespace", json_str(r->ns) });
    router_child(r,
        &RESOURCE_SERVICE_ACCOUNT,
        json_fields(a, { "metadata.name", json_str(r->child) }, { "metadata.labels", labels }));
    router_child(r,
        &ROUTER_ROLE,
        json_fields(a,
            { "metadata.name", json_str(r->child) },
            { "metadata.labels", labels },
            { "rules", rules_of(a) }));
    router_child(r,
        &ROUTER_ROLE_BINDING,
        json_fields(a,
            { "metadata.name", json_str(r->child) },
            { "metadata.labels", labels },
            { "roleRef.apiGroup", json_str(RBAC) },
            { "roleRef.kind", json_str("Role") },
            { "roleRef.name", json_str(r->child) },
            { "subjects", json_list(a, subject) }));
    plan_after(r->out, &ROUTER_ROLE, r->child);
}
