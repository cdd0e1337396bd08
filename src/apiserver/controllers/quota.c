#include "apiserver/controllers/quota.h"

#include <stdlib.h>

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/controllers/quota_scope.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/object.h"
#include "apiserver/verbs/write.h"
#include "base/quantity.h"

#define STORAGE_CLASS ".storageclass.storage.k8s.io/"

static const struct quantity one = { .value = 1 };

/* ---- what an object uses ---- */

/* "limits.cpu" is cpu of the limits, "cpu" is cpu of the requests. False: not a pod's resource. */
static bool cut_pod_resource(const char *name, const char **ret_part, const char **ret_resource)
{
    static const char *const plain[] = { "cpu", "memory", "ephemeral-storage" };
    bool limits = text_starts(name, "limits."), requests = text_starts(name, "requests.");
    *ret_part = limits ? "limits" : "requests";
    *ret_resource = name += limits ? strlen("limits.") : requests ? strlen("requests.") : 0;
    for (size_t i = 0; i < lengthof(plain); i++)
        if (text_eq(name, plain[i]))
            return true;
    bool extended = strchr(name, '/') && !strstr(name, "kubernetes.io/");
    return (!limits && text_starts(name, "hugepages-")) || (requests && extended);
}

/* Pod-level resources replace the sum of the containers. */
static struct quantity pod_sum(struct json spec, const char *part, const char *resource)
{
    struct quantity sum = pod_containers_sum(spec, part, resource);
    struct json whole = json_get(json_member(spec, "resources"), part);
    if (json_present(json_member(whole, resource)))
        sum = pod_amount(whole, resource);
    if (sum.value || text_eq(part, "requests"))
        sum = quantity_plus(sum, pod_amount(json_member(spec, "overhead"), resource));
    return sum;
}

static bool pod_ended(struct json pod)
{
    const char *phase = json_get_text(pod, "status.phase");
    return text_eq(phase, "Succeeded") || text_eq(phase, "Failed");
}

static bool pod_usage(struct json pod, const char *name, struct quantity *ret)
{
    const char *part, *resource;
    bool there = json_present(pod) && !pod_ended(pod);
    if (text_eq(name, "pods"))
        *ret = there ? one : (struct quantity){ 0 };
    else if (!cut_pod_resource(name, &part, &resource))
        return false;
    else if (there)
        *ret = pod_sum(json_member(pod, "spec"), part, resource);
    return true;
}

static bool service_usage(struct json service, const char *name, struct quantity *ret)
{
    struct json spec = json_member(service, "spec");
    bool balanced = text_eq(json_get_text(spec, "type"), "LoadBalancer");
    bool named = balanced && !json_get_bool(spec, "allocateLoadBalancerNodePorts", true);
    if (text_eq(name, "services")) {
        ret->value = json_present(service);
    } else if (text_eq(name, "services.loadbalancers")) {
        ret->value = balanced;
    } else if (text_eq(name, "services.nodeports")) {
        if (balanced || text_eq(json_get_text(spec, "type"), "NodePort"))
            json_each (port, json_member(spec, "ports"))
                *ret = quantity_plus(*ret,
                    (struct quantity){ .value = !named || json_get_int(*port, "nodePort", 0) });
    } else {
        return false;
    }
    return true;
}

static bool claim_usage(struct json claim, const char *name, struct quantity *ret)
{
    const char *suffix = strstr(name, STORAGE_CLASS);
    if (suffix) {
        struct str of = { name, (size_t)(suffix - name) };
        const char *class_name = claim_class(claim);
        name = suffix + strlen(STORAGE_CLASS);
        if (!class_name || !str_eq(str_of(class_name), of))
            claim = json_none;
    }
    if (text_eq(name, "persistentvolumeclaims")) {
        ret->value = json_present(claim);
    } else if (text_eq(name, "requests.storage")) {
        struct quantity asked = pod_amount(json_get(claim, "spec.resources.requests"), "storage");
        asked = quantity_larger(
            asked, pod_amount(json_get(claim, "status.allocatedResources"), "storage"));
        *ret = asked;
        if (asked.exponent < 0) /* in whole bytes */
            *ret = (struct quantity){ .value = quantity_value(asked), .format = asked.format };
    } else {
        return false;
    }
    return true;
}

