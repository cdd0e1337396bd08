/* Service: its EndpointSlices list the pods behind it, with their addresses and ports. One of type
 * LoadBalancer also gets the address at which it is reached from outside. */

#include "kinds/workloads/workloads.h"

#include <stdlib.h>

#include "base/selector.h"
#include "engine/plan.h"
#include "engine/view.h"

/* Endpoints per slice, and slices per Service: further pods are not listed. */
#define SLICE_ENDPOINTS_MAX 100
#define SLICES_MAX 32

#define MANAGED_BY "endpointslice.kubernetes.io/managed-by"
#define SERVICE_NAME "kubernetes.io/service-name"
#define HEADLESS "service.kubernetes.io/headless"

struct slice {
    struct json ports;
    const char *key; /* the ports as text: pods with different ports are in different slices */
    struct json_builder endpoints;
};

struct slices {
    const struct view *in;
    const char *family; /* "IPv4", "IPv6" */
    struct slice *items[SLICES_MAX];
    size_t count;
};

/* ---- ports ---- */

static struct json port_of_containers(
    struct json list, struct json wanted, const char *protocol, bool init)
{
    json_each (c, list) {
        if (init && !text_eq(json_get_text(*c, "restartPolicy"), "Always"))
            continue;
        json_each (port, json_get(*c, "ports"))
            if (text_eq(json_get_text(*port, "name"), json_text(wanted)) &&
                text_eq(json_get_text(*port, "protocol"), protocol))
                return json_get(*port, "containerPort");
    }
    return json_none;
}

/* The number of a target port of this pod; absent: it has no port of that name. */
static struct json target_of(struct json pod, struct json port)
{
    struct json target = json_get(port, "targetPort");
    const char *protocol = json_get_text(port, "protocol");
    if (json_is(target, JSON_INT) && target.integer)
        return target;
    if (!json_is(target, JSON_STR))
        return json_get(port, "port");
    struct json found =
        port_of_containers(json_get(pod, "spec.containers"), target, protocol, false);
    return json_present(found)
               ? found
               : port_of_containers(json_get(pod, "spec.initContainers"), target, protocol, true);
}

static struct json ports_of(const struct view *in, struct json pod)
{
    struct json_builder list;
    json_builder_init(&list, in->arena);
    json_each (port, json_get(in->object, "spec.ports")) {
        struct json number = target_of(pod, *port);
        if (!json_present(number))
            continue;
        const char *name = json_get_text(*port, "name");
        json_push(&list,
            json_fields(in->arena,
                { "name", json_str(name ? name : "") },
                { "port", number },
                { "protocol", json_get(*port, "protocol") },
                { "appProtocol", json_get(*port, "appProtocol") }));
    }
    return json_list_end(&list);
}

/* ---- endpoints ---- */

static bool is_of_family(const char *ip, const char *family)
{
    return (strchr(ip, ':') != NULL) == text_eq(family, "IPv6");
}

static struct json addresses_of(const struct slices *s, struct json pod)
{
    struct json_builder list;
    json_builder_init(&list, s->in->arena);
    json_each (ip, json_get(pod, "status.podIPs")) {
        const char *text = json_get_text(*ip, "ip");
        if (text && is_of_family(text, s->family))
            json_push(&list, json_str(text));
    }
    struct json all = json_list_end(&list);
    const char *only = json_get_text(pod, "status.podIP");
    if (all.count == 0 && !text_empty(only) && is_of_family(only, s->family))
        return json_list(s->in->arena, json_str(only));
    return all;
}

static struct json endpoint_of(const struct slices *s, struct json pod, struct json addresses)
{
    const struct view *in = s->in;
    bool serving = workloads_pod_is_ready(pod);
    bool going = json_present(json_get(pod, "metadata.deletionTimestamp"));
    bool always = json_get_bool(in->object, "spec.publishNotReadyAddresses", false);
    const char *hostname = json_get_text(pod, "spec.hostname");
    bool named = hostname && text_eq(json_get_text(pod, "spec.subdomain"), view_name(in));
    return json_fields(in->arena,
        { "addresses", addresses },
        { "conditions.ready", json_bool(always || (serving && !going)) },
        { "conditions.serving", json_bool(serving) },
        { "conditions.terminating", json_bool(going) },
        { "hostname", json_str(named ? hostname : NULL) },
        { "nodeName", json_str_or_absent(json_get_text(pod, "spec.nodeName")) },
        { "targetRef.kind", json_str("Pod") },
        { "targetRef.namespace", json_get(pod, "metadata.namespace") },
        { "targetRef.name", json_get(pod, "metadata.name") },
        { "targetRef.uid", json_get(pod, "metadata.uid") });
}

