/* When pods may be replaced: if the service asks for it, a changed template waits until no request
 * is being served. Pods that exceed their lifetime are deleted one at a time.
 *
 *   template as planned ──same as ours now──► nothing to do
 *        │ differs only in a program text ──► the old text stays
 *        │ differs, waitForIdle
 *        ▼
 *   any address that serves? ──no──► roll
 *        │ yes: ask them (effect pods.idle, every 5 s)
 *        ├─ idle ──► roll
 *        ├─ busy, or no answer ──► keep the template, RolloutDeferred=True
 *        └─ the same for longer than idleTimeoutSeconds ──► roll, RolloutDeferred=False */

#include "kinds/llmkube/isvc.h"

#include "base/time.h"
#include "base/settle.h"
#include "kinds/llmkube/storage_program.h"

#define DEFERRED "RolloutDeferred"
#define IDLE_EVERY_MS 5000
/* An older answer is out of date. */
#define IDLE_FRESH_MS (3 * IDLE_EVERY_MS)
#define RECYCLE_RETRY_MS 30000

/* ---- program texts ---- */

/* The program that an init container runs: `sh -c TEXT`. */
static bool is_program(struct json command)
{
    return json_is(command, JSON_LIST) && command.count == 3 &&
           text_eq(json_text(command.items[0]), "sh") && text_eq(json_text(command.items[1]), "-c");
}

/* The planned template with the present program texts, in containers that exist in both, unless the
 * Model now has another digest or refresh policy. */
static struct json with_programs_of(struct arena *a, struct json planned, struct json present)
{
    struct json containers = json_get(planned, "spec.initContainers");
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (container, containers) {
        struct json mine = *container;
        struct json other = json_find(
            json_get(present, "spec.initContainers"), "name", json_get_text(mine, "name"));
        struct json command = json_get(other, "command");
        struct json own = json_get(mine, "command");
        if (is_program(own) && is_program(command) &&
            storage_same_request(json_text(own.items[2]), json_text(command.items[2])))
            mine = json_with_member(a, mine, "command", command);
        json_push(&b, mine);
    }
    return json_present(containers)
               ? json_with(a, planned, "spec.initContainers", json_list_end(&b))
               : planned;
}

/* ---- asking the pods ---- */

/* Addresses that may be serving requests, and the number of those that are not. */
struct serving {
    struct json addresses;
    uint32_t count, others;
};

static bool serves(struct json endpoint)
{
    struct json ready = json_get(endpoint, "conditions.ready");
    struct json serving = json_get(endpoint, "conditions.serving");
    /* A terminating pod may still answer; absent means yes. */
    return json_is(serving, JSON_BOOL) ? serving.boolean
                                       : !json_is(ready, JSON_BOOL) || ready.boolean;
}

static struct json address_of(const struct isvc *svc, const char *ip)
{
    long long port = svc->container_port;
    return strchr(ip, ':') ? json_strf(svc->arena, "[%s]:%lld", ip, port)
                           : json_strf(svc->arena, "%s:%lld", ip, port);
}

static void add_addresses(
    const struct isvc *svc, struct json slice, struct json_builder *b, uint32_t *others)
{
    struct json endpoints = json_get(slice, "endpoints");
    json_each (endpoint, endpoints) {
        const char *ip = json_get_text(*endpoint, "addresses.0");
        if (ip && serves(*endpoint))
            json_push(b, address_of(svc, ip));
        else if (ip)
            ++*others;
    }
}

static struct serving serving_of(const struct isvc *svc)
{
    struct json slices = view_list(svc->in,
        &RESOURCE_ENDPOINT_SLICE,
        svc->ns,
        arena_printf(svc->arena, "kubernetes.io/service-name=%s", svc->service));
    struct serving found = { 0 };
    struct json_builder b;
    json_builder_init(&b, svc->arena);
    json_each (slice, slices)
        add_addresses(svc, *slice, &b, &found.others);
    found.addresses = json_list_end(&b);
    found.count = found.addresses.count;
    return found;
}

