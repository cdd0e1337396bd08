/* A ModelService serves one packed model with vLLM, behind an endpoint picker.
 *
 *   N-decode, N-prefill    Deployments: kit unpacks the model, vLLM serves it; decode pods may have
 *                          a routing sidecar in front, which then has vLLM's port
 *   E                      the endpoint picker: Deployment, Service, ServiceAccount, Role,
 *                          RoleBinding and, as E-config, its ConfigMap
 *   N                      InferencePool (its pods, its picker) and HTTPRoute (header, gateway)
 *   E                      DestinationRule, for Istio: the picker's certificate is self-signed
 *   NS-E, E-sa-metrics-…   cluster RBAC and a token Secret, for readers of its metrics
 *   N-decode, …, E         PodMonitors and ServiceMonitor
 *
 * N is the object's name, E its DNS-1035 form with -epp. A child that cannot be created is
 * reported, and the others are created. This file has the serving pods, the status and the kind;
 * endpoint_picker.c has the rest. */

#include "kinds/otterscale/model_service.h"

#include <stdarg.h>

#include "base/atomic.h"
#include "base/embed.h"
#include "base/settle.h"
#include "kinds/pods/pods_healthy.h"

EMBED(otterscale_unpack, "src/kinds/otterscale/scripts/unpack.sh");

#define MODEL_LABEL "llm-d.ai/model"
#define DOCKER_VOLUME "docker-config"
#define UNPACK_CACHE "/tmp/model-oci"

/* ---- reporting ---- */

const char *service_say(struct service *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(s->a, format, args);
    va_end(args);
    return text;
}

void service_fail(struct service *s, const char *message)
{
    if (!s->error)
        s->error = message;
}

void service_lack(struct service *s, const char *reason, const char *message)
{
    s->lack_messages =
        s->lack_messages ? service_say(s, "%s; %s", s->lack_messages, message) : message;
    if (!s->lack_reason)
        s->lack_reason = reason;
}

static void check_secret(struct service *s, const char *path, const char *name)
{
    if (!json_present(view_get(s->in, &RESOURCE_SECRET, name)))
        service_lack(s,
            "SecretNotFound",
            service_say(s,
                "%s: Secret %s is not in namespace %s; create it, or name another",
                path,
                name,
                s->ns));
}

void service_child(struct service *s, const struct resource *r, struct json object)
{
    plan_child(s->out, r, object);
    const char *name = json_get_text(object, "metadata.name");
    struct view_trouble trouble = view_trouble(s->in, r, name);
    if (trouble.what == TROUBLE_FOREIGN)
        service_fail(s, trouble.message);
    if (trouble.what == TROUBLE_REFUSED)
        service_fail(s,
            service_say(s,
                "%s %s %s: %s",
                json_present(view_child(s->in, r, name)) ? "updating" : "creating",
                r->kind,
                name,
                trouble.cause));
    if (r->cluster_scoped && !view_served(s->in, r))
        service_lack(s,
            "ClusterScope",
            service_say(s, "%s %s is not made by an operator of one namespace", r->kind, name));
    else if (strchr(r->group, '.') && !view_served(s->in, r))
        service_lack(s,
            "APINotInstalled",
            service_say(s,
                "the CRD %s.%s is not installed, so there is no %s %s; install it",
                r->plural,
                r->group,
                r->kind,
                name));
}

void service_custom_child(struct service *s, const struct resource *r, const char *name,
    struct json labels, struct json spec)
{
    struct json stored = json_get(view_owned(s->in, r, name), "spec");
    service_child(s,
        r,
        json_fields(s->a,
            { "metadata.name", json_str(name) },
            { "metadata.labels", labels },
            { "spec", settle_lists(s->a, spec, stored) }));
}

/* ---- serving pods ---- */

struct role {
    const char *name, *component;
    struct json spec;
    int64_t tensor, data, data_local;
    int64_t port; /* of vLLM */
    bool proxied;
};

