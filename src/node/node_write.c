/* The node's requests to the API server. */

#include <sys/utsname.h>

#include "base/resource.h"
#include "base/time.h"
#include "http/loop.h"
#include "kube/events.h"
#include "node/node_internal.h"

#define LOOK_AGAIN_MS 2000              /* to check whether a port of the machine is free */
#define TOKEN_SECONDS 3607              /* what the API server takes as "an hour" for pods */
#define TOKEN_AGAIN_MS (48 * 60 * 1000) /* at four fifths of its life */

static const struct env *env_of(const struct entry *e)
{
    return loop_env(e->node->options.loop);
}

static struct kube_target target_of(const struct entry *e, const char *subresource)
{
    return (struct kube_target){ &RESOURCE_POD, e->ns, e->name, subresource };
}

/* Whether `there` already contains everything in `ours`. */
static bool covers(struct json there, struct json ours)
{
    if (ours.type != there.type || ours.count > there.count)
        return json_equal(ours, there);
    if (ours.type == JSON_MAP) {
        json_each_member (m, ours)
            if (!covers(json_member(there, m->key), m->value))
                return false;
        return true;
    }
    if (ours.type != JSON_LIST || ours.count != there.count)
        return json_equal(ours, there);
    for (uint32_t i = 0; i < ours.count; i++)
        if (!covers(there.items[i], ours.items[i]))
            return false;
    return true;
}

/* ---- events ---- */

void node_event(struct node *n, struct json pod, const char *field, bool warning,
    const char *reason, const char *note)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json regarding = json_map(&a, /* items of a list have no kind */
        { "apiVersion", json_str("v1") },
        { "kind", json_str("Pod") },
        { "metadata", json_get(pod, "metadata") });
    event_record(n->events,
        &(struct event){ .regarding = regarding,
            .field = field,
            .warning = warning,
            .reason = reason,
            .action = text_ends(reason, "Scheduled") || text_ends(reason, "Scheduling") ? "Binding"
                                                                                        : "Run",
            .note = note });
}

void entry_is_bound(struct entry *e)
{
    if (!e->binding)
        return;
    e->binding = false;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    node_event(e->node,
        e->unbound,
        NULL,
        false,
        "Scheduled",
        arena_printf(
            &a, "Successfully assigned %s/%s to %s", e->ns, e->name, e->node->options.name));
}

/* ---- pods ---- */

static void written(void *ctx, const struct kube_reply *reply)
{
    struct entry *e = ctx;
    e->write = NULL;
    enum error_code code = reply->error.code;
    if (code == ERR_NONE || code == ERR_NOT_FOUND) {
        e->failures = 0;
        if (code == ERR_NONE)
            entry_is_bound(e);
        e->binding = false; /* the watch reports the result */
        if (e->dirty)
            entry_write(e);
        node_look_whether_stopped(e->node);
        return;
    }
    node_look_whether_stopped(e->node); /* a failed request must not block the stop */
    e->deleted = e->binding = false;
    int64_t wait_ms = reply->error.retry_after_ms;
    timer_set(env_of(e),
        &e->again,
        wait_ms ? wait_ms : env_backoff_ms(env_of(e), 100, 30000, e->failures++));
}

static void patch_status(struct entry *e, struct arena *a, struct json status)
{
    struct json patch = json_fields(a, { "metadata.uid", json_str(e->uid) }, { "status", status });
    e->write = kube_patch(e->node->client,
        target_of(e, "status"),
        KUBE_PATCH_MERGE,
        patch,
        (struct kube_write){ .field_manager = NODE_MANAGER },
        (struct kube_then){ written, e });
}

static void write_unbound(struct entry *e, struct arena *a)
{
    bool look_again;
    const char *unfit = entry_unfit(a, e, &look_again);
    if (look_again)
        timer_set(env_of(e), &e->again, LOOK_AGAIN_MS);
    if (!unfit) {
        e->binding = true;
        struct json body = json_fields(a,
            { "apiVersion", json_str("v1") },
            { "kind", json_str("Binding") },
            { "metadata.name", json_str(e->name) },
            { "metadata.namespace", json_str(e->ns) },
            { "metadata.uid", json_str(e->uid) },
            { "target.apiVersion", json_str("v1") },
            { "target.kind", json_str("Node") },
            { "target.name", json_str(e->node->options.name) });
        e->write = kube_create(e->node->client,
            target_of(e, "binding"),
            body,
            (struct kube_write){ .field_manager = NODE_MANAGER },
            (struct kube_then){ written, e });
        return;
    }
    struct json old = json_find(json_get(e->unbound, "status.conditions"), "type", "PodScheduled");
    if (text_eq(json_get_text(old, "message"), unfit))
        return;
    node_event(e->node, e->unbound, NULL, true, "FailedScheduling", unfit);
    const char *since = text_eq(json_get_text(old, "status"), "False")
                            ? json_get_text(old, "lastTransitionTime")
                            : NULL;
    struct json condition = json_map(a,
        { "type", json_str("PodScheduled") },
        { "status", json_str("False") },
        { "reason", json_str("Unschedulable") },
        { "message", json_str(unfit) },
        { "lastTransitionTime", json_str(since ? since : time_format(a, env_wall_ms(env_of(e)))) });
    patch_status(e, a, json_map(a, { "conditions", json_list(a, condition) }));
}