/* A slice with these ports and free space; NULL: there are too many. */
static struct slice *slice_for(struct slices *s, struct json ports)
{
    struct arena *a = s->in->arena;
    const char *key = json_to_text(a, ports);
    for (size_t i = 0; i < s->count; i++)
        if (text_eq(s->items[i]->key, key) && s->items[i]->endpoints.count < SLICE_ENDPOINTS_MAX)
            return s->items[i];
    if (s->count == SLICES_MAX)
        return NULL;
    struct slice *fresh = arena_new(a, struct slice);
    *fresh = (struct slice){ .ports = ports, .key = key };
    json_builder_init(&fresh->endpoints, a);
    s->items[s->count++] = fresh;
    return fresh;
}

static void add_pod(struct slices *s, struct json pod)
{
    const char *phase = json_get_text(pod, "status.phase");
    struct json addresses = addresses_of(s, pod);
    if (text_eq(phase, "Succeeded") || text_eq(phase, "Failed") || addresses.count == 0)
        return;
    struct slice *to = slice_for(s, ports_of(s->in, pod));
    if (to)
        json_push(&to->endpoints, endpoint_of(s, pod, addresses));
}

/* ---- slices ---- */

static struct json labels_of(const struct view *in)
{
    struct arena *a = in->arena;
    bool headless = text_eq(json_get_text(in->object, "spec.clusterIP"), "None");
    struct json own = json_map(a,
        { SERVICE_NAME, json_str(view_name(in)) },
        { MANAGED_BY, json_str("endpointslice-controller.k8s.io") },
        { HEADLESS, json_str(headless ? "" : NULL) });
    struct json theirs = json_get(in->object, "metadata.labels");
    if (json_is(theirs, JSON_MAP) && !headless)
        theirs = json_with_member(a, theirs, HEADLESS, json_none);
    return json_overlay(a, theirs, own);
}

static void plan_slice(
    const struct slices *s, struct plan *out, const struct slice *slice, int64_t number)
{
    struct arena *a = s->in->arena;
    struct json_builder all = slice ? slice->endpoints : (struct json_builder){ .arena = a };
    plan_child(out,
        &WORKLOADS_SLICE,
        json_fields(a,
            { "metadata.name",
                json_str(workloads_name(
                    a, view_name(s->in), json_get_text(s->in->object, "metadata.uid"), number)) },
            { "metadata.generateName", json_strf(a, "%s-", view_name(s->in)) },
            { "metadata.labels", labels_of(s->in) },
            { "addressType", json_str(s->family) },
            { "endpoints", json_or_absent(json_list_end(&all)) },
            { "ports", json_if(slice, json_or_absent(slice->ports)) }));
}

static void plan_family(const struct view *in, struct plan *out, const char *family,
    const struct selector *selector, int64_t first)
{
    struct slices s = { .in = in, .family = family };
    json_each (pod, workloads_pods(in, selector))
        add_pod(&s, *pod);
    /* An empty slice distinguishes it from a Service that was never reconciled. */
    if (s.count == 0)
        plan_slice(&s, out, NULL, first);
    for (size_t i = 0; i < s.count && out->child_count < PLAN_MAX_CHILDREN; i++)
        plan_slice(&s, out, s.items[i], first + (int64_t)i);
}

/* A Service with a class belongs to another program. */
static void plan_balancer(const struct view *in, struct plan *out)
{
    const struct workloads_settings *settings = in->settings;
    if (!settings || !json_present(settings->balanced))
        return;
    bool balanced = text_eq(json_get_text(in->object, "spec.type"), "LoadBalancer") &&
                    text_empty(json_get_text(in->object, "spec.loadBalancerClass"));
    struct json_builder ingress;
    json_builder_init(&ingress, in->arena);
    json_each (address, balanced ? settings->balanced : json_empty_list())
        json_push(&ingress, json_fields(in->arena, { "ip", *address }));
    plan_status(out,
        json_fields(in->arena, { "loadBalancer.ingress", json_or_absent(json_list_end(&ingress)) }),
        NULL);
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct arena *a = in->arena;
    plan_balancer(in, out);
    struct json labels = json_get(in->object, "spec.selector");
    struct json families = json_get(in->object, "spec.ipFamilies");
    struct selector selector;
    struct error err;
    bool named = text_eq(json_get_text(in->object, "spec.type"), "ExternalName");
    if (named || labels.count == 0 ||
        !selector_from_json(
            a, json_fields(a, { "matchLabels", labels }), "spec.selector", &selector, &err)) {
        plan_keep_children(out);
        plan_done(out);
        return;
    }
    if (families.count == 0)
        families = json_list(a, json_str("IPv4"));
    json_each (family, families)
        plan_family(in, out, json_text(*family), &selector, (family - families.items) * SLICES_MAX);
    plan_done(out);
}

static const char *const pod_fields[] = {
    "metadata.labels",
    "spec.containers",
    "spec.initContainers",
    "spec.nodeName",
    "spec.hostname",
    "spec.subdomain",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.conditions",
    NULL,
};

static const struct kind_watch watches[] = {
    { .resource = &WORKLOADS_SLICE, .child = true },
    { .resource = &WORKLOADS_POD, .keep = pod_fields },
    { 0 },
};

const struct kind workloads_service_kind = {
    .resource = &WORKLOADS_SERVICE,
    .watches = watches,
    .reconcile = reconcile,
};
