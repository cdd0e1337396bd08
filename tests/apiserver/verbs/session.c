#include "kube/pod_session.h"

#include "tests/apiserver/desk.h"

#define PODS "/api/v1/namespaces/default/pods"

/* What the host is told to open, as one line, or the status and message. */
struct told {
    const char *text;
};

static void on_head(void *ctx, const struct api_head *head)
{
    struct told *t = ctx;
    const struct pod_session_request *r = head->session;
    if (!r) {
        t->text = arena_printf(test_arena(), "%d ", head->status);
        return;
    }
    cleanup(buf_done) struct buf b = BUF_INIT(4096);
    buf_printf(&b,
        "%d %d %s/%s %s%s%s%s%s",
        head->status,
        (int)r->kind,
        r->ns,
        r->pod,
        r->container ? r->container : "-",
        r->in ? " in" : "",
        r->out ? " out" : "",
        r->err ? " err" : "",
        r->terminal ? " terminal" : "");
    for (const char *const *word = r->command; *word; word++)
        buf_printf(&b, " '%s'", *word);
    for (size_t i = 0; i < r->port_count; i++)
        buf_printf(&b, " %d", r->ports[i]);
    if (r->unreachable)
        buf_printf(&b, " %s: %s", r->url, r->unreachable);
    check(!text_empty(r->uid));
    t->text = arena_strdup(test_arena(), buf_text(&b));
}

static bool on_data(void *ctx, struct str bytes)
{
    struct told *t = ctx;
    struct json body;
    struct error err;
    check(json_parse(test_arena(), bytes, &body, &err));
    t->text = arena_printf(test_arena(), "%s%s", t->text, json_get_text(body, "message"));
    return true;
}

static void on_end(void *ctx)
{
    (void)ctx;
}

static const char *ask(
    struct desk *d, const char *user, const char *method, const char *target, bool upgrade)
{
    static const struct api_handlers handlers = { on_head, on_data, on_end };
    struct told t = { "" };
    struct str query = str_of(target), path = str_cut(&query, '?');
    const char *groups[] = { user ? "system:authenticated" : "system:masters", NULL };
    struct api_user who = { .name = user ? user : "admin", .uid = "", .groups = groups };
    struct api_request request = {
        .method = method, .path = path, .query = query, .user = &who, .upgrade = upgrade
    };
    apiserver_open(d->server, &request, &handlers, &t);
    desk_settle(d);
    return t.text;
}

static void begin(struct desk *d, bool sessions)
{
    desk_init_builtin(d, (struct apiserver_options){ .sessions = sessions });
    desk_do(d,
        "POST",
        PODS,
        "{'metadata':{'name':'one'},'spec':{'nodeName':'n','initContainers':[{'name':'i','image':"
        "'x'}],'containers':[{'name':'a','image':'x'}]}}");
    desk_do(d,
        "POST",
        PODS,
        "{'metadata':{'name':'two'},'spec':{'nodeName':'n','containers':[{'name':'a','image':'x'},"
        "{'name':'b','image':'x'}]}}");
    desk_do(d,
        "POST",
        PODS,
        "{'metadata':{'name':'free'},'spec':{'containers':[{'name':'a','image':'x'}]}}");
}

TEST(sessions_are_checked_and_handed_to_the_host)
{
    static const struct {
        const char *target, *want;
    } rows[] = {
        { "one/exec?command=ls&command=-l+%2F&stdout=true&stderr=1",
            "101 0 default/one a out err 'ls' '-l /'" },
        { "one/exec?command=sh&stdin=1&stdout=1&stderr=1&tty=1",
            "101 0 default/one a in out terminal 'sh'" },
        { "two/exec?command=ls&stdout=true&container=b", "101 0 default/two b out 'ls'" },
        { "one/attach?stdout=true", "101 1 default/one a out" },
        { "one/portforward?ports=80&ports=81,82", "101 2 default/one - 80 81 82" },
        { "one/portforward", "101 2 default/one -" },
        { "one/exec?stdout=true", "400 you must specify at least one command for the container" },
        { "one/exec?command=ls", "400 you must specify at least 1 of stdin, stdout, stderr" },
        { "one/exec?command=ls&stdout=1&container=zz",
            "400 container zz is not valid for pod one" },
        { "two/attach?stdout=true",
            "400 a container name must be specified for pod two, choose one of: [a b]" },
        { "free/portforward", "400 pod free does not have a host assigned" },
        { "none/exec?command=ls&stdout=1", "404 pods \"none\" not found" },
        { "one/portforward?ports=x",
            "400 cannot convert to []int32: strconv.ParseUint: parsing \"x\": invalid syntax" },
        { "one/portforward?ports=65536",
            "400 cannot convert to []int32: strconv.ParseUint: parsing \"65536\": value out of "
            "range" },
    };
    struct desk d;
    begin(&d, true);
    for (size_t i = 0; i < lengthof(rows); i++) {
        const char *target = arena_printf(test_arena(), PODS "/%s", rows[i].target);
        check_text(ask(&d, NULL, i % 2 ? "POST" : "GET", target, true), rows[i].want);
    }
    check_text(ask(&d, NULL, "GET", PODS "/one/exec?command=ls&stdout=1", false),
        "400 Upgrade request required");
    check_text(ask(&d, NULL, "PUT", PODS "/one/exec", false),
        "405 the server does not allow this method on the requested resource");
    desk_done(&d);
}