/* Kinds with usage in addition to count/NAME. */
static const struct counted {
    const char *group, *plural;
    /* The usage of a resource by an object, initially 0; false: its kind never uses it. The object
     * may be absent. NULL: the plural is another name for the count. */
    bool (*usage)(struct json object, const char *name, struct quantity *ret);
    bool changes; /* an update can change the usage */
} counted[] = {
    { "", "pods", pod_usage, false },
    { "", "services", service_usage, true },
    { "", "persistentvolumeclaims", claim_usage, true },
    { "", "configmaps", NULL, false },
    { "", "secrets", NULL, false },
    { "", "replicationcontrollers", NULL, false },
    { "", "resourcequotas", NULL, false },
};

static const struct counted *counted_of(const struct api_kind *k)
{
    for (size_t i = 0; i < lengthof(counted); i++)
        if (text_eq(counted[i].plural, k->resource.plural) &&
            text_eq(counted[i].group, k->resource.group))
            return &counted[i];
    return NULL;
}

static bool is_counted(const struct api_kind *k)
{
    return !k->resource.cluster_scoped && k->table && !text_eq(k->resource.plural, "events");
}

static bool usage_of(
    const struct api_kind *k, struct json object, const char *name, struct quantity *ret)
{
    const struct resource *r = &k->resource;
    const struct counted *more = counted_of(k);
    *ret = (struct quantity){ .value = json_present(object) };
    if (text_starts(name, "count/")) {
        struct str group = str_of(name + strlen("count/")), plural = str_cut(&group, '.');
        return str_eq(plural, str_of(r->plural)) && str_eq(group, str_of(r->group));
    }
    if (!more || !more->usage)
        return more && text_eq(name, more->plural);
    ret->value = 0;
    return more->usage(object, name, ret);
}

/* ---- charges ---- */

/* The usage of an object that counts for a quota. */
static struct quantity charge_of(
    const struct api_kind *k, struct json quota, struct json object, const char *name)
{
    struct quantity q = { 0 };
    bool counts = json_present(object) && quota_scope_holds(k, quota, object) &&
                  usage_of(k, object, name, &q);
    return counts ? q : (struct quantity){ 0 };
}

/* ---- the quotas of a namespace ---- */

static const struct api_kind *quota_kind(const struct apiserver *s)
{
    return registry_find(s->registry, "", "v1", "resourcequotas");
}

/* As a list; NULL: in all namespaces. Absent: none, which is common and cheap. */
static struct json quotas_of(struct apiserver *s, struct arena *a, const char *ns)
{
    const struct api_kind *k = quota_kind(s);
    struct json_builder b;
    json_builder_init(&b, a);
    const struct store_table *t = k ? store_table(s->store, k->table) : NULL;
    if (!t || !store_table_count(t))
        return json_none;
    struct store_cursor cursor = { .ns = ns };
    for (const struct store_object *o; (o = store_next(t, &cursor));)
        json_push(&b, object_read(k, a, o));
    return json_or_absent(json_list_end(&b));
}

static void store_status(struct apiserver *s, struct arena *a, struct json quota, struct json used)
{
    const char *ns = json_get_text(quota, "metadata.namespace");
    const char *name = json_get_text(quota, "metadata.name");
    const struct api_kind *k = quota_kind(s);
    const struct store_object *o = store_get(store_table(s->store, k->table), ns, name), *stored;
    if (!o)
        return;
    struct write w = {
        .server = s,
        .arena = a,
        .kind = k,
        .ns = ns,
        .name = name,
        .before = o,
        .old = quota,
    };
    struct json status = json_map(a,
        { "hard", json_or_absent(json_get(quota, "spec.hard")) },
        { "used", json_or_absent(used) });
    store_object_hold(o);
    /* If it cannot be stored, the write that caused it cannot be stored either. */
    (void)write_store(&w, json_with_member(a, quota, "status", status), false, &stored);
    store_object_release(o);
}

/* Adds the usage of all objects of a kind. */
static void count_kind(struct apiserver *s, struct json_builder *used, const struct api_kind *k,
    struct json quota, const char *name)
{
    struct quantity sum = { 0 };
    const struct store_table *t = store_table(s->store, k->table);
    struct store_cursor cursor = { .ns = json_get_text(quota, "metadata.namespace") };
    for (const struct store_object *o; (o = store_next(t, &cursor));) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        sum = quantity_plus(sum, charge_of(k, quota, object_read(k, &a, o), name));
    }
    json_put(used, name, json_str(quantity_to_text(used->arena, sum)));
}