static struct role role_of(const struct service *s, const char *name)
{
    struct json spec = json_member(s->spec, name);
    bool decode = text_eq(name, "decode");
    bool proxied = decode && json_present(json_get(s->spec, "routingProxy"));
    return (struct role){
        .name = name,
        .component = decode ? "model-decode" : "model-prefill",
        .spec = spec,
        .tensor = json_get_int(spec, "parallelism.tensor", 1),
        .data = json_get_int(spec, "parallelism.data", 1),
        .data_local = json_get_int(spec, "parallelism.dataLocal", 1),
        .proxied = proxied,
        .port = proxied ? json_get_int(s->spec, "routingProxy.targetPort", 8200) : s->port,
    };
}

static const char *role_child(const struct service *s, const struct role *role)
{
    return arena_printf(s->a, "%s-%s", s->base, role->name);
}

static struct json role_selector(const struct service *s, const struct role *role)
{
    return json_overlay(s->a,
        otterscale_selector(s->a, s->base, role->component),
        json_map(s->a,
            { "llm-d.ai/inferenceServing", json_str("true") },
            { MODEL_LABEL, json_str(s->base) },
            { "llm-d.ai/role", json_str(role->name) }));
}

static struct json role_labels(const struct service *s, const struct role *role)
{
    return otterscale_labels(s->a, s->base, role->component, s->version);
}

static const char *mount_path(const struct service *s)
{
    return otterscale_text(s->spec, "model.mountPath", "/models");
}

/* The first pull secret, which kit uses too; NULL: there is none. */
static const char *pull_secret(const struct service *s)
{
    return otterscale_text(s->spec, "model.imagePullSecrets.0.name", NULL);
}

static bool unpacks(const struct service *s)
{
    return s->settings->kit_image && !text_empty(json_get_text(s->spec, "model.image"));
}

static struct json engine_args(const struct service *s, const struct role *role)
{
    struct arena *a = s->a;
    const struct {
        const char *flag;
        int64_t value;
    } sizes[] = {
        { "--tensor-parallel-size", role->tensor },
        { "--data-parallel-size", role->data },
        { "--data-parallel-size-local", role->data_local },
    };
    struct json_builder args;
    json_builder_init(&args, a);
    json_push(&args, json_str(mount_path(s)));
    json_push(&args, json_str("--port"));
    json_push(&args, json_strf(a, "%lld", (long long)role->port));
    json_push(&args, json_str("--served-model-name"));
    json_push(&args, json_get(s->spec, "model.name"));
    for (size_t i = 0; i < lengthof(sizes); i++)
        if (sizes[i].value > 1) {
            json_push(&args, json_str(sizes[i].flag));
            json_push(&args, json_strf(a, "%lld", (long long)sizes[i].value));
        }
    json_push_all(&args, json_get(s->spec, "engine.args"));
    return json_list_end(&args);
}

static struct json engine_ports(struct service *s, const struct role *role)
{
    struct arena *a = s->a;
    struct json_builder ports;
    json_builder_init(&ports, a);
    json_push(&ports,
        json_fields(a,
            { "name", json_str("http") },
            { "containerPort", json_int(role->port) },
            { "protocol", json_str("TCP") }));
    struct json side =
        json_find(json_get(s->spec, "engine.env"), "name", "VLLM_NIXL_SIDE_CHANNEL_PORT");
    const char *text = json_get_text(side, "value");
    /* vLLM does not accept a plus sign. */
    text = text && *text == '+' ? text + 1 : text;
    int64_t number;
    if (text && str_to_int(str_of(text), &number) && number >= 1 && number <= 65535 &&
        number != role->port) {
        json_push(&ports,
            json_fields(a,
                { "name", json_str("nixl-side") },
                { "containerPort", json_int(number) },
                { "protocol", json_str("TCP") }));
        if (role->proxied && number == s->port)
            service_lack(s,
                "PortClash",
                service_say(s,
                    "spec.engine.env: VLLM_NIXL_SIDE_CHANNEL_PORT is %lld, the routing proxy's "
                    "port; choose another",
                    (long long)number));
    }
    return json_list_end(&ports);
}

