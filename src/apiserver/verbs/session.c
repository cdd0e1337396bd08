/* GET and POST pods/NAME/exec, attach and portforward: validated here, then opened by the host
 * where pods run (kube/pod_session.h). */

#include "apiserver/access/auth.h"
#include "apiserver/core/internal.h"
#include "base/url.h"
#include "kube/pod_session.h"

/* Numbers in a query, each perhaps a comma-separated list, parsed as in kube-apiserver. */
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
        .ns = c->ns,
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

/* A WebSocket uses GET, but needs the right `create`, like the older POST. */
static bool may_create(struct api_call *c)
{
    const char *reason = "";
    struct auth_request r = {
        .verb = "create",
        .group = "",
        .version = "v1",
        .resource = "pods",
        .subresource = c->subresource,
        .ns = c->ns,
        .name = c->name,
    };
    if (c->server->options.allow_all || strcmp(c->request->method, "POST") == 0 ||
        auth_allows(c->server->auth, &c->arena, c->request->user, &r, &reason))
        return true;
    return call_fail(c, status_forbidden(&c->arena, c->kind, c->name, reason));
}

/* A kubelet's errors for invalid combinations. */
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

/* The URL of this request on a kubelet. */
static const char *kubelet_url(
    struct api_call *c, const struct pod_session_request *r, const struct pod_kubelet *k)
{
    cleanup(buf_done) struct buf query = BUF_INIT((size_t)1 << 20);
    for (const char *const *word = r->command; *word; word++)
        url_add_query(&query, "command", *word);
    url_add_query(&query, "error", call_param_bool(c, "stderr") ? "1" : NULL);
    url_add_query(&query, "input", r->in ? "1" : NULL);
    url_add_query(&query, "output", r->out ? "1" : NULL);
    url_add_query(&query, "tty", r->terminal ? "1" : NULL);
    return arena_printf(&c->arena,
        "https://%s:%d/%s/%s/%s/%s%s",
        k->host,
        k->port,
        c->subresource,
        r->ns,
        r->pod,
        r->container ? r->container : "",
        buf_text(&query));
}

/* The error for an unreachable kubelet depends on the client's protocol. */
static bool find_kubelet(struct api_call *c, const char *node, struct pod_session_request *r)
{
    struct pod_kubelet k;
    if (!pod_kubelet_find(c, node, &k))
        return false;
    r->unreachable = pod_kubelet_refuses(&c->arena, &k);
    r->url = kubelet_url(c, r, &k);
    return true;
}

void rest_session(struct api_call *c)
{
    struct apiserver *s = c->server;
    struct pod_session_request *r = arena_new(&c->arena, struct pod_session_request);
    struct json pod;
    if (!read_options(c, r) || !may_create(c) ||
        !pod_find(c, r->kind == POD_PORT_FORWARD ? NULL : &r->container, &pod))
        return;
    const char *node = json_get_text(pod, "spec.nodeName");
    if (text_empty(node)) {
        call_fail_bad(c, "pod %s does not have a host assigned", c->name);
        return;
    }
    if (!s->options.sessions && !find_kubelet(c, node, r))
        return;
    r->uid = json_get_text(pod, "metadata.uid");
    if (!c->request->upgrade) {
        call_fail_bad(c, "Upgrade request required");
    } else if (r->unreachable || check_streams(c, r)) {
        c->session = r;
        call_text(c, 101, NULL, (struct str){ NULL, 0 });
    }
}
