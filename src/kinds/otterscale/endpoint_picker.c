/* The endpoint picker of a ModelService, and how requests reach it: pool, route, rule. It is always
 * created; spec.inferencePool configures it and adds the protection of its metrics. */

#include "base/embed.h"
#include "base/hash.h"
#include "base/names.h"
#include "kinds/otterscale/model_service.h"

/* The picker's configuration, byte for byte the same as upstream's: its hash is in the pod
 * template, and a different one would restart the picker when Leeboard takes over. */
EMBED(otterscale_default_plugins, "src/kinds/otterscale/scripts/default-plugins.yaml");
EMBED(otterscale_pd_config, "src/kinds/otterscale/scripts/pd-config.yaml");

#define HEALTH_PORT 9003
#define METRICS_PORT 9090
#define GRACE_S 130
#define POOL_GROUP "inference.networking.k8s.io"
#define OWN_API_VERSION "model.otterscale.io/v1alpha1"

/* ---- names ---- */

/* Two names may have the same DNS-1035 form, `owl-1.5` and `owl-1-5`. The older service gets it; of
 * two with the same age, the one whose name it is. Children of a deleted service with the same name
 * are about to be deleted. */
static bool is_of_another(const struct service *s, const char *picker)
{
    struct json account = view_get(s->in, &RESOURCE_SERVICE_ACCOUNT, picker);
    json_each (owner, json_get(account, "metadata.ownerReferences"))
        if (json_get_bool(*owner, "controller", false) &&
            text_eq(json_get_text(*owner, "kind"), OTTERSCALE_MODEL_SERVICE.kind) &&
            !text_eq(json_get_text(*owner, "name"), s->name))
            return true;
    return false;
}

const char *picker_name(const struct service *s)
{
    const char *sanitized = otterscale_sanitized(s->a, s->name);
    const char *plain = arena_printf(s->a, "%s-epp", sanitized);
    const char *hashed = otterscale_hashed(s->a, s->name, "-epp");
    if (strlen(plain) > NAME_LABEL_MAX ||
        json_present(view_child(s->in, &RESOURCE_SERVICE_ACCOUNT, hashed)) ||
        is_of_another(s, plain))
        return hashed;
    bool yields = !text_eq(sanitized, s->name) &&
                  !json_present(view_child(s->in, &RESOURCE_SERVICE_ACCOUNT, plain)) &&
                  json_present(view_get(s->in, &OTTERSCALE_MODEL_SERVICE, sanitized));
    return yields ? hashed : plain;
}

/* NS-E, unless another service has that name: namespaces may contain dashes, too. */
static const char *cluster_name(const struct service *s)
{
    const char *plain = arena_printf(s->a, "%s-%s", s->ns, s->picker);
    struct json binding = view_get_in(s->in, &OTTERSCALE_CLUSTER_ROLE_BINDING, "", plain);
    const char *owner =
        json_text(json_member(json_get(binding, "metadata.annotations"), PLAN_OWNER_ANNOTATION));
    const char *mine =
        plan_owner_id(s->a, OWN_API_VERSION, OTTERSCALE_MODEL_SERVICE.kind, s->in->object);
    bool is_mine = owner ? text_eq(owner, mine)
                         : text_eq(json_get_text(binding, "subjects.0.namespace"), s->ns) &&
                               text_eq(json_get_text(binding, "subjects.0.name"), s->picker);
    if (!json_present(binding) || is_mine)
        return plain;
    return arena_printf(s->a, "%s-%.8s", plain, sha256_hex(s->a, str_of(mine)));
}

/* ---- the picker ---- */

static struct json labels(const struct service *s)
{
    return otterscale_labels(s->a, s->picker, "epp", s->version);
}

static struct json selector(const struct service *s)
{
    return otterscale_selector(s->a, s->picker, "epp");
}

/* An object with this name and the picker's labels; the caller adds fields. */
static struct json object(const struct service *s, const char *name)
{
    return json_fields(s->a, { "metadata.name", json_str(name) }, { "metadata.labels", labels(s) });
}

static const char *config_file(const struct service *s)
{
    return s->disaggregated ? "pd-config.yaml" : "default-plugins.yaml";
}

