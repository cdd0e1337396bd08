/* Requests to a pod's node: finds the container, and the address of the kubelet. */

#include "apiserver/core/internal.h"

#define KUBELET_PORT 10250

static bool choose_container(struct api_call *c, struct json pod, const char **container)
{
    static const char *const lists[] = {
        "spec.initContainers", "spec.containers", "spec.ephemeralContainers"
    };
    cleanup(buf_done) struct buf names = BUF_INIT((size_t)64 << 10);
    struct json main = json_get(pod, "spec.containers");
    if (text_empty(*container) && main.count == 1)
        *container = json_get_text(main.items[0], "name");
    for (size_t i = 0; i < lengthof(lists); i++)
        json_each (one, json_get(pod, lists[i])) {
            const char *name = json_get_text(*one, "name");
            if (text_eq(name, *container))
                return true;
            buf_printf(&names, "%s%s", names.len ? " " : "", name ? name : "");
        }
    if (!text_empty(*container))
        return call_fail_bad(c, "container %s is not valid for pod %s", *container, c->name);
    return call_fail_bad(c,
        "a container name must be specified for pod %s, choose one of: [%s]",
        c->name,
        buf_text(&names));
}

bool pod_find(struct api_call *c, const char **container, struct json *ret)
{
    *ret = apiserver_read(c->server, &c->arena, c->kind, c->ns, c->name);
    if (!json_present(*ret))
        return call_fail(c, status_not_found(&c->arena, c->kind, c->name));
    return !container || choose_container(c, *ret, container);
}

static const char *address_of(struct json node, const char *const *types)
{
    for (; *types; types++)
        json_each (address, json_get(node, "status.addresses"))
            if (text_eq(json_get_text(*address, "type"), *types))
                return json_get_text(*address, "address");
    return NULL;
}

bool pod_kubelet_find(struct api_call *c, const char *node_name, struct pod_kubelet *ret)
{
    static const char *const preferred[] = {
        "Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP", NULL
    };
    static const char *const numeric[] = { "InternalIP", "ExternalIP", NULL };
    struct apiserver *s = c->server;
    const struct api_kind *k = registry_find(s->registry, "", "v1", "nodes");
    struct json node = apiserver_read(s, &c->arena, k, "", node_name);
    if (!json_present(node))
        return call_fail(c, status_not_found(&c->arena, c->kind, node_name));
    *ret = (struct pod_kubelet){ .host = address_of(node, preferred),
        .ip = address_of(node, numeric),
        .port =
            (int)json_get_int(node, "status.daemonEndpoints.kubeletEndpoint.Port", KUBELET_PORT) };
    if (!ret->host)
        return call_fail(c,
            (struct api_status){
                500, "", "no preferred addresses found; known addresses: []", .details = { 0 } });
    ret->ip = ret->ip ? ret->ip : ret->host;
    ret->port = ret->port ? ret->port : KUBELET_PORT;
    return true;
}

const char *pod_kubelet_refuses(struct arena *a, const struct pod_kubelet *k)
{
    return arena_printf(a, "dial tcp %s:%d: connect: connection refused", k->ip, k->port);
}