static struct json engine_resources(const struct service *s, const struct role *role)
{
    static const char *const devices[][2] = {
        { "nvidia", "nvidia.com/gpu" },
        { "amd", "amd.com/gpu" },
        { "intel-gaudi", "habana.ai/gaudi" },
        { "google", "google.com/tpu" },
    };
    struct json resources = otterscale_resources(s->a, json_get(role->spec, "resources"));
    const char *type = json_get_text(s->spec, "accelerator.type");
    for (size_t i = 0; i < lengthof(devices); i++) {
        if (!text_eq(type, devices[i][0]))
            continue;
        struct json count = json_map(s->a,
            { devices[i][1],
                json_strf(s->a, "%lld", (long long)(role->tensor * role->data_local)) });
        static const char *const lists[] = { "limits", "requests" };
        for (size_t l = 0; l < lengthof(lists); l++)
            resources = json_with_member(s->a,
                resources,
                lists[l],
                json_overlay(s->a, json_member(resources, lists[l]), count));
    }
    return json_or_absent(resources);
}

static struct json engine(struct service *s, const struct role *role)
{
    struct arena *a = s->a;
    const int64_t sizes[] = { role->tensor, role->data, role->data_local };
    static const char *const names[] = { "TP_SIZE", "DP_SIZE", "DP_SIZE_LOCAL" };
    struct json_builder env;
    json_builder_init(&env, a);
    for (size_t i = 0; i < lengthof(sizes); i++)
        json_push(&env, otterscale_env(a, names[i], arena_printf(a, "%lld", (long long)sizes[i])));
    return json_fields(a,
        { "name", json_str("vllm") },
        { "image", json_str(otterscale_text(s->spec, "engine.image", s->settings->engine_image)) },
        { "imagePullPolicy", json_str_or_absent(json_get_text(s->spec, "engine.imagePullPolicy")) },
        { "command", otterscale_words(a, "vllm serve") },
        { "args", engine_args(s, role) },
        { "env",
            atomic_join(
                a, json_list_end(&env), atomic_fill(a, json_get(s->spec, "engine.env")), "name") },
        { "ports", engine_ports(s, role) },
        { "resources", engine_resources(s, role) },
        { "volumeMounts", json_list(a, otterscale_mount(a, "model", mount_path(s), true)) },
        { "securityContext", otterscale_container_security(a) });
}

static struct json unpacker(const struct service *s)
{
    struct arena *a = s->a;
    bool secret = pull_secret(s);
    const char *plain = s->settings->plain_http ? "--plain-http" : "";
    return json_fields(a,
        { "name", json_str("model-unpack") },
        { "image", json_str(s->settings->kit_image) },
        { "command", otterscale_words(a, "/bin/sh -c") },
        { "args", json_list(a, json_strf(a, "plain=%s\n%s", plain, otterscale_unpack)) },
        { "env",
            json_list(a,
                otterscale_env(a, "OCI_MODEL_IMAGE", json_get_text(s->spec, "model.image")),
                otterscale_env(a, "MODEL_MOUNT_PATH", mount_path(s)),
                otterscale_env(a, "KITOPS_HOME", UNPACK_CACHE),
                json_if(secret, otterscale_env(a, "DOCKER_CONFIG", OTTERSCALE_DOCKER_PATH))) },
        { "volumeMounts",
            json_list(a,
                otterscale_mount(a, "model-tmp", UNPACK_CACHE, false),
                otterscale_mount(a, "model", mount_path(s), false),
                json_if(
                    secret, otterscale_mount(a, DOCKER_VOLUME, OTTERSCALE_DOCKER_PATH, true))) },
        { "securityContext", otterscale_container_security(a) });
}

void service_push_tracing(const struct service *s, struct json_builder *env, const char *who)
{
    const struct otterscale_settings *set = s->settings;
    json_push(env, otterscale_env(s->a, "OTEL_SERVICE_NAME", who));
    json_push(env,
        otterscale_env(
            s->a, "OTEL_EXPORTER_OTLP_ENDPOINT", set->otel_endpoint ? set->otel_endpoint : ""));
    json_push(env, otterscale_env(s->a, "OTEL_TRACES_EXPORTER", "otlp"));
}

void service_push_sampler(const struct service *s, struct json_builder *env)
{
    const struct otterscale_settings *set = s->settings;
    if (set->sampler)
        json_push(env, otterscale_env(s->a, "OTEL_TRACES_SAMPLER", set->sampler));
    if (set->sampler_arg)
        json_push(env, otterscale_env(s->a, "OTEL_TRACES_SAMPLER_ARG", set->sampler_arg));
}

static void push_pair(struct json_builder *args, const char *flag, const char *value)
{
    if (text_empty(value))
        return;
    json_push(args, json_str(flag));
    json_push(args, json_str(value));
}