static const char *config_text(const struct service *s)
{
    return s->disaggregated ? otterscale_pd_config : otterscale_default_plugins;
}

static const char *config_name(const struct service *s)
{
    return arena_printf(s->a, "%s-config", s->picker);
}

static bool has_token(const struct service *s)
{
    return json_present(s->pool) && s->settings->metrics_auth &&
           !text_eq(s->settings->provider, "gke");
}

static const char *token_name(const struct service *s)
{
    return arena_printf(s->a, "%s-sa-metrics-reader-secret", s->picker);
}

static struct json args(const struct service *s)
{
    struct arena *a = s->a;
    struct json_builder b;
    json_builder_init(&b, a);
    json_push(&b, json_strf(a, "--pool-name=%s", s->base));
    json_push(&b, json_strf(a, "--pool-namespace=%s", s->ns));
    json_push(&b, json_str("--pool-group=" POOL_GROUP));
    json_push(&b, json_strf(a, "--config-file=/config/%s", config_file(s)));
    json_push(&b, json_strf(a, "--grpc-port=%lld", (long long)s->picker_port));
    json_push(&b, json_str("--zap-encoder=json"));
    if (s->picker_replicas > 1)
        json_push(&b, json_str("--ha-enable-leader-election"));
    json_push(&b, json_strf(a, "--tracing=%s", s->settings->tracing ? "true" : "false"));
    if (!s->settings->metrics_auth)
        json_push(&b, json_str("--metrics-endpoint-auth=false"));
    return json_list_end(&b);
}

static struct json env(const struct service *s)
{
    struct arena *a = s->a;
    struct json_builder b;
    json_builder_init(&b, a);
    json_push(&b, otterscale_env_field(a, "NAMESPACE", "metadata.namespace"));
    json_push(&b, otterscale_env_field(a, "POD_NAME", "metadata.name"));
    if (s->settings->tracing) {
        service_push_tracing(s, &b, "gateway-api-inference-extension");
        json_push(
            &b, otterscale_env_field(a, "OTEL_RESOURCE_ATTRIBUTES_NODE_NAME", "spec.nodeName"));
        json_push(
            &b, otterscale_env_field(a, "OTEL_RESOURCE_ATTRIBUTES_POD_NAME", "metadata.name"));
        json_push(&b,
            otterscale_env(a,
                "OTEL_RESOURCE_ATTRIBUTES",
                "k8s.namespace.name=$(NAMESPACE),"
                "k8s.node.name=$(OTEL_RESOURCE_ATTRIBUTES_NODE_NAME),"
                "k8s.pod.name=$(OTEL_RESOURCE_ATTRIBUTES_POD_NAME)"));
        service_push_sampler(s, &b);
    }
    return json_list_end(&b);
}

static struct json port(struct arena *a, const char *name, int64_t number)
{
    return json_fields(a,
        { "name", json_str(name) },
        { "containerPort", json_int(number) },
        { "protocol", json_str("TCP") });
}

/* Of several pickers only the leader is ready, and it reports that under another service name. */
static struct json probe(const struct service *s, const char *many, int64_t delay, int64_t period)
{
    return json_fields(s->a,
        { "grpc.port", json_int(HEALTH_PORT) },
        { "grpc.service", json_str(s->picker_replicas > 1 ? many : "inference-extension") },
        { "initialDelaySeconds", json_int_or_absent(delay) },
        { "periodSeconds", json_int(period) });
}

static struct json resources(const struct service *s)
{
    struct json own = otterscale_resources(s->a, json_get(s->pool, "resources"));
    if (json_present(json_get(own, "limits")) || json_present(json_get(own, "requests")))
        return own;
    return json_fields(s->a,
        { "requests.cpu", json_str("4") },
        { "requests.memory", json_str("8Gi") },
        { "limits.memory", json_str("16Gi") });
}

