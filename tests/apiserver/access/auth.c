#include "apiserver/access/auth.h"

#include "apiserver/store/store.h"
#include "base/buf.h"
#include "tests/test.h"

/* An API server with the built-in kinds and RBAC, and a clock that the test moves. */
struct gate {
    int64_t now_ms;
    uint64_t seed;
    struct timers timers;
    struct env env;
    struct store *store;
    struct apiserver *server;
    int status;
    struct buf text;
};

static int64_t gate_now(void *ctx)
{
    return ((struct gate *)ctx)->now_ms;
}
static uint64_t gate_random(void *ctx)
{
    return ((struct gate *)ctx)->seed += 0x9e3779b97f4a7c15;
}

static void gate_init(struct gate *g)
{
    struct error err;
    *g = (struct gate){ .now_ms = (int64_t)1800000000 * 1000 };
    g->env = (struct env){ gate_now, gate_now, gate_random, g, &g->timers };
    buf_init(&g->text, (size_t)1 << 22);
    g->store = store_new(&g->env, &(struct store_options){ 0 }, &err);
    g->server = apiserver_new(
        &(struct apiserver_options){
            .env = &g->env,
            .store = g->store,
            .token_key = STR("thirty-two bytes that nobody knows"),
        },
        &err);
    check(g->server);
    while (apiserver_is_pending(g->server))
        apiserver_flush(g->server);
}

static void gate_done(struct gate *g)
{
    apiserver_free(g->server);
    store_free(g->store);
    timers_done(&g->timers);
    buf_done(&g->text);
}

static void on_head(void *ctx, const struct api_head *head)
{
    ((struct gate *)ctx)->status = head->status;
}
static bool on_data(void *ctx, struct str bytes)
{
    buf_add(&((struct gate *)ctx)->text, bytes.ptr, bytes.len);
    return true;
}
static void on_end(void *ctx)
{
    (void)ctx;
}

static const char *const masters[] = { "system:masters", "system:authenticated", NULL };
static const char *const plain[] = { "system:authenticated", NULL };
static const struct api_user admin = { .name = "admin", .uid = "", .groups = masters };
static const struct api_user bob = { .name = "bob", .uid = "", .groups = plain };

static struct json ask(struct gate *g, const struct api_user *user, const char *method,
    const char *path, const char *body, const char *as)
{
    static const struct api_handlers handlers = { on_head, on_data, on_end };
    const struct api_header impersonate[] = { { "Impersonate-User", as }, { 0 } };
    struct json v = { 0 };
    const struct api_request r = {
        .method = method,
        .path = str_of(path),
        .content_type = "application/json",
        .body = body ? str_of(json_to_text(test_arena(), test_json(body))) : (struct str){ 0 },
        .user = user,
        .impersonate = as ? impersonate : NULL,
    };
    buf_reset(&g->text);
    apiserver_open(g->server, &r, &handlers, g);
    while (apiserver_is_pending(g->server))
        apiserver_flush(g->server);
    struct error err;
    return json_if(json_parse(test_arena(), buf_str(&g->text), &v, &err), v);
}

#define ROLES "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
#define BINDINGS "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
#define MAPS "/api/v1/namespaces/default/configmaps"

static void bind_bob(struct gate *g, const char *rules)
{
    ask(g,
        &admin,
        "POST",
        ROLES,
        arena_printf(test_arena(), "{'metadata':{'name':'r'},'rules':[%s]}", rules),
        NULL);
    check_int(g->status, 201);
    ask(g,
        &admin,
        "POST",
        BINDINGS,
        "{'metadata':{'name':'b'},'roleRef':{'apiGroup':'rbac.authorization.k8s.io','kind':'Role',"
        "'name':'r'},'subjects':[{'kind':'User','apiGroup':'rbac.authorization.k8s.io',"
        "'name':'bob'}]}",
        NULL);
    check_int(g->status, 201);
}

TEST(who_has_no_right_is_told_which)
{
    struct gate g;
    gate_init(&g);
    struct json v = ask(&g, &bob, "GET", MAPS, NULL, NULL);
    check_int(g.status, 403);
    check_text(json_get_text(v, "message"),
        "configmaps is forbidden: User \"bob\" cannot list resource \"configmaps\" in API group "
        "\"\" in the namespace \"default\"");
    bind_bob(&g, "{'verbs':['list'],'apiGroups':[''],'resources':['configmaps']}");
    ask(&g, &bob, "GET", MAPS, NULL, NULL);
    check_int(g.status, 200);
    ask(&g, &bob, "GET", MAPS "/x", NULL, NULL);
    check_int(g.status, 403);
    ask(&g, &admin, "DELETE", BINDINGS "/b", NULL, NULL);
    ask(&g, &bob, "GET", MAPS, NULL, NULL);
    check_int(g.status, 403);
    gate_done(&g);
}

