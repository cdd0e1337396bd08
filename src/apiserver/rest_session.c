/* GET and POST pods/NAME/exec, attach and portforward: checked here, and then for the host to open
 * where pods run (kube/pod_session.h). */

#include "apiserver/auth.h"
#include "apiserver/internal.h"
#include "kube/pod_session.h"

/* Numbers of a query, each perhaps several with commas, as kube-apiserver reads them. */
static bool read_ports(struct api_call *c, struct pod_session_request *r)
{
    for (size_t i = 0; i < c->param_count; i++) {
        struct str rest = str_of(c->params[i].value);
        while (text_eq(c->params[i].key, "ports") && rest.ptr) {
            const char *text = str_dup(&c->arena, str_cut(&rest, ','));
            int64_t port;
            bool number = *text && !text[strspn(text, "0123456789")];
            if (!number || !str_to_int(str_of(text), &port) || port > UINT16_MAX)
                return call_fail_bad(c,
                    "cannot convert to []int32: strconv.ParseUint: parsing %s: %s",
                    json_to_text(&c->arena, json_str(text)),
                    number ? "value out of range" : "invalid syntax");
            if (r->port_count == lengthof(r->ports))
                return call_fail_bad(c, "more than %zu ports", lengthof(r->ports));
            r->ports[r->port_count++] = (uint16_t)port;
        }
    }
    return true;
}

static bool read_options(struct api_call *c, struct pod_session_request *r)
{
    const char **words = arena_array(&c->arena, c->param_count + 1, sizeof(*words));
    size_t count = 0;
    for (size_t i = 0; i < c->param_count; i++)
        if (text_eq(c->params[i].key, "command"))
            words[count++] = c->params[i].value;
    *r = (struct pod_session_request){
        .kind = text_eq(c->subresource, "exec")     ? POD_EXEC
                : text_eq(c->subresource, "attach") ? POD_ATTACH
                                                    : POD_PORT_FORWARD,
        .namespace = c->namespace,
        .pod = c->name,
        .container = call_param(c, "container"),
        .command = words,
        .in = call_param_bool(c, "stdin"),
        .out = call_param_bool(c, "stdout"),
        .err = call_param_bool(c, "stderr"),
        .terminal = call_param_bool(c, "tty"),
    };
    r->err = r->err && !r->terminal;
    return r->kind != POD_PORT_FORWARD || read_ports(c, r);
}

/* A WebSocket is a GET, but what it does is what a POST was needed for before there were any. */
static bool may_create(struct api_call *c)
{
    const char *reason = "";
    struct auth_request r = {
        .verb = "create",
        .group = "",
        .version = "v1",
        .resource = "pods",
        .subresource = c->subresource,
        .namespace = c->namespace,
        .name = c->name,
    };
    if (c->server->options.allow_all || strcmp(c->request->method, "POST") == 0 ||
        auth_allows(c->server->auth, &c->arena, c->request->user, &r, &reason))
        return true;
    return call_fail(c, status_forbidden(&c->arena, c->kind, c->name, reason));
}

/* What a kubelet says to a request that makes no sense. */
static bool check_streams(struct api_call *c, const struct pod_session_request *r)
{
    if (r->kind == POD_PORT_FORWARD)
        return true;
    if (!r->in && !r->out && !r->err)
        return call_fail_bad(c, "you must specify at least 1 of stdin, stdout, stderr");
    if (r->kind == POD_EXEC && !r->command[0])
        return call_fail_bad(c, "you must specify at least one command for the container");
    return true;
}

static bool fail_unreachable(struct api_call *c, const struct pod_kubelet *k)
{
    return call_fail(c,
        (struct api_status){ 500,
            "",
            arena_printf(&c->arena,
                "error dialing backend: dial tcp %s:%d: connect: connection refused",
                k->ip,
                k->port),
            .details = { 0 } });
}

void rest_session(struct api_call *c)
{
    struct apiserver *s = c->server;
    struct pod_session_request *r = arena_new(&c->arena, struct pod_session_request);
    struct pod_kubelet k;
    if (!read_options(c, r) || !may_create(c))
        return;
    struct json pod = apiserver_read(s, &c->arena, c->kind, c->namespace, c->name);
    if (!json_present(pod)) {
        call_fail(c, status_not_found(&c->arena, c->kind, c->name));
        return;
    }
    const char *node = json_get_text(pod, "spec.nodeName");
    if (r->kind != POD_PORT_FORWARD && !pod_choose_container(c, pod, &r->container))
        return;
    if (text_empty(node)) {
        call_fail_bad(c, "pod %s does not have a host assigned", c->name);
        return;
    }
    if (!s->options.sessions && !pod_kubelet_find(c, node, &k))
        return;
    r->uid = json_get_text(pod, "metadata.uid");
    if (!c->request->upgrade)
        call_fail_bad(c, "Upgrade request required");
    else if (!s->options.sessions)
        fail_unreachable(c, &k);
    else if (check_streams(c, r)) {
        c->session = r;
        call_text(c, 101, NULL, (struct str){ NULL, 0 });
    }
}