static struct json proxy(const struct service *s, const struct role *role)
{
    struct arena *a = s->a;
    struct json spec = json_get(s->spec, "routingProxy");
    struct json tls = json_get(spec, "prefillerUseTLS");
    struct json_builder args, env;
    json_builder_init(&args, a);
    json_builder_init(&env, a);
    push_pair(&args, "--port", arena_printf(a, "%lld", (long long)s->port));
    push_pair(&args, "--vllm-port", arena_printf(a, "%lld", (long long)role->port));
    push_pair(&args, "--connector", otterscale_text(spec, "connector", "nixlv2"));
    push_pair(&args, "--zap-encoder", json_get_text(spec, "zapEncoder"));
    push_pair(&args, "--zap-log-level", json_get_text(spec, "zapLogLevel"));
    bool secure = json_get_bool(spec, "secureProxy", false);
    json_push(&args, json_strf(a, "--secure-proxy=%s", secure ? "true" : "false"));
    if (json_is(tls, JSON_BOOL))
        json_push(&args, json_strf(a, "--prefiller-use-tls=%s", tls.boolean ? "true" : "false"));
    push_pair(&args, "--cert-path", json_get_text(spec, "certPath"));
    if (s->settings->tracing) {
        service_push_tracing(s, &env, "llm-d-routing-sidecar");
        service_push_sampler(s, &env);
    }
    return json_fields(a,
        { "name", json_str("routing-proxy") },
        { "image", json_str(otterscale_text(spec, "image", s->settings->proxy_image)) },
        { "restartPolicy", json_str("Always") },
        { "args", json_list_end(&args) },
        { "env", json_or_absent(json_list_end(&env)) },
        { "ports",
            json_list(a,
                json_fields(a,
                    { "name", json_str("proxy") },
                    { "containerPort", json_int(s->port) },
                    { "protocol", json_str("TCP") })) },
        { "securityContext", otterscale_container_security(a) });
}

/* A program text that differs from ours is no reason to restart pods: if everything else is as
 * planned, the present text stays. */
static struct json with_present_program(
    const struct service *s, const char *deployment, struct json tmpl)
{
    struct json now =
        json_get(view_owned(s->in, &RESOURCE_DEPLOYMENT, deployment), "spec.template");
    struct json there = json_find(json_get(now, "spec.initContainers"), "name", "model-unpack");
    if (!json_present(there) ||
        !text_eq(json_get_text(tmpl, "spec.initContainers.0.name"), "model-unpack"))
        return tmpl;
    struct json_builder containers;
    json_builder_init(&containers, s->a);
    json_each (c, json_get(tmpl, "spec.initContainers"))
        json_push(&containers,
            containers.count ? *c : json_with_member(s->a, *c, "args", json_get(there, "args")));
    struct json kept = json_with(s->a, tmpl, "spec.initContainers", json_list_end(&containers));
    /* Fields that upstream wrote by update include the API server's defaults. */
    bool whole = !json_present(json_get(now, "spec.dnsPolicy"));
    return settle_same(kept, now, whole ? SETTLE_ALL : SETTLE_PLANNED) ? kept : tmpl;
}

static struct json tolerations(struct arena *a, struct json list)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (item, list) {
        struct json_builder kept;
        json_builder_init(&kept, a);
        json_each_member (m, *item)
            if (!json_is(m->value, JSON_STR) || m->value.count)
                json_put(&kept, m->key, m->value);
        json_push(&b, json_map_end(&kept));
    }
    return json_or_absent(json_list_end(&b));
}