static void count(struct apiserver *s, struct arena *a, struct json quota)
{
    struct json_builder used;
    json_builder_init(&used, a);
    const struct api_kind *k;
    struct quantity q;
    json_each_member (hard, json_get(quota, "spec.hard"))
        for (size_t i = 0; (k = registry_at(s->registry, i)); i++)
            if (is_counted(k) && usage_of(k, json_none, hard->key, &q) &&
                registry_find_table(s->registry, k->table) == k)
                count_kind(s, &used, k, quota, hard->key);
    store_status(s, a, quota, json_map_end(&used));
}

void quota_count_all(struct apiserver *s)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    json_each (quota, quotas_of(s, &a, NULL))
        count(s, &a, *quota);
}

/* Updates the status of a quota after another write in its namespace. */
static void adjust(struct apiserver *s, struct arena *a, const struct api_kind *k,
    struct json quota, struct json old, struct json now)
{
    struct json used = json_get(quota, "status.used"), after = used;
    struct quantity q;
    json_each_member (hard, json_get(quota, "status.hard")) {
        if (!usage_of(k, json_none, hard->key, &q))
            continue;
        if (!json_present(json_member(used, hard->key))) {
            count(s, a, quota);
            return;
        }
        struct quantity more = quantity_minus(
            charge_of(k, quota, now, hard->key), charge_of(k, quota, old, hard->key));
        if (!more.value)
            continue;
        q = quantity_plus(pod_amount(used, hard->key), more);
        /* Sums are not always in the format of their parts: make sure that 1Gi stays 1Gi. */
        if (more.value < 0)
            q.format = pod_amount(json_get(quota, "status.hard"), hard->key).format;
        after = json_with_member(a, after, hard->key, json_str(quantity_to_text(a, q)));
    }
    if (!json_equal(used, after))
        store_status(s, a, quota, after);
}

/* Other controllers also write the status, from caches that may be out of date: their hard limit is
 * that of the spec, and their usage may be wrong. */
static bool is_recount(struct json old, struct json now)
{
    struct json status = json_member(now, "status");
    return !json_equal(json_member(old, "status"), status) &&
           json_equal(json_get(now, "spec.hard"), json_member(status, "hard"));
}

void quota_written(
    struct apiserver *s, const struct api_kind *k, struct json old, struct json now, bool by_client)
{
    if (!is_counted(k))
        return;
    struct json object = json_present(now) ? now : old;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    bool quotas = api_kind_is_core(k, "ResourceQuota");
    bool begins =
        json_present(now) && (!json_equal(json_member(old, "spec"), json_member(now, "spec")) ||
                                 (quotas && by_client && is_recount(old, now)));
    json_each (quota, quotas_of(s, &a, json_get_text(object, "metadata.namespace"))) {
        bool itself = quotas && text_eq(json_get_text(*quota, "metadata.name"),
                                    json_get_text(object, "metadata.name"));
        if (itself && begins)
            count(s, &a, *quota);
        else if (!itself)
            adjust(s, &a, k, *quota, old, now);
    }
}

/* ---- enforcement ---- */

/* Whether a write can increase the usage. */
static bool takes_more(const struct api_write *w, struct json object)
{
    const struct counted *more = counted_of(w->kind);
    bool pod = api_kind_is_core(w->kind, "Pod");
    if (!is_counted(w->kind))
        return false;
    if (*w->subresource)
        return text_eq(w->subresource, pod ? "resize" : "status") &&
               (pod || api_kind_is_core(w->kind, "PersistentVolumeClaim"));
    return !json_present(w->old) || (more && more->changes) ||
           (pod && quota_scope_terminating(w->old) != quota_scope_terminating(object));
}

