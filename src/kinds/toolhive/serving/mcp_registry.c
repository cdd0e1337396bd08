/* An MCPRegistry: the server of a catalogue of MCP servers. Upstream has deprecated the kind, but
 * it is fully supported. */

#include "base/names.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/pods/pods_healthy.h"
#include "kinds/toolhive/proxy.h"
#include "kinds/toolhive/serving/registry.h"
#include "kinds/toolhive/serving/serving.h"

#define CONFIG_VOLUME "registry-server-config"
#define CONFIG_PATH "/config"
#define SECRET_VOLUME "pgpass-secret"
#define PASS_VOLUME "pgpass"
#define PASS_FILE "/home/appuser/.pgpass"
#define CONFIG_HASH "toolhive.stacklok.dev/config-hash"
#define PORT 8080
#define PROBE_PORT 8081
#define APP "app.kubernetes.io/name"

/* A separate list in the cache: these pods have other labels than the family's other pods. */
static const struct resource registry_pod = { "", "v1", "Pod", "pods", false };

struct registry {
    const struct view *in;
    struct plan *out;
    struct arena *a;
    struct json spec;
    const char *name, *api, *account, *config; /* names of the object and its children */
};

static struct registry registry_of(const struct view *in, struct plan *out)
{
    const char *name = view_name(in);
    return (struct registry){
        .in = in,
        .out = out,
        .a = in->arena,
        .spec = json_get(in->object, "spec"),
        .name = name,
        .api = arena_printf(in->arena, "%s-api", name),
        .account = arena_printf(in->arena, "%s-registry-api", name),
        .config = arena_printf(in->arena, "%s-registry-server-config", name),
    };
}

static struct json labels_of(const struct registry *r, const char *name)
{
    return json_map(r->a,
        { "app.kubernetes.io/component", json_str("registry-api") },
        { "app.kubernetes.io/managed-by", json_str("toolhive-operator") },
        { APP, json_str(name) },
        { "toolhive.stacklok.io/registry-name", json_str(r->name) });
}

static struct json selector_of(const struct registry *r)
{
    return json_map(r->a,
        { "app.kubernetes.io/component", json_str("registry-api") },
        { APP, json_str(r->api) });
}

/* ---- the pod ---- */

static struct json mount(
    struct arena *a, const char *volume, const char *path, const char *part, bool fixed)
{
    return json_fields(a,
        { "name", json_str(volume) },
        { "mountPath", json_str(path) },
        { "subPath", json_str(part) },
        { "readOnly", json_true_or_absent(fixed) });
}

/* libpq refuses a password file that other users may read, as files of a Secret are. */
static struct json init_container(struct arena *a)
{
    return json_fields(a,
        { "name", json_str("setup-pgpass") },
        { "image", json_str("cgr.dev/chainguard/busybox:latest") },
        { "command",
            json_list(a,
                json_str("sh"),
                json_str("-c"),
                json_str("cp /secret/.pgpass /pgpass/.pgpass && chmod 0600 /pgpass/.pgpass")) },
        { "resources.requests.cpu", json_str("10m") },
        { "resources.requests.memory", json_str("16Mi") },
        { "resources.limits.cpu", json_str("50m") },
        { "resources.limits.memory", json_str("32Mi") },
        { "securityContext.allowPrivilegeEscalation", json_bool(false) },
        { "securityContext.capabilities.drop", json_list(a, json_str("ALL")) },
        { "securityContext.readOnlyRootFilesystem", json_bool(true) },
        { "securityContext.runAsNonRoot", json_bool(true) },
        { "volumeMounts",
            json_list(a,
                mount(a, SECRET_VOLUME, "/secret", NULL, true),
                mount(a, PASS_VOLUME, "/pgpass", NULL, false)) });
}

static struct json probe(struct arena *a, const char *path, int64_t delay, int64_t period)
{
    return json_fields(a,
        { "httpGet.path", json_str(path) },
        { "httpGet.port", json_int(PROBE_PORT) },
        { "initialDelaySeconds", json_int(delay) },
        { "periodSeconds", json_int(period) });
}

