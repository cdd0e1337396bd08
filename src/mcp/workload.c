#include "mcp/workload.h"

#include "mcp/runconfig.h"

#define CONTAINER "mcp"
#define RESTARTED_AT "kubectl.kubernetes.io/restartedAt"
#define NODE_PORT_MIN 30000
#define NODE_PORT_MAX 32767
#define AFFINITY_SECONDS 1800

bool workload_read_patch(struct arena *a, const char *text, struct json *ret, struct error *err)
{
    *ret = json_none;
    if (text_empty(text))
        return true;
    if (!json_parse(a, str_of(text), ret, err))
        return fail_in(err, "--k8s-pod-patch");
    if (!json_is(*ret, JSON_MAP))
        return fail(err,
            ERR_INVALID,
            "--k8s-pod-patch: expected a PodTemplateSpec, got %s",
            json_type_name(*ret));
    return true;
}

static struct json labels(struct arena *a, const struct workload *w)
{
    return json_overlay(a,
        w->config->labels,
        json_map(a, { "app", json_str(w->config->name) }, { "toolhive", json_str("true") }));
}

/* Adds default fields that the patch omits. */
static struct json filled(struct arena *a, struct json given, struct json defaults)
{
    return json_overlay(a, defaults, json_is(given, JSON_MAP) ? given : json_empty_map());
}

static struct json pod_security(struct arena *a, const struct workload *w)
{
    struct json id = w->is_openshift ? json_none : json_int(1000);
    return json_fields(a,
        { "runAsNonRoot", json_bool(true) },
        { "runAsUser", id },
        { "runAsGroup", id },
        { "fsGroup", id },
        { "seccompProfile.type", json_str("RuntimeDefault") });
}

static struct json container_security(struct arena *a, const struct workload *w)
{
    struct json id = w->is_openshift ? json_none : json_int(1000);
    return json_fields(a,
        { "privileged", json_bool(false) },
        { "runAsNonRoot", json_bool(true) },
        { "runAsUser", id },
        { "runAsGroup", id },
        { "allowPrivilegeEscalation", json_bool(false) },
        { "readOnlyRootFilesystem", json_bool(true) },
        { "capabilities.drop", json_list(a, json_str("ALL")) },
        { "seccompProfile.type", json_str("RuntimeDefault") });
}

/* The patch's variables, then those of the RunConfig, sorted by name as maps are. */
static struct json env(struct arena *a, const struct workload *w, struct json given)
{
    struct json vars = w->config->env_vars;
    struct json_builder all;
    if (w->config->transport != TRANSPORT_STDIO && !json_present(json_member(vars, "MCP_HOST")))
        vars = json_with_member(
            a, json_is(vars, JSON_MAP) ? vars : json_empty_map(), "MCP_HOST", json_str(""));
    json_builder_init(&all, a);
    json_push_all(&all, json_is(given, JSON_LIST) ? given : json_empty_list());
    json_each_member (m, vars)
        json_push(&all,
            json_map(a,
                { "name", json_str(m->key) },
                { "value", json_str_or_absent(json_text(m->value)) }));
    return json_or_absent(json_list_end(&all));
}

/* The end of the log becomes the message of a failed container, and so a part of PodsHealthy.
 * Running pods are not replaced for it. */
static struct json message_policy(struct json given, struct json live)
{
    static const char field[] = "terminationMessagePolicy";
    struct json theirs =
        json_find(json_get(live, "spec.template.spec.containers"), "name", CONTAINER);
    if (json_present(json_get(given, field)))
        return json_get(given, field);
    return json_present(theirs) ? json_get(theirs, field) : json_str("FallbackToLogsOnError");
}

static struct json container(
    struct arena *a, const struct workload *w, struct json given, struct json live)
{
    const struct runconfig *c = w->config;
    struct json ports = { 0 };
    if (c->transport == TRANSPORT_SSE)
        ports = json_list(a,
            json_map(
                a, { "containerPort", json_int(c->target_port) }, { "protocol", json_str("TCP") }));
    struct json ours = json_map(a,
        { "name", json_str(CONTAINER) },
        { "image", json_str(c->image) },
        { "args", json_or_absent(w->args) },
        { "stdin", json_true_or_absent(c->transport == TRANSPORT_STDIO) },
        { "env", env(a, w, json_get(given, "env")) },
        { "ports", ports },
        { "terminationMessagePolicy", message_policy(given, live) },
        { "securityContext",
            filled(a, json_get(given, "securityContext"), container_security(a, w)) });
    return json_overlay(a, given, ours);
}

