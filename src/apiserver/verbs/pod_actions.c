/* POST on pods: pods/NAME/binding (and bindings), pods/NAME/eviction. */

#include "apiserver/builtin/defaults.h"
#include "apiserver/core/body.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/object.h"
#include "apiserver/core/options.h"
#include "apiserver/rules/check.h"
#include "apiserver/verbs/remove.h"
#include "base/selector.h"

/* Sets a condition in a status, with the time if it is new or changed; others are kept. */
static struct json with_condition(
    struct arena *a, struct json object, struct json condition, const char *now)
{
    struct json_builder b;
    struct json old = json_get(object, "status.conditions");
    json_builder_init(&b, a);
    bool found = false;
    json_each (c, old) {
        bool same = text_eq(json_get_text(*c, "type"), json_get_text(condition, "type"));
        found = found || same;
        if (!same) {
            json_push(&b, *c);
            continue;
        }
        bool moved = !json_equal(json_member(*c, "status"), json_member(condition, "status"));
        json_push(&b,
            json_with_member(a,
                condition,
                "lastTransitionTime",
                moved ? json_str(now) : json_member(*c, "lastTransitionTime")));
    }
    if (!found)
        json_push(&b, json_with_member(a, condition, "lastTransitionTime", json_str(now)));
    return json_with(a, object, "status.conditions", json_list_end(&b));
}

static void answer_done(struct api_call *c)
{
    struct json done = status_success(&c->arena, json_none);
    call_json(c, 201, json_with_member(&c->arena, done, "code", json_int(201)));
}

/* The pod in the path of a call; false: answered. */
static bool read_pod(struct write *w, struct api_call *c, const char *name)
{
    *w = (struct write){
        .call = c,
        .server = c->server,
        .arena = &c->arena,
        .kind = registry_find(c->server->registry, "", "v1", "pods"),
        .ns = c->ns,
        .name = name,
    };
    return write_read_old(w) || call_fail(c, status_not_found(w->arena, w->kind, name));
}

/* ---- binding ---- */

static bool check_binding(struct api_call *c, struct json binding)
{
    struct field_errors errors;
    field_errors_init(&errors, &c->arena);
    struct json kind = json_get(binding, "target.kind");
    if (!check_is_empty(kind) && !text_eq(json_text(kind), "Node"))
        field_error_add(&errors,
            FIELD_NOT_SUPPORTED,
            "target.kind",
            kind,
            "supported values: \"Node\", \"<empty>\"");
    if (check_is_empty(json_get(binding, "target.name")))
        field_required(&errors, "target.name", NULL);
    if (!errors.count)
        return true;
    return call_fail(
        c, (struct api_status){ 500, "", field_errors_text(&errors), .details = { 0 } });
}

static bool fail_binding(struct write *w, const char *why)
{
    struct api_kind like = *w->kind;
    like.resource.plural = "pods/binding";
    return call_fail(w->call, status_conflict(w->arena, &like, w->name, why));
}

static bool check_bindable(struct write *w, struct json binding)
{
    struct arena *a = w->arena;
    const char *node = json_get_text(w->old, "spec.nodeName");
    const char *version = json_get_text(binding, "metadata.resourceVersion");
    if (!write_check_uid(w, json_get_text(binding, "metadata.uid")))
        return false;
    if (!text_empty(version) &&
        !text_eq(version, json_get_text(w->old, "metadata.resourceVersion")))
        return call_fail(w->call, status_conflict(a, w->kind, w->name, WRITE_MODIFIED));
    if (meta_is_deleting(w->old))
        return fail_binding(
            w, arena_printf(a, "pod %s is being deleted, cannot be assigned to a host", w->name));
    if (!text_empty(node))
        return fail_binding(
            w, arena_printf(a, "pod %s is already assigned to node \"%s\"", w->name, node));
    if (json_get(w->old, "spec.schedulingGates").count)
        return fail_binding(
            w, arena_printf(a, "pod %s has non-empty .spec.schedulingGates", w->name));
    return true;
}

static struct json with_texts(
    struct arena *a, struct json object, struct json from, const char *path)
{
    struct json texts = json_get(object, path);
    json_each_member (m, json_get(from, path))
        texts = json_with_member(
            a, json_is(texts, JSON_MAP) ? texts : json_empty_map(), m->key, m->value);
    return json_with(a, object, path, texts);
}