/* How to ask; false: this runtime has no way. */
static bool idle_question(const struct isvc *svc, const char **ret_kind, const char **ret_target)
{
    struct json annotations = json_get(svc->in->object, "metadata.annotations");
    *ret_kind = svc->runtime->idle_kind;
    *ret_target = text_eq(*ret_kind, "endpoint")
                      ? json_text(json_member(annotations, RUNTIME_IDLE_ANNOTATION))
                      : svc->runtime->idle_target;
    return *ret_kind && !text_empty(*ret_target);
}

static struct isvc_idle ask_idle(struct isvc *svc, struct json addresses)
{
    const char *kind, *target;
    if (!idle_question(svc, &kind, &target))
        return (struct isvc_idle){
            .known = true,
            .reason = "IdleCheckUnsupported",
            .message = arena_printf(svc->arena,
                "Runtime %s cannot be asked whether it is idle; the rollout waits for the timeout",
                svc->runtime->name),
        };
    struct json args = json_map(svc->arena,
        { "namespace", json_str(svc->ns) },
        { "addresses", addresses },
        { "kind", json_str(kind) },
        { "target", json_str(target) });
    plan_effect(svc->out, "pods.idle", args, IDLE_EVERY_MS);
    struct json fact = view_fact(svc->in, "pods.idle", args);
    struct json result = json_get(fact, "result");
    bool fresh = svc->in->now_ms - json_get_int(fact, "at", 0) <= IDLE_FRESH_MS;
    const char *error = json_get_text(fact, "error.message");
    if (!fresh || !(error || json_present(result)))
        return (struct isvc_idle){ 0 };
    if (!error && json_get_bool(result, "idle", false))
        return (struct isvc_idle){ .known = true };
    bool busy = !error && text_eq(json_get_text(result, "reason"), "PodsBusy");
    if (busy)
        return (struct isvc_idle){
            true, "PodsBusy", "Backend slots are busy, waiting for idle before rollout"
        };
    const char *detail = error ? error : json_get_text(result, "message");
    return (struct isvc_idle){ true,
        "IdleCheckFailed",
        arena_printf(svc->arena,
            "Whether the pods are idle is not known (%s); the rollout waits until it is, or for "
            "the timeout",
            detail ? detail : "no answer") };
}

struct isvc_idle rollout_idle(struct isvc *svc)
{
    struct serving serving = serving_of(svc);
    return serving.count ? ask_idle(svc, serving.addresses) : (struct isvc_idle){ .known = true };
}

/* ---- the gate ---- */

static int64_t deferred_since(const struct isvc *svc)
{
    struct json condition = isvc_condition(svc, DEFERRED);
    int64_t since;
    if (text_eq(json_get_text(condition, "status"), "True") &&
        time_parse(json_get_text(condition, "lastTransitionTime"), &since))
        return since;
    return svc->in->now_ms;
}

/* Whether the changed template may be applied now. */
static bool may_roll(struct isvc *svc)
{
    struct serving serving = serving_of(svc);
    if (serving.count == 0)
        return true;
    struct isvc_idle answer = ask_idle(svc, serving.addresses);
    if (!answer.known) {
        isvc_condition_keep(svc, DEFERRED);
        return false;
    }
    if (!answer.reason)
        return true;
    if (text_eq(answer.reason, "PodsBusy") && serving.others > 0) {
        answer.reason = "PodsCrashLooping";
        answer.message = arena_printf(svc->arena,
            "%u of %u pods do not serve, the others are busy; waiting for idle before rollout",
            serving.others,
            serving.others + serving.count);
    }
    int64_t waited = svc->in->now_ms - deferred_since(svc);
    if (waited > svc->spec.idle_timeout_s * 1000) {
        plan_condition(svc->out,
            DEFERRED,
            false,
            "IdleTimeoutExceeded",
            "Not idle within %lld s; rolling out all the same",
            (long long)svc->spec.idle_timeout_s);
        return true;
    }
    plan_condition(svc->out, DEFERRED, true, answer.reason, "%s", answer.message);
    isvc_recheck(svc, IDLE_EVERY_MS);
    return false;
}

/* Upstream's operator wrote by update, so its fields include the API server's defaults. */
static bool is_upstreams(struct json tmpl)
{
    return json_present(json_get(tmpl, "spec.dnsPolicy"));
}