static struct json serving_template(struct service *s, const struct role *role)
{
    struct arena *a = s->a;
    const char *secret = pull_secret(s);
    struct json labels = role_selector(s, role);
    labels = json_overlay(a, role_labels(s, role), labels);
    struct json init =
        json_list(a, json_if(unpacks(s), unpacker(s)), json_if(role->proxied, proxy(s, role)));
    return json_fields(a,
        { "metadata.labels", labels },
        { "metadata.annotations", json_or_absent(json_get(role->spec, "annotations")) },
        { "spec.automountServiceAccountToken", json_bool(false) },
        { "spec.imagePullSecrets",
            atomic_join(a, json_get(s->spec, "model.imagePullSecrets"), json_none, "name") },
        { "spec.nodeSelector", json_or_absent(json_get(role->spec, "nodeSelector")) },
        { "spec.tolerations", tolerations(a, json_get(role->spec, "tolerations")) },
        { "spec.securityContext.runAsNonRoot", json_bool(true) },
        { "spec.securityContext.seccompProfile.type", json_str("RuntimeDefault") },
        { "spec.initContainers", json_or_absent(init) },
        { "spec.containers", json_list(a, engine(s, role)) },
        { "spec.volumes",
            json_list(a,
                json_fields(a, { "name", json_str("model") }, { "emptyDir", json_empty_map() }),
                json_fields(a, { "name", json_str("model-tmp") }, { "emptyDir", json_empty_map() }),
                json_if(secret, otterscale_docker_volume(a, secret))) });
}

static void plan_serving(struct service *s, const struct role *role)
{
    const char *name = role_child(s, role);
    service_child(s,
        &RESOURCE_DEPLOYMENT,
        json_fields(s->a,
            { "metadata.name", json_str(name) },
            { "metadata.labels", role_labels(s, role) },
            { "spec.replicas", json_int(json_get_int(role->spec, "replicas", 1)) },
            { "spec.selector.matchLabels", role_selector(s, role) },
            { "spec.template", with_present_program(s, name, serving_template(s, role)) }));
}

/* Off only if the block exists and does not set `enabled`. */
static bool monitors_pods(const struct service *s)
{
    struct json monitor = json_get(s->spec, "monitoring.podMonitor");
    return !json_is(monitor, JSON_MAP) || json_get_bool(monitor, "enabled", false);
}

static void plan_pod_monitor(struct service *s, const struct role *role)
{
    struct arena *a = s->a;
    struct json monitor = json_get(s->spec, "monitoring.podMonitor");
    struct json endpoint = json_fields(a,
        { "port", json_str(otterscale_text(monitor, "portName", "http")) },
        { "path", json_str(otterscale_text(monitor, "path", "/metrics")) },
        { "interval", json_str(otterscale_text(monitor, "interval", "30s")) },
        { "relabelings",
            json_list(a,
                json_fields(a,
                    { "action", json_str("replace") },
                    { "sourceLabels",
                        json_list(
                            a, json_str("__meta_kubernetes_pod_label_app_kubernetes_io_name")) },
                    { "targetLabel", json_str("model_service") })) });
    service_custom_child(s,
        &OTTERSCALE_POD_MONITOR,
        role_child(s, role),
        role_labels(s, role),
        json_fields(a,
            { "namespaceSelector", json_empty_map() },
            { "podMetricsEndpoints", json_list(a, endpoint) },
            { "selector.matchLabels", role_selector(s, role) }));
}

/* ---- status ---- */

struct count {
    int64_t ready, wanted;
};

/* The desired state is the plan; if it cannot be written, the status reports that instead. */
static struct count count_of(const struct service *s, const struct role *role)
{
    struct json live = view_child(s->in, &RESOURCE_DEPLOYMENT, role_child(s, role));
    return (struct count){
        .ready = json_get_int(live, "status.readyReplicas", 0),
        .wanted = json_get_int(role->spec, "replicas", 1),
    };
}

static int64_t at_most(int64_t value, int64_t limit)
{
    return value < limit ? value : limit;
}

/* Ready, its reason and message; returns the phase. Extra pods of one role do not compensate for
 * missing ones of the other. */
static const char *plan_ready(struct service *s, struct count decode, struct count prefill)
{
    int64_t ready = at_most(decode.ready, decode.wanted) + at_most(prefill.ready, prefill.wanted);
    int64_t wanted = decode.wanted + prefill.wanted;
    if (s->error) {
        plan_condition(s->out, "Ready", false, "ReconcileError", "%s", s->error);
        plan_event(s->out, true, "ReconcileError", "%s", s->error);
        return "Failed";
    }
    if (ready >= wanted) {
        plan_condition(s->out,
            "Ready",
            true,
            "AllReplicasReady",
            "All %lld replicas are ready",
            (long long)(decode.ready + prefill.ready));
        plan_event(s->out, false, "Ready", "All serving replicas are ready");
        return "Ready";
    }
    if (ready == 0)
        plan_condition(
            s->out, "Ready", false, "PodsStarting", "Waiting for serving pods to become ready");
    else
        plan_condition(s->out,
            "Ready",
            false,
            "PartiallyReady",
            "%lld/%lld replicas ready",
            (long long)ready,
            (long long)wanted);
    return "Running";
}