static struct json container(const struct service *s)
{
    struct arena *a = s->a;
    return json_fields(a,
        { "name", json_str("epp") },
        { "image", json_str(otterscale_text(s->pool, "image", s->settings->picker_image)) },
        { "imagePullPolicy", json_str("IfNotPresent") },
        { "args", args(s) },
        { "env", env(s) },
        { "ports",
            json_list(a,
                port(a, "grpc-ext-proc", s->picker_port),
                port(a, "grpc-health", HEALTH_PORT),
                port(a, "http-metrics", METRICS_PORT)) },
        { "readinessProbe", probe(s, "readiness", 0, 2) },
        { "livenessProbe", probe(s, "liveness", 5, 10) },
        { "resources", resources(s) },
        { "volumeMounts", json_list(a, otterscale_mount(a, "epp-config", "/config", true)) },
        { "securityContext", otterscale_container_security(a) });
}

static struct json deployment(const struct service *s)
{
    struct arena *a = s->a;
    struct json selects = json_with_member(a, selector(s), "inferencepool", json_str(s->picker));
    const char *hashed = arena_printf(a, "%s%s", config_file(s), config_text(s));
    return json_fields(a,
        { "metadata.name", json_str(s->picker) },
        { "metadata.labels", labels(s) },
        { "spec.replicas", json_int(s->picker_replicas) },
        { "spec.strategy.type", json_str("Recreate") },
        { "spec.selector.matchLabels", selects },
        { "spec.template.metadata.labels", json_overlay(a, labels(s), selects) },
        { "spec.template.metadata.annotations",
            json_map(a, { "checksum/config", json_str(sha256_hex(a, str_of(hashed))) }) },
        { "spec.template.spec.serviceAccountName", json_str(s->picker) },
        { "spec.template.spec.terminationGracePeriodSeconds", json_int(GRACE_S) },
        { "spec.template.spec.securityContext.runAsNonRoot", json_bool(true) },
        { "spec.template.spec.securityContext.seccompProfile.type", json_str("RuntimeDefault") },
        { "spec.template.spec.containers", json_list(a, container(s)) },
        { "spec.template.spec.volumes",
            json_list(a,
                json_fields(a,
                    { "name", json_str("epp-config") },
                    { "configMap.name", json_str(config_name(s)) },
                    { "configMap.optional", json_bool(true) })) });
}

static struct json service_port(struct arena *a, const char *name, int64_t number)
{
    return json_fields(a,
        { "name", json_str(name) },
        { "port", json_int(number) },
        { "protocol", json_str("TCP") },
        { "targetPort", json_int(number) });
}

static struct json service(const struct service *s)
{
    struct arena *a = s->a;
    return json_with_member(a,
        object(s, s->picker),
        "spec",
        json_fields(a,
            { "ports",
                json_list(a,
                    service_port(a, "grpc-ext-proc", s->picker_port),
                    service_port(a, "http-metrics", METRICS_PORT)) },
            { "selector", selector(s) }));
}

static struct json config_map(const struct service *s)
{
    return json_with_member(s->a,
        object(s, config_name(s)),
        "data",
        json_map(s->a, { config_file(s), json_str(config_text(s)) }));
}

static struct json token(const struct service *s)
{
    struct arena *a = s->a;
    struct json annotation =
        json_map(a, { "kubernetes.io/service-account.name", json_str(s->picker) });
    struct json secret = json_with(a, object(s, token_name(s)), "metadata.annotations", annotation);
    return json_with_member(a, secret, "type", json_str("kubernetes.io/service-account-token"));
}

/* ---- permissions ---- */

const struct kind_grant picker_grants[] = {
    { "", "pods", "get watch list", false },
    { "inference.networking.x-k8s.io",
        "inferenceobjectives inferencemodelrewrites",
        "get watch list",
        false },
    { POOL_GROUP, "inferencepools", "get watch list", false },
    { "coordination.k8s.io", "leases", "get list watch create update patch delete", false },
    { "", "events", "create patch", false },
    { "authentication.k8s.io", "tokenreviews", "create", true },
    { "authorization.k8s.io", "subjectaccessreviews", "create", true },
    { NULL, "/metrics", "get", true },
    { 0 },
};
/* The first ones are for every picker, the others for one that takes part in a leader election. */
#define GRANTS_OF_ONE 3