static void bind(struct api_call *c, struct json binding, const char *name)
{
    struct write w;
    struct arena *a = &c->arena;
    const struct store_object *stored;
    if (!check_binding(c, binding) || !read_pod(&w, c, name) || !check_bindable(&w, binding))
        return;
    struct json pod = json_with(a, w.old, "spec.nodeName", json_get(binding, "target.name"));
    pod = with_texts(a, pod, binding, "metadata.annotations");
    pod = with_texts(a, pod, binding, "metadata.labels");
    pod = defaults_place(c->server, a, pod, json_get_text(pod, "spec.nodeName"));
    struct json scheduled = json_map(a,
        { "type", json_str("PodScheduled") },
        { "status", json_str("True") },
        { "lastProbeTime", json_null() });
    pod = with_condition(a, pod, scheduled, meta_now(c->server->env, a));
    if (write_store(&w, pod, false, &stored))
        answer_done(c);
}

void rest_bind(struct api_call *c)
{
    struct json binding;
    const struct api_kind *pods = c->kind;
    c->kind = registry_find(c->server->registry, "", "v1", "bindings");
    bool ok = options_read_write(c, "CreateOptions", false) && body_decode(c, &binding);
    c->kind = pods;
    if (!ok)
        return;
    if (!text_eq(json_get_text(binding, "metadata.name"), c->name))
        call_fail_bad(c, "name in URL does not match name in Binding object");
    else
        bind(c, binding, c->name);
}

void rest_create_binding(struct api_call *c)
{
    struct json binding;
    if (!options_read_write(c, "CreateOptions", false) || !body_decode(c, &binding) ||
        !create_check_namespace(c, binding))
        return;
    const char *name = json_get_text(binding, "metadata.name");
    if (text_empty(name))
        call_fail_bad(c, "Name parameter required.");
    else
        bind(c, binding, name);
}

/* ---- eviction ---- */

/* Pods that do not count for a budget. */
static bool is_beyond_budgets(struct json pod)
{
    const char *phase = json_get_text(pod, "status.phase");
    return meta_is_deleting(pod) || text_eq(phase, "Succeeded") || text_eq(phase, "Failed") ||
           text_eq(phase, "Pending");
}

static bool is_ready(struct json pod)
{
    json_each (c, json_get(pod, "status.conditions"))
        if (text_eq(json_get_text(*c, "type"), "Ready"))
            return text_eq(json_get_text(*c, "status"), "True");
    return false;
}

/* The PodDisruptionBudget of a pod: *ret is set, with before NULL if there is none. False: there
 * are several. */
static bool find_budget(struct api_call *c, struct json pod, struct write *ret)
{
    struct arena *a = &c->arena;
    struct apiserver *s = c->server;
    const struct api_kind *k = registry_find(s->registry, "policy", "v1", "poddisruptionbudgets");
    struct store_cursor cursor = { .ns = c->ns };
    const struct store_table *t = store_table(s->store, k->table);
    const struct store_object *o;
    *ret = (struct write){ .call = c, .server = s, .arena = a, .kind = k, .ns = c->ns, .name = "" };
    while ((o = store_next(t, &cursor))) {
        struct selector selector;
        struct error err;
        struct json budget = object_read(k, a, o);
        struct json labels = json_get(pod, "metadata.labels");
        if (!selector_from_json(a, json_get(budget, "spec.selector"), "", &selector, &err) ||
            !selector_matches(&selector, labels))
            continue;
        if (ret->before)
            return false;
        ret->before = o;
        ret->old = budget;
        ret->name = json_get_text(budget, "metadata.name");
    }
    return true;
}

static bool fail_budget(struct write *b, int64_t retry_s, const char *why)
{
    struct arena *a = b->arena;
    return call_fail(b->call,
        (struct api_status){
            429,
            "TooManyRequests",
            "Cannot evict pod as it would violate the pod's disruption budget.",
            .details = json_map(a,
                { "causes",
                    json_list(a,
                        json_map(a,
                            { "reason", json_str("DisruptionBudget") },
                            { "message", json_str(why) })) },
                { "retryAfterSeconds", json_int_or_absent(retry_s) }),
            .retry_after_s = retry_s,
        });
}