/* `Complete` only reports missing things: once nothing is missing, it is removed. */
static void plan_complete(struct service *s)
{
    if (s->lack_reason)
        plan_condition(s->out, "Complete", false, s->lack_reason, "%s", s->lack_messages);
}

static void plan_service_status(
    struct service *s, const struct role *decode, const struct role *prefill)
{
    struct count d = count_of(s, decode), p = { 0 };
    if (s->disaggregated)
        p = count_of(s, prefill);
    const char *phase = plan_ready(s, d, p);
    plan_complete(s);
    const char *of = arena_printf(s->a, MODEL_LABEL "=%s", s->base);
    pods_plan_healthy(s->in, s->out, view_list(s->in, &OTTERSCALE_SERVING_POD, s->ns, of));
    plan_status(s->out,
        json_fields(s->a,
            { "observedGeneration", json_get(s->in->object, "metadata.generation") },
            { "phase", json_str(phase) },
            { "decodeReady", json_int_or_absent(d.ready) },
            { "decodeReplicas", json_int_or_absent(d.wanted) },
            { "prefillReady", json_int_or_absent(p.ready) },
            { "prefillReplicas", json_int_or_absent(p.wanted) }),
        NULL);
    if (s->error)
        plan_wait(s->out, "%s", s->error);
    else
        plan_done(s->out);
}

/* ---- the kind ---- */

#define UNNAMED_SECRET "spec.model.imagePullSecrets: an entry has no name; name a Secret"

/* Errors that upstream accepts and that fail later, in another place. */
static void check_input(struct service *s, const struct role *decode)
{
    json_each (secret, json_get(s->spec, "model.imagePullSecrets")) {
        const char *name = json_get_text(*secret, "name");
        if (!text_empty(name))
            check_secret(s, "spec.model.imagePullSecrets", name);
        else if (pull_secret(s))
            service_lack(s, "SecretNotFound", UNNAMED_SECRET);
    }
    if (decode->proxied && decode->port == s->port)
        service_lack(s,
            "PortClash",
            service_say(s,
                "spec.routingProxy.targetPort: %lld is spec.engine.port too, and both are in one "
                "pod; choose another",
                (long long)s->port));
    if (s->disaggregated && !decode->proxied)
        service_lack(s,
            "RoutingProxyMissing",
            "spec.prefill has no effect without spec.routingProxy: decode pods prefill for "
            "themselves; add it");
}

/* Faults of pods that the API server would report in terms that are not in the user's manifest;
 * NULL: it has no such fault. */
static const char *pod_fault(struct service *s)
{
    struct json secret = json_get(s->spec, "model.imagePullSecrets.0");
    if (json_present(secret) && !pull_secret(s))
        return UNNAMED_SECRET;
    const char *path = mount_path(s);
    bool clashes =
        text_eq(path, UNPACK_CACHE) || (pull_secret(s) && text_eq(path, OTTERSCALE_DOCKER_PATH));
    if (unpacks(s) && clashes)
        return service_say(
            s, "spec.model.mountPath: %s is needed for unpacking the model; choose another", path);
    return NULL;
}

/* The present version label: from the first Deployment that has one. */
static const char *present_version(const struct service *s)
{
    static const char *const parts[] = { "decode", "prefill" };
    struct json labels = { 0 };
    for (size_t i = 0; i < lengthof(parts) && !json_present(labels); i++)
        labels = json_get(
            view_owned(s->in, &RESOURCE_DEPLOYMENT, arena_printf(s->a, "%s-%s", s->base, parts[i])),
            "metadata.labels");
    if (!json_present(labels))
        labels = json_get(view_owned(s->in, &RESOURCE_DEPLOYMENT, s->picker), "metadata.labels");
    return otterscale_version_of(labels);
}