TEST(nobody_gives_away_what_they_do_not_have)
{
    struct gate g;
    gate_init(&g);
    bind_bob(
        &g, "{'verbs':['create'],'apiGroups':['rbac.authorization.k8s.io'],'resources':['roles']}");
    struct json v = ask(&g,
        &bob,
        "POST",
        ROLES,
        "{'metadata':{'name':'s'},'rules':[{'verbs':['get'],'apiGroups':[''],"
        "'resources':['secrets']}]}",
        NULL);
    check_int(g.status, 403);
    check_text(json_get_text(v, "message"),
        "roles.rbac.authorization.k8s.io \"s\" is forbidden: user \"bob\" "
        "(groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently "
        "held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}");
    gate_done(&g);
}

TEST(a_token_ends_with_its_time_and_its_account)
{
    struct gate g;
    gate_init(&g);
    static const char account[] = "/api/v1/namespaces/default/serviceaccounts";
    ask(&g, &admin, "POST", account, "{'metadata':{'name':'a'}}", NULL);
    struct json v =
        ask(&g, &admin, "POST", "/api/v1/namespaces/default/serviceaccounts/a/token", "{}", NULL);
    check_int(g.status, 201);
    struct auth *auth = apiserver_auth(g.server);
    const struct auth_credentials c = { .bearer = str_of(json_get_text(v, "status.token")) };
    struct api_user user;
    struct error err;
    check(auth_authenticate(auth, test_arena(), &c, &user, &err));
    check_text(user.name, "system:serviceaccount:default:a");
    g.now_ms += 3601 * 1000;
    check(!auth_authenticate(auth, test_arena(), &c, &user, &err));
    g.now_ms -= 3601 * 1000;
    check(auth_authenticate(auth, test_arena(), &c, &user, &err));
    ask(&g, &admin, "DELETE", "/api/v1/namespaces/default/serviceaccounts/a", NULL, NULL);
    check(!auth_authenticate(auth, test_arena(), &c, &user, &err));
    const struct auth_credentials none = { 0 };
    check(auth_authenticate(auth, test_arena(), &none, &user, &err));
    check_text(user.name, "system:anonymous");
    gate_done(&g);
}

TEST(a_master_may_ask_in_the_place_of_others_and_bob_may_not)
{
    struct gate g;
    gate_init(&g);
    static const char self[] = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    struct json v = ask(&g, &admin, "POST", self, "{}", "carl");
    check_int(g.status, 201);
    check_text(json_get_text(v, "status.userInfo.username"), "carl");
    check_text(json_get_text(v, "status.userInfo.groups.0"), "system:authenticated");
    v = ask(&g, &bob, "GET", MAPS, NULL, "carl");
    check_int(g.status, 403);
    check_text(json_get_text(v, "message"),
        "configmaps is forbidden: User \"bob\" cannot impersonate-on:user-info:list resource "
        "\"configmaps\" in API group \"\" in the namespace \"default\"");
    gate_done(&g);
}

TEST(an_aggregated_role_follows_the_roles_that_it_selects)
{
    struct gate g;
    gate_init(&g);
#define CLUSTER_ROLES "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    ask(&g,
        &admin,
        "POST",
        CLUSTER_ROLES,
        "{'metadata':{'name':'all'},'aggregationRule':{'clusterRoleSelectors':"
        "[{'matchLabels':{'x':'y'}}]},'rules':[]}",
        NULL);
    ask(&g,
        &admin,
        "POST",
        CLUSTER_ROLES,
        "{'metadata':{'name':'part','labels':{'x':'y'}},'rules':[{'verbs':['get'],"
        "'apiGroups':['q'],'resources':['r']}]}",
        NULL);
    check_int(g.status, 201);
    struct json v = ask(&g, &admin, "GET", CLUSTER_ROLES "/all", NULL, NULL);
    check_text(json_get_text(v, "rules.0.apiGroups.0"), "q");
    ask(&g, &admin, "DELETE", CLUSTER_ROLES "/part", NULL, NULL);
    v = ask(&g, &admin, "GET", CLUSTER_ROLES "/all", NULL, NULL);
    check(json_get(v, "rules").count == 0);
    gate_done(&g);
}

/* ---- fail closed ---- */

static struct json ask_as(struct gate *g, const struct api_header *impersonate)
{
    static const struct api_handlers handlers = { on_head, on_data, on_end };
    struct json v = { 0 };
    struct error err;
    const struct api_request r = {
        .method = "POST",
        .path = STR("/apis/authentication.k8s.io/v1/selfsubjectreviews"),
        .content_type = "application/json",
        .body = STR("{}"),
        .user = &admin,
        .impersonate = impersonate,
    };
    buf_reset(&g->text);
    apiserver_open(g->server, &r, &handlers, g);
    while (apiserver_is_pending(g->server))
        apiserver_flush(g->server);
    return json_if(json_parse(test_arena(), buf_str(&g->text), &v, &err), v);
}