static struct json container(const struct registry *r)
{
    struct arena *a = r->a;
    const struct toolhive_settings *settings = r->in->settings;
    bool pass = json_present(json_get(r->spec, "pgpassSecretRef"));
    struct json_builder mounts;
    json_builder_init(&mounts, a);
    json_push(&mounts, mount(a, CONFIG_VOLUME, CONFIG_PATH, NULL, true));
    json_push_all(&mounts, json_get(r->spec, "volumeMounts"));
    if (pass)
        json_push(&mounts, mount(a, PASS_VOLUME, PASS_FILE, ".pgpass", true));
    return json_fields(a,
        { "name", json_str("registry-api") },
        { "image", json_str(settings->registry_api_image) },
        { "args",
            json_list(a, json_str("serve"), json_str("--config=" CONFIG_PATH "/config.yaml")) },
        { "env", json_if(pass, json_list(a, toolhive_env(a, "PGPASSFILE", PASS_FILE))) },
        { "ports",
            json_list(a,
                json_fields(a,
                    { "name", json_str("http") },
                    { "containerPort", json_int(PORT) },
                    { "protocol", json_str("TCP") })) },
        { "resources.requests.cpu", json_str("100m") },
        { "resources.requests.memory", json_str("128Mi") },
        { "resources.limits.cpu", json_str("500m") },
        { "resources.limits.memory", json_str("512Mi") },
        { "volumeMounts", json_list_end(&mounts) },
        { "livenessProbe", probe(a, "/health", 30, 10) },
        { "readinessProbe", probe(a, "/readiness", 5, 5) });
}

static struct json volumes(const struct registry *r)
{
    struct arena *a = r->a;
    struct json pass = json_get(r->spec, "pgpassSecretRef");
    struct json_builder list;
    json_builder_init(&list, a);
    json_push(&list,
        json_fields(
            a, { "name", json_str(CONFIG_VOLUME) }, { "configMap.name", json_str(r->config) }));
    json_push_all(&list, json_get(r->spec, "volumes"));
    if (json_present(pass)) {
        json_push(&list,
            json_fields(a,
                { "name", json_str(SECRET_VOLUME) },
                { "secret.secretName", json_get(pass, "name") },
                { "secret.items",
                    json_list(a,
                        json_fields(a,
                            { "key", json_str(toolhive_text(pass, "key", ".pgpass")) },
                            { "path", json_str(".pgpass") })) }));
        json_push(&list,
            json_map(a, { "name", json_str(PASS_VOLUME) }, { "emptyDir", json_empty_map() }));
    }
    return json_list_end(&list);
}

/* ---- the user's part of the pod, which takes precedence ---- */

static struct json with_items(struct arena *a, struct json ours, struct json users, const char *key,
    struct json (*join)(struct arena *, struct json, struct json))
{
    struct json_builder list;
    json_builder_init(&list, a);
    json_each (o, ours) {
        struct json u = json_find(users, key, json_get_text(*o, key));
        json_push(&list, json_present(u) ? join(a, *o, u) : *o);
    }
    json_each (u, users)
        if (!json_present(json_find(ours, key, json_get_text(*u, key))))
            json_push(&list, *u);
    return json_or_absent(json_list_end(&list));
}

static struct json replace(struct arena *a, struct json ours, struct json users)
{
    (void)a;
    (void)ours;
    return users;
}

static struct json join_container(struct arena *a, struct json ours, struct json users)
{
    static const char *const lists[][2] = {
        { "env", "name" }, { "volumeMounts", "mountPath" }, { "ports", "name" }
    };
    struct json joined = json_overlay(a, ours, users);
    for (size_t i = 0; i < lengthof(lists); i++)
        joined = json_with_member(a,
            joined,
            lists[i][0],
            with_items(a,
                json_get(ours, lists[i][0]),
                json_get(users, lists[i][0]),
                lists[i][1],
                replace));
    return joined;
}

static struct json join_template(struct arena *a, struct json ours, struct json users)
{
    static const struct {
        const char *name;
        struct json (*join)(struct arena *, struct json, struct json);
    } lists[] = {
        { "containers", join_container },
        { "initContainers", join_container },
        { "volumes", replace },
        { "imagePullSecrets", replace },
    };
    struct json left = json_get(ours, "spec"), right = json_get(users, "spec");
    struct json spec = json_overlay(a, left, right);
    for (size_t i = 0; i < lengthof(lists); i++)
        spec = json_with_member(a,
            spec,
            lists[i].name,
            with_items(a,
                json_get(left, lists[i].name),
                json_get(right, lists[i].name),
                "name",
                lists[i].join));
    /* The selector needs the labels, and the hash triggers rollouts. */
    struct json labels =
        json_overlay(a, json_get(users, "metadata.labels"), json_get(ours, "metadata.labels"));
    struct json annotations = json_overlay(
        a, json_get(users, "metadata.annotations"), json_get(ours, "metadata.annotations"));
    return json_fields(a,
        { "metadata.labels", labels },
        { "metadata.annotations", annotations },
        { "spec", spec });
}

