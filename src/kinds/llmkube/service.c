/* The Service in front of the pods, and the address in status.endpoint. */

#include "kinds/llmkube/isvc.h"

#define DEFAULT_PORT 8080
#define DEFAULT_PATH "/v1/chat/completions"

int64_t service_port(const struct isvc *svc)
{
    return svc->spec.port ? svc->spec.port : DEFAULT_PORT;
}

/* The DNS name in a cluster, or the Service's own address without one. NULL: not known yet. */
static const char *endpoint_host(const struct isvc *svc)
{
    if (svc->settings->one_machine)
        return json_get_text(
            view_child(svc->in, &RESOURCE_SERVICE, svc->service), "spec.clusterIP");
    return arena_printf(svc->arena, "%s.%s.svc.cluster.local", svc->service, svc->ns);
}

const char *service_endpoint(const struct isvc *svc)
{
    const char *host = endpoint_host(svc);
    if (!host)
        return NULL;
    return arena_printf(svc->arena,
        "http://%s:%lld%s",
        host,
        (long long)service_port(svc),
        text_empty(svc->spec.path) ? DEFAULT_PATH : svc->spec.path);
}

void service_plan(struct isvc *svc)
{
    struct arena *a = svc->arena;
    const char *type = text_empty(svc->spec.type) ? "ClusterIP" : svc->spec.type;
    bool fixed_node_port = text_eq(type, "NodePort") && svc->spec.node_port > 0;
    struct json port = json_fields(a,
        { "name", json_str("http") },
        { "protocol", json_str("TCP") },
        { "port", json_int(service_port(svc)) },
        /* The container's port, which may differ from the clients' port. */
        { "targetPort", json_int(svc->container_port) },
        { "nodePort", json_if(fixed_node_port, json_int(svc->spec.node_port)) });
    isvc_child(svc,
        &RESOURCE_SERVICE,
        json_fields(a,
            { "metadata.name", json_str(svc->service) },
            { "metadata.labels", isvc_selector(svc) },
            { "spec.type", json_str(type) },
            { "spec.selector", isvc_selector(svc) },
            { "spec.ports", json_list(a, port) }));
    plan_exclusive(svc->out, "spec.ports", "nodePort");
}