static bool applies(const struct api_kind *k, struct json quota, struct json object)
{
    struct quantity q;
    json_each_member (hard, json_get(quota, "status.hard"))
        if (usage_of(k, json_none, hard->key, &q))
            return quota_scope_holds(k, quota, object);
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of containers without a value for a resource; "": all have one. */
static const char *silent_containers(
    struct arena *a, struct json spec, const char *part, const char *resource)
{
    static const char *const lists[] = { "containers", "initContainers" };
    size_t count = 0, size = 0;
    for (size_t i = 0; i < lengthof(lists); i++)
        size += json_member(spec, lists[i]).count;
    const char **names = arena_array(a, size + 1, sizeof(*names)), *text = "";
    for (size_t i = 0; i < lengthof(lists); i++)
        json_each (c, json_member(spec, lists[i])) {
            struct json amounts = json_get(json_member(*c, "resources"), part);
            if (!json_present(json_member(amounts, resource)))
                names[count++] = json_get_text(*c, "name");
        }
    qsort(names, count, sizeof(*names), by_name);
    for (size_t i = 0; i < count; i++)
        text = arena_printf(a, "%s%s%s", text, *text ? "," : "", names[i]);
    return text;
}

/* If cpu or memory is limited, every container must set it. */
static const char *missing(struct arena *a, struct json quota, struct json pod)
{
    const char *text = "", *part, *resource;
    struct json spec = json_member(pod, "spec");
    if (json_get(spec, "resources.requests").count || json_get(spec, "resources.limits").count)
        return text;
    json_each_member (hard, json_get(quota, "status.hard")) {
        if (!cut_pod_resource(hard->key, &part, &resource) ||
            !(text_eq(resource, "cpu") || text_eq(resource, "memory")))
            continue;
        const char *names = silent_containers(a, spec, part, resource);
        if (*names)
            text = arena_printf(a, "%s%s%s for: %s", text, *text ? "; " : "", hard->key, names);
    }
    return text;
}

static const char *listed(struct arena *a, const char *before, const char *name, struct quantity q)
{
    return arena_printf(a, "%s%s%s=%s", before, *before ? "," : "", name, quantity_to_text(a, q));
}

static bool refuse(const struct api_write *w, struct json object, struct error *err,
    const char *format, ...) printf_like(4, 5);
static bool refuse(
    const struct api_write *w, struct json object, struct error *err, const char *format, ...)
{
    const struct resource *r = &w->kind->resource;
    va_list args;
    va_start(args, format);
    const char *why = arena_vprintf(w->arena, format, args);
    va_end(args);
    return fail(err,
        ERR_FORBIDDEN,
        "%s%s%s \"%s\" is forbidden: %s",
        r->plural,
        *r->group ? "." : "",
        r->group,
        json_get_text(object, "metadata.name"),
        why);
}

static bool fits(
    const struct api_write *w, struct json quota, struct json object, struct error *err)
{
    struct arena *a = w->arena;
    const char *requested = "", *taken = "", *limited = "";
    json_each_member (m, json_get(quota, "status.hard")) {
        struct quantity used = pod_amount(json_get(quota, "status.used"), m->key),
                        hard = pod_amount(json_get(quota, "status.hard"), m->key),
                        more = charge_of(w->kind, quota, object, m->key);
        more = quantity_minus(more, charge_of(w->kind, quota, w->old, m->key));
        if (more.value <= 0 || quantity_compare(quantity_plus(used, more), hard) <= 0)
            continue;
        requested = listed(a, requested, m->key, more);
        taken = listed(a, taken, m->key, used);
        limited = listed(a, limited, m->key, hard);
    }
    return !*requested || refuse(w,
                              object,
                              err,
                              "exceeded quota: %s, requested: %s, used: %s, limited: %s",
                              json_get_text(quota, "metadata.name"),
                              requested,
                              taken,
                              limited);
}

bool quota_admit(const struct api_write *w, struct json object, struct error *err)
{
    if (!takes_more(w, object))
        return true;
    struct json quotas =
        quotas_of(w->server, w->arena, json_get_text(object, "metadata.namespace"));
    json_each (quota, quotas) {
        if (!api_kind_is_core(w->kind, "Pod") || !applies(w->kind, *quota, object))
            continue;
        const char *text = missing(w->arena, *quota, object);
        if (*text)
            return refuse(w,
                object,
                err,
                "failed quota: %s: must specify %s",
                json_get_text(*quota, "metadata.name"),
                text);
    }
    json_each (quota, quotas)
        if (applies(w->kind, *quota, object) && !fits(w, *quota, object, err))
            return false;
    return true;
}

void quota_warn(const struct api_write *w, struct json quota)
{
    json_each_member (hard, json_get(quota, "spec.hard")) {
        struct quantity q;
        bool known = text_starts(hard->key, "count/");
        for (size_t i = 0; !known && i < lengthof(counted); i++)
            known = text_eq(counted[i].plural, hard->key) ||
                    (counted[i].usage && counted[i].usage(json_none, hard->key, &q));
        if (!known)
            call_warn(w->call,
                arena_printf(
                    w->arena, "spec.hard[%s]: this server does not count this", hard->key));
    }
}