static struct json deployment(const struct registry *r)
{
    struct arena *a = r->a;
    struct json labels = labels_of(r, r->api), users = json_get(r->spec, "podTemplateSpec");
    bool pass = json_present(json_get(r->spec, "pgpassSecretRef"));
    struct json tmpl = json_fields(a,
        { "metadata.labels", labels },
        { "metadata.annotations",
            json_map(a, { CONFIG_HASH, json_str(registry_spec_hash(a, r->spec)) }) },
        { "spec.serviceAccountName", json_str(r->account) },
        { "spec.imagePullSecrets",
            toolhive_pull_secrets(a, json_get(r->spec, "imagePullSecrets"), r->in->settings) },
        { "spec.initContainers", json_if(pass, json_list(a, init_container(a))) },
        { "spec.containers", json_list(a, container(r)) },
        { "spec.volumes", volumes(r) });
    const char *unknown = NULL;
    if (json_present(users))
        tmpl = go_template_known(a, join_template(a, tmpl, users), &unknown);
    if (unknown)
        toolhive_tell_ignored(r->out, unknown);
    struct json hash = { 0 };
    if (json_present(users))
        hash = json_map(a, { TOOLHIVE_POD_TEMPLATE_HASH, json_str(toolhive_hash(a, users)) });
    return json_fields(a,
        { "metadata.name", json_str(r->api) },
        { "metadata.labels", labels },
        { "metadata.annotations", hash },
        { "spec.replicas", json_int(1) },
        { "spec.selector.matchLabels", selector_of(r) },
        { "spec.template", tmpl });
}

/* ---- other children ---- */

static void plan_identity(const struct registry *r)
{
    static const char all[] = "get list watch create update patch delete";
    static const char *const rows[][3] = {
        { TOOLHIVE_GROUP, "mcpservers mcpremoteproxies virtualmcpservers", "get list watch" },
        { "", "services", "get list watch" },
        { "gateway.networking.k8s.io", "httproutes gateways", "get list watch" },
        { "", "configmaps", all },
        { "coordination.k8s.io", "leases", all },
        { "events.k8s.io", "events", "create patch" },
        { 0 },
    };
    struct arena *a = r->a;
    struct json name = json_str(r->account), labels = labels_of(r, r->account);
    plan_child(r->out,
        &RESOURCE_SERVICE_ACCOUNT,
        json_fields(a,
            { "metadata.name", name },
            { "metadata.labels", labels },
            { "imagePullSecrets",
                toolhive_pull_secrets(
                    a, json_get(r->spec, "imagePullSecrets"), r->in->settings) }));
    plan_child(r->out,
        &TOOLHIVE_ROLE,
        json_fields(a,
            { "metadata.name", name },
            { "metadata.labels", labels },
            { "rules", proxy_rules(a, rows) }));
    plan_child(r->out,
        &TOOLHIVE_ROLE_BINDING,
        json_fields(a,
            { "metadata.name", name },
            { "metadata.labels", labels },
            { "roleRef.apiGroup", json_str("rbac.authorization.k8s.io") },
            { "roleRef.kind", json_str("Role") },
            { "roleRef.name", name },
            { "subjects",
                json_list(a,
                    json_fields(a,
                        { "kind", json_str("ServiceAccount") },
                        { "name", name },
                        { "namespace", json_str(view_namespace(r->in)) })) }));
    plan_after(r->out, &TOOLHIVE_ROLE, r->account);
}

static void plan_config(const struct registry *r)
{
    const char *text = toolhive_text(r->spec, "configYAML", "");
    plan_child(r->out,
        &TOOLHIVE_CONFIG_MAP,
        json_fields(r->a,
            { "metadata.name", json_str(r->config) },
            { "metadata.annotations",
                json_map(r->a,
                    { TOOLHIVE_CONTENT_CHECKSUM, json_str(registry_content_hash(r->a, text)) }) },
            { "data", json_map(r->a, { "config.yaml", json_str(text) }) }));
}

