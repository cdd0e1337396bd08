/* Exposure through Envoy AI Gateway: a back end, its AIServiceBackend, and a route by model name.
 * Only if its CRDs are installed. */

#include "kinds/llmkube/isvc.h"

#include "base/settle.h"

const struct resource GATEWAY_BACKEND = {
    .group = "gateway.envoyproxy.io",
    .version = "v1alpha1",
    .kind = "Backend",
    .plural = "backends",
};
const struct resource GATEWAY_AI_BACKEND = {
    .group = "aigateway.envoyproxy.io",
    .version = "v1beta1",
    .kind = "AIServiceBackend",
    .plural = "aiservicebackends",
};
const struct resource GATEWAY_AI_ROUTE = {
    .group = "aigateway.envoyproxy.io",
    .version = "v1beta1",
    .kind = "AIGatewayRoute",
    .plural = "aigatewayroutes",
};

static const struct resource *const parts[] = {
    &GATEWAY_BACKEND,
    &GATEWAY_AI_BACKEND,
    &GATEWAY_AI_ROUTE,
};

static struct json backend(const struct isvc *svc)
{
    struct arena *a = svc->arena;
    struct json endpoint = json_fields(a,
        { "fqdn.hostname", json_strf(a, "%s.%s.svc.cluster.local", svc->service, svc->ns) },
        { "fqdn.port", json_int(service_port(svc)) });
    return json_fields(a,
        { "metadata.name", json_str(svc->service) },
        { "spec.type", json_str("Endpoints") },
        { "spec.endpoints", json_list(a, endpoint) });
}

static struct json ai_backend(const struct isvc *svc)
{
    return json_fields(svc->arena,
        { "metadata.name", json_str(svc->service) },
        { "spec.schema.name", json_str("OpenAI") },
        { "spec.backendRef.group", json_str(GATEWAY_BACKEND.group) },
        { "spec.backendRef.kind", json_str(GATEWAY_BACKEND.kind) },
        { "spec.backendRef.name", json_str(svc->service) });
}

static struct json ai_route(const struct isvc *svc, const char *model)
{
    struct arena *a = svc->arena;
    struct json parent = json_fields(a,
        { "group", json_str("gateway.networking.k8s.io") },
        { "kind", json_str("Gateway") },
        { "name", json_str(svc->spec.gateway_name) },
        { "namespace", json_str_or_absent(svc->spec.gateway_namespace) });
    struct json header = json_fields(a,
        { "name", json_str("x-ai-eg-model") },
        { "type", json_str("Exact") },
        { "value", json_str(model) });
    struct json rule = json_fields(a,
        { "matches", json_list(a, json_fields(a, { "headers", json_list(a, header) })) },
        { "backendRefs", json_list(a, json_fields(a, { "name", json_str(svc->service) })) });
    return json_fields(a,
        { "metadata.name", json_str(svc->service) },
        { "spec.parentRefs", json_list(a, parent) },
        { "spec.rules", json_list(a, rule) });
}

/* Why one of the three could not be written; NULL: no trouble. */
static const char *trouble_of(const struct isvc *svc)
{
    for (size_t i = 0; i < lengthof(parts); i++) {
        struct view_trouble trouble = view_trouble(svc->in, parts[i], svc->service);
        if (trouble.what == TROUBLE_FOREIGN || trouble.what == TROUBLE_REFUSED)
            return arena_printf(svc->arena, "%s: %s", parts[i]->kind, trouble.message);
    }
    return NULL;
}

static void not_ready(struct isvc *svc, const char *reason, const char *message)
{
    plan_condition(svc->out, "GatewayReady", false, reason, "%s", message);
}

void gateway_plan(struct isvc *svc)
{
    if (!svc->spec.gateway_enabled)
        return;
    for (size_t i = 0; i < lengthof(parts); i++) {
        if (view_served(svc->in, parts[i]))
            continue;
        not_ready(svc,
            "GatewayCRDsNotInstalled",
            "The CRDs of Envoy AI Gateway are not installed: install them, or switch "
            "spec.endpoint.gateway off");
        return;
    }
    if (text_empty(svc->spec.gateway_name)) {
        not_ready(svc, "ReconcileFailed", "spec.endpoint.gateway.gatewayRef.name: required");
        return;
    }
    const char *model = !text_empty(svc->spec.gateway_model) ? svc->spec.gateway_model
                        : !text_empty(svc->spec.model_ref)   ? svc->spec.model_ref
                                                             : svc->name;
    struct json objects[] = { backend(svc), ai_backend(svc), ai_route(svc, model) };
    for (size_t i = 0; i < lengthof(parts); i++) {
        struct json stored = view_owned(svc->in, parts[i], svc->service);
        plan_child(svc->out, parts[i], settle_lists(svc->arena, objects[i], stored));
    }
    const char *trouble = trouble_of(svc);
    if (trouble) {
        not_ready(svc, "ReconcileFailed", trouble);
        return;
    }
    svc->gateway_status = json_fields(
        svc->arena, { "routeReady", json_bool(true) }, { "modelName", json_str(model) });
    plan_condition(svc->out,
        "GatewayReady",
        true,
        "Exposed",
        "model \"%s\" exposed via gateway %s",
        model,
        svc->spec.gateway_name);
}