TEST(impersonation_that_is_not_understood_does_not_run_as_the_caller)
{
    struct gate g;
    struct api_header many[102] = { 0 };
    gate_init(&g);
    for (size_t i = 0; i < 100; i++)
        many[i] = (struct api_header){ "Impersonate-Group", "" };
    many[100] = (struct api_header){ "Impersonate-User", "carl" };
    struct json v = ask_as(&g, many);
    check_int(g.status, 400);
    check_text(json_get_text(v, "message"), "the request has more than 64 Impersonate-* headers");
    const struct api_header unknown[] = { { "Impersonate-Role", "" }, { 0 } };
    v = ask_as(&g, unknown);
    check_int(g.status, 400);
    check(strstr(json_get_text(v, "message"), "Impersonate-Role is not known"));
    const struct api_header empty[] = { { "Impersonate-User", "" }, { 0 } };
    ask_as(&g, empty);
    check_int(g.status, 400);
    const struct api_header twice[] = {
        { "Impersonate-User", "a" }, { "impersonate-user", "b" }, { 0 }
    };
    ask_as(&g, twice);
    check_int(g.status, 400);
    gate_done(&g);
}

/* Bob may read and patch roles and bindings, and nothing else. */
static void let_bob_patch_rbac(struct gate *g)
{
    ask(g,
        &admin,
        "POST",
        CLUSTER_ROLES,
        "{'metadata':{'name':'patcher'},'rules':[{'verbs':['get','patch','create'],"
        "'apiGroups':['rbac.authorization.k8s.io'],'resources':['*']}]}",
        NULL);
    ask(g,
        &admin,
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        "{'metadata':{'name':'b'},'roleRef':{'apiGroup':'rbac.authorization.k8s.io',"
        "'kind':'ClusterRole','name':'patcher'},'subjects':[{'kind':'User',"
        "'apiGroup':'rbac.authorization.k8s.io','name':'bob'}]}",
        NULL);
    check_int(g->status, 201);
}

static int patch_by_bob(struct gate *g, const char *path, const char *body)
{
    static const struct api_handlers handlers = { on_head, on_data, on_end };
    const struct api_request r = {
        .method = "PATCH",
        .path = str_of(path),
        .content_type = "application/merge-patch+json",
        .body = str_of(json_to_text(test_arena(), test_json(body))),
        .user = &bob,
    };
    buf_reset(&g->text);
    apiserver_open(g->server, &r, &handlers, g);
    while (apiserver_is_pending(g->server))
        apiserver_flush(g->server);
    return g->status;
}

TEST(a_label_on_a_role_needs_the_rights_of_the_role)
{
    struct gate g;
    gate_init(&g);
    let_bob_patch_rbac(&g);
    static const char label[] =
        "{'metadata':{'labels':{'rbac.authorization.k8s.io/aggregate-to-view':'true'}}}";
    check_int(patch_by_bob(&g, CLUSTER_ROLES "/cluster-admin", label), 403);
    /* An aggregated role needs all rights, even if its present rules are held. */
    ask(&g,
        &admin,
        "POST",
        CLUSTER_ROLES,
        "{'metadata':{'name':'all'},'aggregationRule':{'clusterRoleSelectors':"
        "[{'matchLabels':{'x':'y'}}]},'rules':[]}",
        NULL);
    check_int(patch_by_bob(&g, CLUSTER_ROLES "/all", "{'metadata':{'labels':{'a':'b'}}}"), 403);
    check_int(patch_by_bob(&g, CLUSTER_ROLES "/all", "{'aggregationRule':null}"), 403);
    /* What garbage collection needs is free, and so is a role whose rights bob has. */
    static const char finalizer[] = "{'metadata':{'finalizers':['example.org/x']}}";
    check_int(patch_by_bob(&g, CLUSTER_ROLES "/cluster-admin", finalizer), 200);
    check_int(patch_by_bob(&g, CLUSTER_ROLES "/patcher", label), 200);
    check_int(patch_by_bob(&g, CLUSTER_ROLES "/patcher", "{'metadata':{'labels':null}}"), 200);
    gate_done(&g);
}

TEST(a_change_of_a_binding_needs_bind_or_the_rights_of_its_role)
{
    struct gate g;
    gate_init(&g);
    let_bob_patch_rbac(&g);
#define CLUSTER_BINDINGS "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    static const char label[] = "{'metadata':{'labels':{'a':'b'}}}";
    check_int(patch_by_bob(&g, CLUSTER_BINDINGS "/cluster-admin", label), 403);
    check_int(patch_by_bob(&g, CLUSTER_BINDINGS "/b", label), 200);
    check_int(
        patch_by_bob(
            &g, CLUSTER_BINDINGS "/cluster-admin", "{'metadata':{'finalizers':['example.org/x']}}"),
        200);
    gate_done(&g);
}