static void plan_service(const struct registry *r)
{
    plan_child(r->out,
        &RESOURCE_SERVICE,
        json_fields(r->a,
            { "metadata.name", json_str(r->api) },
            { "metadata.labels", labels_of(r, r->api) },
            { "spec.selector", selector_of(r) },
            { "spec.ports",
                json_list(r->a,
                    json_fields(r->a,
                        { "name", json_str("http") },
                        { "port", json_int(PORT) },
                        { "targetPort", json_int(PORT) },
                        { "protocol", json_str("TCP") })) }));
}

/* ---- checks and status ---- */

/* The number of items of a list with this text at a path. */
static size_t count(struct json list, const char *path, const char *text)
{
    size_t n = 0;
    json_each (item, list)
        n += text_eq(json_get_text(*item, path), text);
    return n;
}

static const char *fault_of(const struct registry *r)
{
    bool pass = json_present(json_get(r->spec, "pgpassSecretRef"));
    if (strlen(r->account) > NAME_LABEL_MAX)
        return "metadata.name: labels of the children would be longer than 63 characters. Use a "
               "name of at most 50.";
    json_each (v, json_get(r->spec, "volumes")) {
        const char *name = toolhive_text(*v, "name", "");
        if (!*name)
            return "spec.volumes: a volume has no name";
        if (text_eq(name, CONFIG_VOLUME) ||
            (pass && (text_eq(name, SECRET_VOLUME) || text_eq(name, PASS_VOLUME))))
            return arena_printf(r->a, "volume name '%s' is reserved by the operator", name);
        if (count(json_get(r->spec, "volumes"), "name", name) > 1)
            return arena_printf(r->a, "spec.volumes: two volumes are called '%s'", name);
    }
    json_each (m, json_get(r->spec, "volumeMounts")) {
        const char *path = toolhive_text(*m, "mountPath", "");
        if (text_eq(path, CONFIG_PATH) || (pass && text_eq(path, PASS_FILE)))
            return arena_printf(r->a, "mount path '%s' is reserved by the operator", path);
        if (count(json_get(r->spec, "volumeMounts"), "mountPath", path) > 1)
            return arena_printf(r->a, "spec.volumeMounts: two volumes are mounted at '%s'", path);
    }
    return NULL;
}

static void tell(const struct registry *r, const char *phase, const char *message, bool observed)
{
    struct json then = json_get(r->in->object, "status");
    struct json live = view_child(r->in, &RESOURCE_DEPLOYMENT, r->api), url = { 0 };
    int64_t generation = json_get_int(r->in->object, "metadata.generation", 1);
    if (text_eq(phase, "Ready"))
        url = json_strf(r->a, "http://%s.%s:%d", r->api, view_namespace(r->in), PORT);
    plan_status(r->out,
        json_fields(r->a,
            { "phase", json_str(phase) },
            { "message", json_str(message) },
            { "url", json_present(url) ? url : json_get(then, "url") },
            { "readyReplicas", json_int_or_absent(json_get_int(live, "status.readyReplicas", 0)) },
            { "observedGeneration",
                observed ? json_int(generation) : json_get(then, "observedGeneration") }),
        NULL);
    if (json_get_int(then, "observedGeneration", 0) != generation)
        plan_event(r->out,
            true,
            "MCPRegistryDeprecated",
            "ToolHive has deprecated the kind MCPRegistry; its successor is the Helm chart "
            "toolhive-registry-server");
    if (text_eq(phase, "Failed"))
        plan_wait(r->out, "%s", message);
    else
        plan_done(r->out);
}

/* Keeps the workload. */
static void tell_failure(const struct registry *r, const char *reason, const char *message)
{
    plan_keep_children(r->out);
    plan_condition(r->out, "Ready", false, reason, "%s", message);
    tell(r, "Failed", message, false);
}

static void tell_state(const struct registry *r)
{
    const struct {
        const struct resource *resource;
        const char *name, *reason;
    } children[] = {
        { &RESOURCE_DEPLOYMENT, r->api, "DeploymentFailed" },
        { &TOOLHIVE_CONFIG_MAP, r->config, "ConfigMapFailed" },
        { &RESOURCE_SERVICE, r->api, "ServiceFailed" },
        { &TOOLHIVE_ROLE, r->account, "RBACFailed" },
    };
    for (size_t i = 0; i < lengthof(children); i++) {
        struct view_trouble t = view_trouble(r->in, children[i].resource, children[i].name);
        if (t.what == TROUBLE_FOREIGN || t.what == TROUBLE_REFUSED) {
            plan_condition(r->out, "Ready", false, children[i].reason, "%s", t.message);
            tell(r, "Failed", t.message, true);
            return;
        }
    }
    struct json live = view_child(r->in, &RESOURCE_DEPLOYMENT, r->api);
    bool ready = json_get_int(live, "status.readyReplicas", 0) > 0;
    const char *message = ready ? "Registry API is ready and serving requests"
                                : "Registry API deployment is not ready yet";
    plan_condition(r->out, "Ready", ready, ready ? "Ready" : "NotReady", "%s", message);
    tell(r, ready ? "Ready" : "Pending", message, true);
}