/* Uses one allowed disruption; false: answered. */
static bool take_from_budget(struct write *b, const char *pod)
{
    struct arena *a = b->arena;
    struct api_call *c = b->call;
    const struct store_object *stored;
    struct json status = json_member(b->old, "status");
    int64_t allowed = json_get_int(status, "disruptionsAllowed", 0);
    if (json_get_int(status, "observedGeneration", 0) <
        json_get_int(b->old, "metadata.generation", 0))
        return fail_budget(b,
            10,
            arena_printf(
                a, "The disruption budget %s is still being processed by the server.", b->name));
    if (allowed <= 0)
        return fail_budget(b,
            0,
            arena_printf(a,
                "The disruption budget %s needs %lld healthy pods and has %lld currently",
                b->name,
                (long long)json_get_int(status, "desiredHealthy", 0),
                (long long)json_get_int(status, "currentHealthy", 0)));
    const char *now = meta_now(c->server->env, a);
    struct json disrupted = json_member(status, "disruptedPods");
    disrupted = json_with_member(
        a, json_is(disrupted, JSON_MAP) ? disrupted : json_empty_map(), pod, json_str(now));
    struct json budget = json_with(a, b->old, "status.disruptionsAllowed", json_int(allowed - 1));
    budget = json_with(a, budget, "status.disruptedPods", disrupted);
    if (allowed == 1)
        budget = with_condition(a,
            budget,
            json_map(a,
                { "type", json_str("DisruptionAllowed") },
                { "status", json_str("False") },
                { "observedGeneration", json_get(status, "observedGeneration") },
                { "reason", json_str("InsufficientPods") },
                { "message", json_str("") }),
            now);
    write_track(b, "kube-apiserver", "status", &budget);
    return write_store(b, budget, false, &stored);
}

/* Whether the pod's budget allows the eviction; false: answered. */
static bool ask_budget(struct api_call *c, struct json pod)
{
    struct write b;
    if (is_beyond_budgets(pod))
        return true;
    if (!find_budget(c, pod, &b))
        return call_fail(c,
            (struct api_status){ 500,
                "",
                "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                "does not support.",
                .details = { 0 } });
    if (!b.before)
        return true;
    struct json status = json_member(b.old, "status");
    const char *policy = json_get_text(b.old, "spec.unhealthyPodEvictionPolicy");
    int64_t healthy = json_get_int(status, "currentHealthy", 0);
    int64_t desired = json_get_int(status, "desiredHealthy", 0);
    if (!is_ready(pod) && (text_eq(policy, "AlwaysAllow") || (healthy >= desired && desired > 0)))
        return true;
    return take_from_budget(&b, c->name);
}

static bool mark_evicted(struct write *w)
{
    struct arena *a = w->arena;
    const struct store_object *stored;
    struct json target = json_map(a,
        { "type", json_str("DisruptionTarget") },
        { "status", json_str("True") },
        { "lastProbeTime", json_null() },
        { "reason", json_str("EvictionByEvictionAPI") },
        { "message", json_str("Eviction API: evicting") });
    struct json pod = with_condition(a, w->old, target, meta_now(w->server->env, a));
    return write_store(w, pod, false, &stored) && write_read_old(w);
}

static void evict(struct api_call *c, struct json eviction)
{
    struct write w;
    struct delete_options o;
    struct json options = json_member(eviction, "deleteOptions"), gone_object;
    const struct store_object *stored;
    bool gone, asked_dry = c->dry_run;
    if (!text_eq(json_get_text(eviction, "metadata.name"), c->name)) {
        call_fail_bad(c, "name in URL does not match name in Eviction object");
        return;
    }
    if (!delete_options_read(c, json_is(options, JSON_MAP) ? options : json_empty_map(), &o))
        return;
    /* The options in the body apply only to the deletion. */
    bool delete_dry = c->dry_run;
    c->dry_run = asked_dry;
    if (!read_pod(&w, c, c->name) || !delete_check_preconditions(&w, &o) || !ask_budget(c, w.old) ||
        (!asked_dry && !mark_evicted(&w)))
        return;
    c->dry_run = asked_dry || delete_dry;
    if (delete_object(&w, &o, &gone_object, &stored, &gone))
        answer_done(c);
}

void rest_evict(struct api_call *c)
{
    struct json eviction;
    const struct api_kind *pods = c->kind;
    struct api_kind kind = {
        .resource = { "policy", "v1", "Eviction", "evictions", false },
        .behaviour = pods->behaviour,
        .ctx = pods->ctx,
    };
    c->kind = request_with_schema(&c->arena, &kind);
    bool ok = options_read_write(c, "CreateOptions", false) && body_decode(c, &eviction);
    c->kind = pods;
    if (ok)
        evict(c, eviction);
}