static struct json containers(
    struct arena *a, const struct workload *w, struct json given, struct json live)
{
    struct json_builder all;
    bool found = false;
    json_builder_init(&all, a);
    json_each (item, given) {
        bool is_ours = text_eq(json_get_text(*item, "name"), CONTAINER);
        found = found || is_ours;
        json_push(&all, is_ours ? container(a, w, *item, live) : *item);
    }
    if (!found)
        json_push(&all, container(a, w, json_empty_map(), live));
    return json_list_end(&all);
}

static struct json template_annotations(struct arena *a, const struct workload *w, struct json live)
{
    struct json restarted =
        json_member(json_get(live, "spec.template.metadata.annotations"), RESTARTED_AT);
    struct json all =
        json_overlay(a, json_get(w->pod_patch, "metadata.annotations"), json_empty_map());
    if (w->config->generation > 0)
        all = json_with_member(
            a, all, WORKLOAD_GENERATION, json_strf(a, "%lld", (long long)w->config->generation));
    if (json_present(restarted))
        all = json_with_member(a, all, RESTARTED_AT, restarted);
    return json_or_absent(all);
}

static struct json pod_template(struct arena *a, const struct workload *w, struct json live)
{
    struct json spec = json_get(w->pod_patch, "spec");
    struct json ours = json_map(a,
        { "containers", containers(a, w, json_get(spec, "containers"), live) },
        { "restartPolicy", json_str("Always") },
        { "securityContext", filled(a, json_get(spec, "securityContext"), pod_security(a, w)) });
    return json_fields(a,
        { "metadata.labels",
            json_overlay(a, json_get(w->pod_patch, "metadata.labels"), labels(a, w)) },
        { "metadata.annotations", template_annotations(a, w, live) },
        { "spec", json_overlay(a, spec, ours) });
}

struct json workload_stateful_set(struct arena *a, const struct workload *w, struct json live)
{
    const struct runconfig *c = w->config;
    struct json replicas = json_if(c->backend_replicas, json_int(*c->backend_replicas));
    return json_fields(a,
        { "apiVersion", json_str("apps/v1") },
        { "kind", json_str("StatefulSet") },
        { "metadata.name", json_str(c->name) },
        { "metadata.namespace", json_str(w->ns) },
        { "metadata.labels", labels(a, w) },
        { "metadata.resourceVersion", json_get(live, "metadata.resourceVersion") },
        { "spec.replicas", replicas },
        { "spec.selector.matchLabels.app", json_str(c->name) },
        { "spec.serviceName", json_str(c->name) },
        { "spec.template", pod_template(a, w, live) });
}

struct json workload_service(
    struct arena *a, const struct workload *w, struct json owner, bool headless)
{
    const struct runconfig *c = w->config;
    bool is_node = !headless && c->target_port >= NODE_PORT_MIN && c->target_port <= NODE_PORT_MAX;
    struct json none = { 0 };
    if (c->transport == TRANSPORT_STDIO)
        return none;
    struct json port = json_map(a,
        { "name", json_strf(a, "port-%lld", (long long)c->target_port) },
        { "port", json_int(c->target_port) },
        { "targetPort", json_int(c->target_port) },
        { "nodePort", is_node ? json_int(c->target_port) : none },
        { "protocol", json_str("TCP") });
    struct json reference = json_map(a,
        { "apiVersion", json_str("apps/v1") },
        { "kind", json_str("StatefulSet") },
        { "name", json_str(c->name) },
        { "uid", json_get(owner, "metadata.uid") },
        { "controller", json_bool(true) },
        { "blockOwnerDeletion", json_bool(true) });
    return json_fields(a,
        { "apiVersion", json_str("v1") },
        { "kind", json_str("Service") },
        { "metadata.name", json_strf(a, headless ? "mcp-%s-headless" : "mcp-%s", c->name) },
        { "metadata.namespace", json_str(w->ns) },
        { "metadata.labels", labels(a, w) },
        { "metadata.ownerReferences", json_list(a, reference) },
        { "spec.type", headless ? none : json_str(is_node ? "NodePort" : "ClusterIP") },
        { "spec.clusterIP", headless ? json_str("None") : none },
        { "spec.selector.app", json_str(c->name) },
        { "spec.ports", json_list(a, port) },
        { "spec.sessionAffinity", headless ? none : json_str("ClientIP") },
        { "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
            headless ? none : json_int(AFFINITY_SECONDS) });
}

bool workload_is_older(const struct workload *w, struct json live)
{
    int64_t theirs;
    const char *text = json_text(
        json_member(json_get(live, "spec.template.metadata.annotations"), WORKLOAD_GENERATION));
    return w->config->generation > 0 && text && str_to_int(str_of(text), &theirs) &&
           theirs > w->config->generation;
}

const char *workload_url(struct arena *a, const struct runconfig *c)
{
    return arena_printf(a, "http://mcp-%s:%lld", c->name, (long long)c->target_port);
}