struct json rollout_template(struct isvc *svc, struct json planned)
{
    struct json now =
        json_get(view_owned(svc->in, &RESOURCE_DEPLOYMENT, svc->child), "spec.template");
    struct json settled = with_programs_of(svc->arena, planned, now);
    bool waits = svc->spec.wait_for_idle && !svc->spec.force_rollout && svc->desired > 0;
    if (settle_same(settled, now, is_upstreams(now) ? SETTLE_PLANNED : SETTLE_ALL)) {
        if (waits && text_eq(json_get_text(isvc_condition(svc, DEFERRED), "status"), "False"))
            isvc_condition_keep(svc, DEFERRED);
        return settled;
    }
    return !json_present(now) || !waits || may_roll(svc) ? planned : now;
}

/* ---- pods beyond their lifetime ---- */

static bool is_stable(const struct isvc *svc)
{
    struct json live = svc->live;
    int64_t wanted = json_get_int(live, "spec.replicas", 0);
    return wanted > 0 && json_get_int(live, "status.replicas", 0) == wanted &&
           json_get_int(live, "status.updatedReplicas", 0) == wanted &&
           json_get_int(live, "status.readyReplicas", 0) == wanted &&
           json_get_int(live, "status.observedGeneration", 0) >=
               json_get_int(live, "metadata.generation", 0);
}

/* The pod that started first; absent if one is terminating already. */
static struct json oldest_pod(const struct isvc *svc, int64_t *ret_started_ms)
{
    struct json oldest = { 0 };
    json_each (pod, svc->pods) {
        const char *started = json_get_text(*pod, "status.startTime");
        int64_t at;
        if (json_present(json_get(*pod, "metadata.deletionTimestamp")))
            return json_none;
        if (!started)
            started = json_get_text(*pod, "metadata.creationTimestamp");
        if (!time_parse(started, &at) || (json_present(oldest) && at >= *ret_started_ms))
            continue;
        oldest = *pod;
        *ret_started_ms = at;
    }
    return oldest;
}

static bool pod_is_idle(struct isvc *svc, struct json pod)
{
    const char *ip = json_get_text(pod, "status.podIP");
    if (!ip)
        return true;
    struct isvc_idle answer = ask_idle(svc, json_list(svc->arena, address_of(svc, ip)));
    return answer.known && !answer.reason;
}

void rollout_recycle(struct isvc *svc)
{
    const struct isvc_spec *spec = &svc->spec;
    if (!spec->pod_lifetime_s || svc->ended || svc->metal || !is_stable(svc))
        return;
    int64_t started = 0, now = svc->in->now_ms;
    struct json pod = oldest_pod(svc, &started);
    if (!json_present(pod))
        return;
    int64_t expires = started + *spec->pod_lifetime_s * 1000;
    if (now < expires) {
        isvc_recheck(svc, expires - now);
        return;
    }
    int64_t patience_s =
        spec->pod_lifetime_idle_s ? *spec->pod_lifetime_idle_s : spec->idle_timeout_s;
    bool patient = spec->wait_for_idle && now < expires + patience_s * 1000;
    if (patient && !pod_is_idle(svc, pod)) {
        isvc_recheck(svc, IDLE_EVERY_MS);
        return;
    }
    const char *name = json_get_text(pod, "metadata.name");
    plan_evict(svc->out, name, json_get_text(pod, "metadata.uid"));
    isvc_recheck(svc, RECYCLE_RETRY_MS);
    struct view_trouble trouble = view_trouble(svc->in, &RESOURCE_POD, name);
    if (trouble.what == TROUBLE_REFUSED) {
        const char *message = arena_printf(svc->arena,
            "Cannot end pod %s, which is older than maxPodLifetimeSeconds: %s",
            name,
            trouble.message);
        plan_condition(svc->out, "PodsRecycled", false, "PodRecycleForbidden", "%s", message);
        plan_event(svc->out, true, "PodRecycleForbidden", "%s", message);
        return;
    }
    plan_event(svc->out,
        false,
        "PodRecycled",
        "Evicted pod %s, which is older than maxPodLifetimeSeconds; the Deployment replaces it",
        name);
}