void entry_write(struct entry *e)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (e->write) {
        e->dirty = true;
        return;
    }
    e->dirty = false;
    if (e->gone || timer_is_set(&e->again))
        return;
    if (!e->pod) {
        if (!e->binding)
            write_unbound(e, &a);
        return;
    }
    struct json object = pod_object(e->pod), status = pod_status(&a, e->pod);
    if (!covers(json_get(object, "status"), status)) {
        patch_status(e, &a, status);
        return;
    }
    bool leaving = json_present(json_get(object, "metadata.deletionTimestamp"));
    if (!leaving || !pod_stopped(e->pod) || e->deleted)
        return;
    e->deleted = true;
    e->write = kube_delete(e->node->client,
        target_of(e, NULL),
        &(struct kube_delete){ .uid = e->uid },
        (struct kube_then){ written, e });
}

/* ---- tokens ---- */

static void got_token(void *ctx, const struct kube_reply *reply)
{
    struct entry *e = ctx;
    e->token = NULL;
    const char *token = json_get_text(reply->body, "status.token");
    if (reply->error.code || !token || !e->pod) {
        timer_set(env_of(e), &e->token_again, 2000);
        return;
    }
    pod_token(e->pod, e->audiences[e->audience_next++], token);
    if (e->audience_next < e->audience_count)
        entry_ask_token(e);
    else
        timer_set(env_of(e), &e->token_again, TOKEN_AGAIN_MS);
}

void entry_ask_token(struct entry *e)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (e->token || !e->pod || !e->audience_count)
        return;
    if (e->audience_next >= e->audience_count)
        e->audience_next = 0;
    const char *audience = e->audiences[e->audience_next];
    const char *account = json_get_text(pod_object(e->pod), "spec.serviceAccountName");
    struct json body = json_fields(&a,
        { "apiVersion", json_str("authentication.k8s.io/v1") },
        { "kind", json_str("TokenRequest") },
        { "spec.audiences", *audience ? json_list(&a, json_str(audience)) : json_empty_list() },
        { "spec.expirationSeconds", json_int(TOKEN_SECONDS) },
        { "spec.boundObjectRef.apiVersion", json_str("v1") },
        { "spec.boundObjectRef.kind", json_str("Pod") },
        { "spec.boundObjectRef.name", json_str(e->name) },
        { "spec.boundObjectRef.uid", json_str(e->uid) });
    e->token = kube_create(e->node->client,
        (struct kube_target){
            &RESOURCE_SERVICE_ACCOUNT, e->ns, account ? account : "default", "token" },
        body,
        (struct kube_write){ .field_manager = NODE_MANAGER },
        (struct kube_then){ got_token, e });
}

/* ---- the node itself ---- */

static void registered(void *ctx, const struct kube_reply *reply)
{
    (void)ctx, (void)reply; /* pods also run without it */
}

static struct json node_status(struct node *n, struct arena *a)
{
    struct utsname u = { 0 };
    uname(&u);
    const char *now = time_format(a, env_wall_ms(loop_env(n->options.loop)));
    struct json capacity = capacity_to_json(a, &n->capacity);
    struct json ready = json_map(a,
        { "type", json_str("Ready") },
        { "status", json_str("True") },
        { "reason", json_str("KubeletReady") },
        { "message", json_str("pods run as local processes") },
        { "lastHeartbeatTime", json_str(now) },
        { "lastTransitionTime", json_str(now) });
    struct json address =
        json_map(a, { "type", json_str("InternalIP") }, { "address", json_str(n->host.host_ip) });
    return json_fields(a,
        { "capacity", capacity },
        { "allocatable", capacity },
        { "conditions", json_list(a, ready) },
        { "addresses", json_list(a, address) },
        { "nodeInfo.kernelVersion", json_str(arena_strdup(a, u.release)) },
        { "nodeInfo.osImage", json_str(arena_strdup(a, u.sysname)) },
        { "nodeInfo.operatingSystem", json_str("linux") },
        { "nodeInfo.architecture", json_str(text_eq(u.machine, "aarch64") ? "arm64" : "amd64") },
        { "nodeInfo.kubeletVersion", json_str("leeboard-" LEEBOARD_VERSION) },
        { "nodeInfo.containerRuntimeVersion", json_str("process://" LEEBOARD_VERSION) },
        { "nodeInfo.kubeProxyVersion", json_str("") },
        { "nodeInfo.machineID", json_str("") },
        { "nodeInfo.systemUUID", json_str("") },
        { "nodeInfo.bootID", json_str("") });
}

static void made(void *ctx, const struct kube_reply *reply)
{
    struct node *n = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (reply->error.code)
        return;
    kube_apply(n->client,
        (struct kube_target){ &RESOURCE_NODE, NULL, n->options.name, "status" },
        json_fields(&a,
            { "apiVersion", json_str("v1") },
            { "kind", json_str("Node") },
            { "metadata.name", json_str(n->options.name) },
            { "status", node_status(n, &a) }),
        (struct kube_write){ .field_manager = NODE_MANAGER, .force = true },
        (struct kube_then){ registered, n });
}

void node_register(struct node *n)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    kube_apply(n->client,
        (struct kube_target){ &RESOURCE_NODE, NULL, n->options.name, NULL },
        json_fields(&a,
            { "apiVersion", json_str("v1") },
            { "kind", json_str("Node") },
            { "metadata.name", json_str(n->options.name) },
            { "metadata.labels",
                json_map(&a,
                    { "kubernetes.io/hostname", json_str(n->options.name) },
                    { "kubernetes.io/os", json_str("linux") }) }),
        (struct kube_write){ .field_manager = NODE_MANAGER, .force = true },
        (struct kube_then){ made, n });
}