static struct service service_of(const struct view *in, struct plan *out)
{
    struct json spec = json_get(in->object, "spec");
    struct json pool = json_get(spec, "inferencePool.endpointPicker");
    struct service s = {
        .in = in,
        .out = out,
        .a = in->arena,
        .settings = in->settings,
        .spec = spec,
        .name = view_name(in),
        .ns = view_namespace(in),
        .base = otterscale_base(in->arena, view_name(in)),
        .pool = json_if(json_is(pool, JSON_MAP), pool),
        .disaggregated = json_is(json_get(spec, "prefill"), JSON_MAP),
        .port = json_get_int(spec, "engine.port", 8000),
        .picker_port = json_get_int(pool, "port", 9002),
        .picker_replicas = json_get_int(pool, "replicas", 1),
    };
    s.picker = picker_name(&s);
    s.version = present_version(&s);
    return s;
}

static void unreadable(const struct view *in, struct plan *out, const struct error *err)
{
    plan_keep_children(out);
    plan_status(out,
        json_fields(in->arena,
            { "observedGeneration", json_get(in->object, "metadata.generation") },
            { "phase", json_str("Failed") }),
        NULL);
    plan_condition(out, "Ready", false, "ReconcileError", "%s", err->text);
    plan_wait(out, "%s", err->text);
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct service s = service_of(in, out);
    struct role decode = role_of(&s, "decode"), prefill = role_of(&s, "prefill");
    check_input(&s, &decode);
    const char *fault = pod_fault(&s);
    if (fault) {
        service_fail(&s, fault);
        plan_keep_children(out);
    } else {
        plan_serving(&s, &decode);
        if (s.disaggregated)
            plan_serving(&s, &prefill);
    }
    picker_plan(&s);
    if (monitors_pods(&s)) {
        plan_pod_monitor(&s, &decode);
        if (s.disaggregated)
            plan_pod_monitor(&s, &prefill);
    }
    plan_service_status(&s, &decode, &prefill);
}

static const char *const nothing[] = { NULL };

static const struct kind_watch watches[] = {
    {
        .resource = &RESOURCE_DEPLOYMENT,
        .child = true,
        .keep = (const char *const[]){ "status.readyReplicas", NULL },
    },
    {
        .resource = &OTTERSCALE_SERVING_POD,
        .label_selector = MODEL_LABEL,
        .index_label = MODEL_LABEL,
        .keep = (const char *const[]){ "metadata.labels",
            "status.conditions",
            "status.containerStatuses",
            "status.initContainerStatuses",
            NULL },
    },
    { .resource = &RESOURCE_SERVICE_ACCOUNT, .child = true, .keep = nothing },
    { .resource = &OTTERSCALE_CONFIG_MAP, .child = true, .keep = nothing },
    { .resource = &RESOURCE_SERVICE, .child = true, .keep = nothing },
    { .resource = &RESOURCE_SECRET, .child = true, .keep = nothing },
    { .resource = &OTTERSCALE_ROLE, .child = true, .keep = nothing },
    { .resource = &OTTERSCALE_ROLE_BINDING, .child = true, .keep = nothing },
    { .resource = &OTTERSCALE_CLUSTER_ROLE, .child = true, .optional = true, .keep = nothing },
    {
        .resource = &OTTERSCALE_CLUSTER_ROLE_BINDING,
        .child = true,
        .optional = true,
        .keep = (const char *const[]){ "metadata.annotations", "subjects", NULL },
    },
    { .resource = &OTTERSCALE_GATEWAY, .optional = true, .keep = nothing },
    { .resource = &OTTERSCALE_POOL, .child = true, .optional = true, .keep = nothing },
    { .resource = &OTTERSCALE_ROUTE, .child = true, .optional = true, .keep = nothing },
    { .resource = &OTTERSCALE_RULE, .child = true, .optional = true, .keep = nothing },
    { .resource = &OTTERSCALE_POD_MONITOR, .child = true, .optional = true, .keep = nothing },
    { .resource = &OTTERSCALE_SERVICE_MONITOR, .child = true, .optional = true, .keep = nothing },
    { 0 },
};

const struct kind otterscale_model_service_kind = {
    .resource = &OTTERSCALE_MODEL_SERVICE,
    .watches = watches,
    .grants = picker_grants,
    .finalizer = "model.otterscale.io/epp-cluster-rbac",
    .reconcile = reconcile,
    .unreadable = unreadable,
};