TEST(a_command_of_many_words_comes_whole)
{
    struct desk d;
    begin(&d, true);
    cleanup(buf_done) struct buf target = BUF_INIT(1 << 16), want = BUF_INIT(1 << 16);
    buf_add_text(&target, PODS "/one/exec?stdout=1");
    buf_add_text(&want, "101 0 default/one a out");
    for (int i = 0; i < 300; i++) {
        buf_printf(&target, "&command=%d", i);
        buf_printf(&want, " '%d'", i);
    }
    check_text(ask(&d, NULL, "GET", buf_text(&target), true), buf_text(&want));
    desk_done(&d);
}

TEST(sessions_need_a_kubelet)
{
    struct desk d;
    begin(&d, false);
    check_text(ask(&d, NULL, "GET", PODS "/one/portforward", true), "404 pods \"n\" not found");
    desk_do(&d, "POST", "/api/v1/nodes", "{'metadata':{'name':'n'}}");
    check_text(ask(&d, NULL, "GET", PODS "/one/portforward", true),
        "500 no preferred addresses found; known addresses: []");
    struct json node = desk_do(&d, "GET", "/api/v1/nodes/n", NULL);
    node = json_with(test_arena(),
        node,
        "status.addresses",
        json_list(test_arena(),
            json_map(test_arena(),
                { "type", json_str("InternalIP") },
                { "address", json_str("10.0.0.7") })));
    desk_do(&d, "PUT", "/api/v1/nodes/n/status", json_to_text(test_arena(), node));
    check_text(ask(&d, NULL, "GET", PODS "/one/exec?command=ls&stdout=1", true),
        "101 0 default/one a out 'ls' "
        "https://10.0.0.7:10250/exec/default/one/a?command=ls&output=1: "
        "dial tcp 10.0.0.7:10250: connect: connection refused");
    check_text(
        ask(&d, NULL, "POST", PODS "/one/attach?stdout=1", false), "400 Upgrade request required");
    desk_done(&d);
}

/* As of 1.35: a WebSocket is a GET, and needs the right to create as well. */
TEST(sessions_need_the_right_to_create)
{
    static const char role[] =
        "{'metadata':{'name':'%s'},'rules':[{'apiGroups':[''],'resources':['pods/exec'],"
        "'verbs':[%s]}]}";
    static const char binding[] =
        "{'metadata':{'name':'%s'},'subjects':[{'kind':'User','name':'%s','apiGroup':"
        "'rbac.authorization.k8s.io'}],'roleRef':{'kind':'ClusterRole','name':'%s','apiGroup':"
        "'rbac.authorization.k8s.io'}}";
    static const struct {
        const char *user, *verbs, *get, *post;
    } rows[] = {
        { "reader",
            "'get'",
            "403 pods \"one\" is forbidden: ",
            "403 pods \"one\" is forbidden: User \"reader\" cannot create resource \"pods/exec\" "
            "in API group \"\" in the namespace \"default\"" },
        { "maker",
            "'create'",
            "403 pods \"one\" is forbidden: User \"maker\" cannot get resource \"pods/exec\" in "
            "API group \"\" in the namespace \"default\"",
            "101 0 default/one a out 'ls'" },
        { "both",
            "'create','get'",
            "101 0 default/one a out 'ls'",
            "101 0 default/one a out 'ls'" },
    };
    struct desk d;
    struct error err;
    begin(&d, true);
    apiserver_free(d.server); /* which lets everybody do everything */
    d.server = apiserver_new(&(struct apiserver_options){ .env = &d.env,
                                 .store = d.store,
                                 .token_key = STR("0123456789abcdef0123456789abcdef"),
                                 .sessions = true },
        &err);
    check(d.server);
    for (size_t i = 0; i < lengthof(rows); i++) {
        const char *user = rows[i].user;
        desk_do(&d,
            "POST",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            arena_printf(test_arena(), role, user, rows[i].verbs));
        desk_do(&d,
            "POST",
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            arena_printf(test_arena(), binding, user, user, user));
        static const char target[] = PODS "/one/exec?command=ls&stdout=1";
        check_text(ask(&d, user, "GET", target, true), rows[i].get);
        check_text(ask(&d, user, "POST", target, true), rows[i].post);
    }
    desk_done(&d);
}
