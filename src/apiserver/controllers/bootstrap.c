#include "apiserver/controllers/bootstrap.h"

#include "apiserver/builtin/addresses.h"
#include "base/embed.h"

EMBED(bootstrap_text, "src/apiserver/controllers/bootstrap.json");

/* The address after the network address. */
static const char *first_address(struct arena *a, const char *cidr)
{
    struct addresses *x = arena_new(a, struct addresses);
    bool ok = addresses_init(x, cidr, NULL);
    assert(ok); /* the server has validated it */
    return addresses_choose(x, a, 0);
}

struct json bootstrap_objects(struct arena *a, const char *service_cidr)
{
    struct json list;
    struct error err;
    bool ok = json_parse(a, str_of(bootstrap_text), &list, &err);
    assert(ok);
    struct json_builder objects;
    json_builder_init(&objects, a);
    json_each (o, list) {
        const char *kind = json_get_text(*o, "kind");
        struct json made = *o;
        if (text_eq(kind, "Service"))
            made = json_with(a, made, "spec.clusterIP", json_str(first_address(a, service_cidr)));
        else if (text_eq(kind, "ServiceCIDR"))
            made = json_with(a, made, "spec.cidrs", json_list(a, json_str(service_cidr)));
        json_push(&objects, made);
    }
    return json_list_end(&objects);
}

struct json bootstrap_endpoint(
    struct arena *a, const char *service_cidr, const char *address, uint16_t port)
{
    struct json ports = json_list(a,
        json_map(a,
            { "name", json_str("https") },
            { "port", json_int(port) },
            { "protocol", json_str("TCP") }));
    struct json service = json_fields(a,
        { "apiVersion", json_str("v1") },
        { "kind", json_str("Service") },
        { "metadata.name", json_str("kubernetes") },
        { "metadata.namespace", json_str("default") },
        { "metadata.labels.component", json_str("apiserver") },
        { "metadata.labels.provider", json_str("kubernetes") },
        { "spec.clusterIP", json_str(first_address(a, service_cidr)) },
        { "spec.type", json_str("ClusterIP") },
        { "spec.sessionAffinity", json_str("None") },
        { "spec.ports",
            json_list(a,
                json_map(a,
                    { "name", json_str("https") },
                    { "port", json_int(443) },
                    { "protocol", json_str("TCP") },
                    { "targetPort", json_int(port) })) });
    struct json endpoints = json_fields(a,
        { "apiVersion", json_str("v1") },
        { "kind", json_str("Endpoints") },
        { "metadata.name", json_str("kubernetes") },
        { "metadata.namespace", json_str("default") },
        { "metadata.labels",
            json_map(a, { "endpointslice.kubernetes.io/skip-mirror", json_str("true") }) },
        { "subsets",
            json_list(a,
                json_map(a,
                    { "addresses", json_list(a, json_map(a, { "ip", json_str(address) })) },
                    { "ports", ports })) });
    struct json slice = json_fields(a,
        { "apiVersion", json_str("discovery.k8s.io/v1") },
        { "kind", json_str("EndpointSlice") },
        { "metadata.name", json_str("kubernetes") },
        { "metadata.namespace", json_str("default") },
        { "metadata.labels",
            json_map(a, { "kubernetes.io/service-name", json_str("kubernetes") }) },
        { "addressType", json_str(strchr(address, ':') ? "IPv6" : "IPv4") },
        { "endpoints",
            json_list(a,
                json_map(a,
                    { "addresses", json_list(a, json_str(address)) },
                    { "conditions", json_map(a, { "ready", json_bool(true) }) })) },
        { "ports", ports });
    return json_list(a, service, endpoints, slice);
}

struct json bootstrap_namespace_objects(struct arena *a, const char *ns, struct str ca)
{
    struct json account = json_fields(a,
        { "apiVersion", json_str("v1") },
        { "kind", json_str("ServiceAccount") },
        { "metadata.name", json_str("default") },
        { "metadata.namespace", json_str(ns) });
    if (!ca.ptr)
        return json_list(a, account);
    return json_list(a,
        account,
        json_fields(a,
            { "apiVersion", json_str("v1") },
            { "kind", json_str("ConfigMap") },
            { "metadata.name", json_str("kube-root-ca.crt") },
            { "metadata.namespace", json_str(ns) },
            { "data", json_map(a, { "ca.crt", json_strn(a, ca.ptr, ca.len) }) }));
}