static void tell_template(const struct registry *r, const char *cause)
{
    const char *message = arena_printf(r->a,
        "Failed to parse PodTemplateSpec: failed to unmarshal PodTemplateSpec: %s. Deployment "
        "blocked until fixed.",
        cause);
    plan_keep_children(r->out);
    plan_condition(r->out, "PodTemplateValid", false, "InvalidPodTemplateSpec", "%s", message);
    tell(r, "Failed", arena_printf(r->a, "Invalid PodTemplateSpec: %s", message), false);
}

static void tell_pods(const struct registry *r)
{
    const char *of = arena_printf(r->a, APP "=%s", r->api);
    pods_plan_healthy(r->in, r->out, view_list(r->in, &registry_pod, view_namespace(r->in), of));
}

/* ---- the kind ---- */

static void reconcile(const struct view *in, struct plan *out)
{
    struct registry r = registry_of(in, out);
    struct json tmpl = json_get(r.spec, "podTemplateSpec");
    const char *text, *fault = fault_of(&r);
    struct error err;
    if (json_present(json_get(in->object, "metadata.deletionTimestamp"))) {
        plan_done(out);
        return;
    }
    tell_pods(&r);
    if (json_present(tmpl) && !go_template_print(r.a, tmpl, &text, &err)) {
        tell_template(&r, err.text);
        return;
    }
    if (json_present(tmpl))
        plan_condition(
            out, "PodTemplateValid", true, "ValidPodTemplateSpec", "PodTemplateSpec is valid");
    if (fault) {
        plan_keep_children(out);
        plan_condition(out, "Ready", false, "ValidationFailed", "%s", fault);
        tell(&r, "Failed", arena_printf(r.a, "Spec validation failed: %s", fault), false);
        return;
    }
    plan_identity(&r);
    plan_config(&r);
    plan_child(out, &RESOURCE_DEPLOYMENT, deployment(&r));
    plan_service(&r);
    tell_state(&r);
}

static void unreadable(const struct view *in, struct plan *out, const struct error *err)
{
    struct registry r = registry_of(in, out);
    tell_failure(&r, "ValidationFailed", arena_strdup(r.a, err->text));
}

#define NOTHING ((const char *const[]){ NULL })

static const struct kind_watch watches[] = {
    {
        .resource = &RESOURCE_DEPLOYMENT,
        .child = true,
        .keep = (const char *const[]){ "status.readyReplicas", NULL },
    },
    { .resource = &RESOURCE_SERVICE, .child = true, .keep = NOTHING },
    { .resource = &RESOURCE_SERVICE_ACCOUNT, .child = true, .keep = NOTHING },
    { .resource = &TOOLHIVE_CONFIG_MAP, .child = true, .keep = NOTHING },
    { .resource = &TOOLHIVE_ROLE, .child = true, .keep = NOTHING },
    { .resource = &TOOLHIVE_ROLE_BINDING, .child = true, .keep = NOTHING },
    {
        .resource = &registry_pod,
        .label_selector = "app.kubernetes.io/component=registry-api",
        .index_label = APP,
        .keep = PODS_HEALTHY_READS,
    },
    { 0 },
};

static const struct kind_grant grants[] = {
    { TOOLHIVE_GROUP, "mcpservers mcpremoteproxies virtualmcpservers", "get list watch" },
    { "", "services", "get list watch" },
    { "gateway.networking.k8s.io", "httproutes gateways", "get list watch" },
    { "", "configmaps", "get list watch create update patch delete" },
    { "coordination.k8s.io", "leases", "get list watch create update patch delete" },
    { "events.k8s.io", "events", "create patch" },
    { 0 },
};

const struct kind toolhive_registry_kind = {
    .resource = &TOOLHIVE_REGISTRY,
    .watches = watches,
    .grants = grants,
    .finalizer = "mcpregistry.toolhive.stacklok.dev/finalizer",
    .reconcile = reconcile,
    .unreadable = unreadable,
};