static struct json role(const struct service *s, const char *name, bool cluster)
{
    struct arena *a = s->a;
    struct json_builder rules;
    json_builder_init(&rules, a);
    for (size_t i = 0; picker_grants[i].what; i++) {
        const struct kind_grant *g = &picker_grants[i];
        if (g->cluster != cluster || (!cluster && i >= GRANTS_OF_ONE && s->picker_replicas <= 1))
            continue;
        struct json what = otterscale_words(a, g->what), none = { 0 };
        json_push(&rules,
            json_fields(a,
                { "apiGroups", g->group ? json_list(a, json_str(g->group)) : none },
                { "resources", g->group ? what : none },
                { "nonResourceURLs", g->group ? none : what },
                { "verbs", otterscale_words(a, g->verbs) }));
    }
    return json_with_member(a, object(s, name), "rules", json_list_end(&rules));
}

static struct json binding(const struct service *s, const struct resource *role, const char *name)
{
    struct arena *a = s->a;
    struct json bound = json_with_member(a,
        object(s, name),
        "roleRef",
        json_fields(a,
            { "apiGroup", json_str(role->group) },
            { "kind", json_str(role->kind) },
            { "name", json_str(name) }));
    return json_with_member(a,
        bound,
        "subjects",
        json_list(a,
            json_fields(a,
                { "kind", json_str("ServiceAccount") },
                { "name", json_str(s->picker) },
                { "namespace", json_str(s->ns) })));
}

static void plan_rights(struct service *s)
{
    /* A binding's role is immutable, so a change recreates the binding. */
    static const char *const fixed[] = { "roleRef", NULL };
    service_child(s, &OTTERSCALE_ROLE, role(s, s->picker, false));
    service_child(s, &OTTERSCALE_ROLE_BINDING, binding(s, &OTTERSCALE_ROLE, s->picker));
    plan_replaceable(s->out, fixed);
    plan_after(s->out, &OTTERSCALE_ROLE, s->picker);
    if (!json_present(s->pool) || !s->settings->metrics_auth)
        return;
    const char *name = cluster_name(s);
    service_child(s, &OTTERSCALE_CLUSTER_ROLE, role(s, name, true));
    service_child(s, &OTTERSCALE_CLUSTER_ROLE_BINDING, binding(s, &OTTERSCALE_CLUSTER_ROLE, name));
    plan_replaceable(s->out, fixed);
    plan_after(s->out, &OTTERSCALE_CLUSTER_ROLE, name);
}

/* ---- routing ---- */

static struct json route_labels(const struct service *s)
{
    return otterscale_labels(s->a, s->base, "epp", s->version);
}

static void plan_pool(struct service *s)
{
    struct arena *a = s->a;
    struct json selects = json_overlay(a,
        json_with_member(
            a, otterscale_selector(a, s->base, ""), "app.kubernetes.io/component", json_none),
        json_map(a,
            { "llm-d.ai/inferenceServing", json_str("true") },
            { "llm-d.ai/model", json_str(s->base) }));
    const char *mode = json_present(s->pool) ? "FailOpen" : "FailClose";
    struct json picker = json_fields(a,
        { "group", json_str("") },
        { "kind", json_str("Service") },
        { "name", json_str(s->picker) },
        { "port.number", json_int(s->picker_port) },
        { "failureMode", json_str(otterscale_text(s->pool, "failureMode", mode)) });
    service_custom_child(s,
        &OTTERSCALE_POOL,
        s->base,
        route_labels(s),
        json_fields(a,
            { "selector.matchLabels", selects },
            { "targetPorts", json_list(a, json_fields(a, { "number", json_int(s->port) })) },
            { "endpointPickerRef", picker }));
}

static void check_gateway(struct service *s, const char *path, const char *ns, const char *name)
{
    if (view_served(s->in, &OTTERSCALE_GATEWAY) &&
        !json_present(view_get_in(s->in, &OTTERSCALE_GATEWAY, ns, name)))
        service_lack(s,
            "GatewayNotFound",
            service_say(s,
                "%s: Gateway %s is not in namespace %s; create it, or name another",
                path,
                name,
                ns));
}

static void plan_route(struct service *s)
{
    struct arena *a = s->a;
    struct json own = json_get(s->spec, "httpRoute");
    bool given = json_is(own, JSON_MAP);
    const char *gateway = given ? json_get_text(own, "gatewayRef.name") : s->settings->gateway;
    const char *ns = given ? otterscale_text(own, "gatewayRef.namespace", s->ns)
                           : s->settings->gateway_namespace;
    if (!gateway)
        return;
    check_gateway(s, given ? "spec.httpRoute.gatewayRef" : "--default-gateway-name", ns, gateway);
    struct json match = json_fields(a,
        { "path.type", json_str("PathPrefix") },
        { "path.value", json_str("/") },
        { "headers",
            json_list(a,
                json_fields(a,
                    { "type", json_str("Exact") },
                    { "name", json_str("OtterScale-Model-Name") },
                    { "value", json_str(s->name) })) });
    struct json backend = json_fields(a,
        { "group", json_str(POOL_GROUP) },
        { "kind", json_str(OTTERSCALE_POOL.kind) },
        { "name", json_str(s->base) },
        { "weight", json_int(1) });
    bool here = given && text_eq(ns, s->ns);
    struct json parent = json_fields(a,
        { "group", json_str(OTTERSCALE_GATEWAY.group) },
        { "kind", json_str(OTTERSCALE_GATEWAY.kind) },
        { "name", json_str(gateway) },
        { "namespace", here ? json_none : json_str(ns) });
    service_custom_child(s,
        &OTTERSCALE_ROUTE,
        s->base,
        route_labels(s),
        json_fields(a,
            { "parentRefs", json_list(a, parent) },
            { "hostnames", json_or_absent(json_get(own, "hostnames")) },
            { "rules",
                json_list(a,
                    json_fields(a,
                        { "matches", json_list(a, match) },
                        { "backendRefs", json_list(a, backend) })) }));
}

static void plan_rule(struct service *s)
{
    if (!text_eq(s->settings->provider, "istio"))
        return;
    service_custom_child(s,
        &OTTERSCALE_RULE,
        s->picker,
        labels(s),
        json_fields(s->a,
            { "host", json_strf(s->a, "%s.%s.svc.cluster.local", s->picker, s->ns) },
            { "trafficPolicy.tls.mode", json_str("SIMPLE") },
            { "trafficPolicy.tls.insecureSkipVerify", json_bool(true) }));
}

static void plan_monitor(struct service *s)
{
    struct arena *a = s->a;
    if (!json_present(s->pool) || !json_get_bool(s->spec, "monitoring.podMonitor.enabled", false))
        return;
    struct json credentials = json_fields(a,
        { "credentials.name", json_str(token_name(s)) },
        { "credentials.key", json_str("token") });
    service_custom_child(s,
        &OTTERSCALE_SERVICE_MONITOR,
        s->picker,
        labels(s),
        json_fields(a,
            { "namespaceSelector", json_empty_map() },
            { "selector.matchLabels", selector(s) },
            { "endpoints",
                json_list(a,
                    json_fields(a,
                        { "port", json_str("http-metrics") },
                        { "interval", json_str("30s") },
                        { "authorization", json_if(has_token(s), credentials) })) }));
}

/* ---- all of it ---- */

/* The gateway's port must not be one of the picker's own ports. */
static bool port_clashes(struct service *s)
{
    const char *taken = s->picker_port == METRICS_PORT  ? "its metrics"
                        : s->picker_port == HEALTH_PORT ? "its health"
                                                        : NULL;
    if (taken)
        service_fail(s,
            service_say(s,
                "spec.inferencePool.endpointPicker.port: the picker has %lld for %s; choose "
                "another",
                (long long)s->picker_port,
                taken));
    return taken;
}

void picker_plan(struct service *s)
{
    service_child(s, &RESOURCE_SERVICE_ACCOUNT, object(s, s->picker));
    if (has_token(s)) {
        /* Without its account Kubernetes deletes it immediately. */
        service_child(s, &RESOURCE_SECRET, token(s));
        plan_after(s->out, &RESOURCE_SERVICE_ACCOUNT, s->picker);
    }
    service_child(s, &OTTERSCALE_CONFIG_MAP, config_map(s));
    if (port_clashes(s)) {
        plan_keep_children(s->out);
    } else {
        service_child(s, &RESOURCE_DEPLOYMENT, deployment(s));
        service_child(s, &RESOURCE_SERVICE, service(s));
        plan_pool(s);
    }
    plan_rights(s);
    plan_route(s);
    plan_rule(s);
    plan_monitor(s);
}
