/* Ingresses, network policies, endpoints and leases. */

#include <arpa/inet.h>
#include <stdlib.h>

#include "apiserver/builtin/defaults.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/builtin/warn.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"

/* ---- NetworkPolicy ---- */

static struct json fill_network_policy(struct arena *a, struct json o)
{
    static const struct fill defaults[] = {
        { "spec.ingress.*.ports.*.protocol", FILL_STR("TCP"), true },
        { "spec.egress.*.ports.*.protocol", FILL_STR("TCP"), true },
        { 0 },
    };
    o = fill_table(a, o, defaults);
    struct json types = json_list(a, json_str("Ingress"));
    if (json_get(o, "spec.egress").count)
        types = json_list(a, json_str("Ingress"), json_str("Egress"));
    return fill_path(a, o, "spec.policyTypes", types);
}

/* ---- Ingress ---- */

/* A new one that names no class, in neither place, gets the cluster's. */
static bool prepare_ingress(const struct api_write *w, struct json *object, struct error *err)
{
    static const char *const marks[] = { "ingressclass.kubernetes.io/is-default-class", NULL };
    struct json noted = json_get(*object, "metadata.annotations");
    (void)err;
    if (json_present(w->old) || *w->subresource ||
        json_present(json_member(noted, "kubernetes.io/ingress.class")) ||
        check_is_set(json_get(*object, "spec.ingressClassName")))
        return true;
    const char *class_name = defaults_class(w, "networking.k8s.io", "ingressclasses", marks);
    if (class_name)
        *object = json_with(w->arena, *object, "spec.ingressClassName", json_str(class_name));
    return true;
}

/* Another object, of a kind that is not known here. */
static void check_reference(struct field_errors *e, struct json ref, const char *path)
{
    static const struct check rules[] = {
        { "apiGroup", CHECK_SUBDOMAIN },
        { "kind", CHECK_REQUIRED },
        { "kind", CHECK_SEGMENT },
        { "name", CHECK_REQUIRED },
        { "name", CHECK_SEGMENT },
        { 0 },
    };
    check_table(e, ref, path, rules);
}

static void check_backend(struct field_errors *e, struct json backend, const char *path)
{
    struct arena *a = e->arena;
    struct json service = json_member(backend, "service"),
                resource = json_member(backend, "resource");
    const char *here = field_child(a, path, "service");
    if (json_present(service) && json_present(resource)) {
        field_invalid(e, path, json_str(""), "cannot set both resource and service backends");
        return;
    }
    if (json_present(resource)) {
        check_reference(e, resource, field_child(a, path, "resource"));
        return;
    }
    if (!json_present(service)) {
        field_invalid(e, path, json_str(""), "resource or service backend is required");
        return;
    }
    struct json name = json_member(service, "name"), port = json_member(service, "port"),
                number = json_member(port, "number"), port_name = json_member(port, "name");
    if (check_is_empty(name))
        field_required(e, field_child(a, here, "name"), NULL);
    else
        check_name(e, name, field_child(a, here, "name"), NAME_DNS1123_LABEL);
    bool numbered = number.type == JSON_INT && number.integer != 0;
    if (!check_is_empty(port_name) && numbered)
        field_invalid(e, path, json_str(""), "cannot set both port name & port number");
    else if (check_is_empty(port_name) && !numbered)
        field_required(e, path, "port name or number is required");
    else if (numbered)
        check_value(
            e, number, field_child(a, here, "port.number"), &(struct check){ "", CHECK_PORT });
    else
        check_value(e,
            port_name,
            field_child(a, here, "port.name"),
            &(struct check){ "", CHECK_PORT_NAME });
}

static void check_path(struct field_errors *e, struct json p, const char *path)
{
    static const char *const types[] = { "Exact", "ImplementationSpecific", "Prefix", NULL };
    struct arena *a = e->arena;
    struct json type = json_member(p, "pathType"), at = json_member(p, "path");
    if (!check_is_set(type)) {
        field_required(e, field_child(a, path, "pathType"), "pathType must be specified");
        return;
    }
    if (text_eq(json_text(type), "ImplementationSpecific")) {
        if (!check_is_empty(at) && !text_starts(json_text(at), "/"))
            field_invalid(e, field_child(a, path, "path"), at, "must be an absolute path");
    } else {
        check_enum(e, type, field_child(a, path, "pathType"), types);
        bool known = text_eq(json_text(type), "Exact") || text_eq(json_text(type), "Prefix");
        if (known && !text_starts(json_text(at) ? json_text(at) : "", "/"))
            field_invalid(e,
                field_child(a, path, "path"),
                json_present(at) ? at : json_str(""),
                "must be an absolute path");
    }
    check_backend(e, json_member(p, "backend"), field_child(a, path, "backend"));
}

/* A star stands for the first label, and nowhere else. */
static void check_host(struct field_errors *e, struct json host, const char *path)
{
    const char *text = json_text(host) ? json_text(host) : "";
    if (!strchr(text, '*'))
        check_name(e, host, path, NAME_DNS1123_SUBDOMAIN);
    else if (!text_starts(text, "*.") || !name_check(NAME_DNS1123_SUBDOMAIN, text + 2, NULL))
        field_invalid(e,
            path,
            host,
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS "
            "subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and "
            "end with an alphanumeric character (e.g. '*.example.com', regex used for validation "
            "is "
            "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
}

static void check_tls(struct field_errors *e, struct json tls, const char *path)
{
    struct json secret = json_member(tls, "secretName");
    size_t i = 0;
    json_each (host, json_member(tls, "hosts")) {
        const char *here = check_item_path(e->arena, path, "hosts", i++);
        check_host(e, *host, here);
    }
    if (!check_is_empty(secret))
        check_name(e, secret, field_child(e->arena, path, "secretName"), NAME_DNS1123_SUBDOMAIN);
}

static void check_ingress(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct arena *a = e->arena;
    struct json spec = json_member(o, "spec"), rules = json_member(spec, "rules"),
                backend = json_member(spec, "defaultBackend"),
                class_name = json_member(spec, "ingressClassName");
    if (*w->subresource)
        return;
    if (!rules.count && !json_present(backend))
        field_invalid(e, "spec", spec, "either `defaultBackend` or `rules` must be specified");
    if (json_present(backend))
        check_backend(e, backend, "spec.defaultBackend");
    for (size_t i = 0; i < rules.count; i++) {
        const char *here = check_item_path(a, "spec", "rules", i);
        struct json host = json_member(rules.items[i], "host"),
                    http = json_member(rules.items[i], "http"), paths = json_member(http, "paths");
        const char *host_path = field_child(a, here, "host");
        if (!check_is_empty(host) && check_is_ip(host.string))
            field_invalid(e, host_path, host, "must be a DNS name, not an IP address");
        if (!check_is_empty(host))
            check_host(e, host, host_path);
        if (json_present(http) && !paths.count)
            field_required(e, field_child(a, here, "http.paths"), NULL);
        for (size_t j = 0; j < paths.count; j++)
            check_path(
                e, paths.items[j], check_item_path(a, field_child(a, here, "http"), "paths", j));
    }
    size_t i = 0;
    json_each (tls, json_member(spec, "tls"))
        check_tls(e, *tls, check_item_path(a, "spec", "tls", i++));
    if (json_present(class_name))
        check_name(e, class_name, "spec.ingressClassName", NAME_DNS1123_SUBDOMAIN);
}

static struct json fill_ingress_class(struct arena *a, struct json o)
{
    static const struct fill defaults[] = {
        { "spec.parameters.scope", FILL_STR("Cluster"), true },
        { 0 },
    };
    return fill_table(a, o, defaults);
}

static void check_parameters(struct field_errors *e, struct json parameters)
{
    static const char *const scopes[] = { "Cluster", "Namespace", NULL };
    static const char path[] = "spec.parameters.namespace";
    struct json scope = json_member(parameters, "scope"), ns = json_member(parameters, "namespace");
    if (!check_is_set(parameters))
        return;
    check_reference(e, parameters, "spec.parameters");
    check_enum(e, scope, "spec.parameters.scope", scopes);
    if (text_eq(json_text(scope), "Namespace")) {
        if (!check_is_set(ns))
            field_required(e, path, "`parameters.scope` is set to 'Namespace'");
        else
            check_name(e, ns, path, NAME_DNS1123_LABEL);
    }
    if (text_eq(json_text(scope), "Cluster") && check_is_set(ns))
        field_forbidden(e, path, "`parameters.scope` is set to 'Cluster'");
}

static void check_ingress_class(const struct api_write *w, struct json o, struct field_errors *e)
{
    (void)w;
    check_domain_path(e, json_get(o, "spec.controller"), "spec.controller");
    check_parameters(e, json_get(o, "spec.parameters"));
}

static void check_ingress_class_change(
    const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json fresh = json_get(o, "spec.controller");
    check_immutable(e,
        json_get(w->old, "spec.controller"),
        json_present(fresh) ? fresh : json_str(""),
        "spec.controller");
}

/* ---- NetworkPolicy ---- */

/* Whether the second is a part of the first, and not all of it. */
static bool is_part(struct arena *a, const char *cidr, const char *part)
{
    uint8_t outer[16] = { 0 }, inner[16] = { 0 };
    unsigned bits = check_read_cidr(a, cidr, outer), more = check_read_cidr(a, part, inner);
    for (unsigned i = 0; i < bits; i++)
        if ((outer[i / 8] ^ inner[i / 8]) >> (7 - i % 8) & 1)
            return false;
    return more > bits && !strchr(cidr, ':') == !strchr(part, ':');
}

static void check_holes(struct field_errors *e, struct json block, const char *path)
{
    const char *cidr = json_get_text(block, "cidr");
    size_t i = 0;
    if (!cidr || !check_is_cidr(cidr))
        return;
    json_each (hole, json_member(block, "except")) {
        const char *here = check_item_path(e->arena, path, "except", i++);
        size_t before = e->count;
        check_cidr(e, *hole, here);
        if (e->count == before && !is_part(e->arena, cidr, json_text(*hole)))
            field_invalid(e, here, *hole, "must be a strict subset of `cidr`");
    }
}

static void check_peers(
    struct field_errors *e, struct json peers, const char *path, const char *name)
{
    struct arena *a = e->arena;
    for (size_t i = 0; i < peers.count; i++) {
        const char *here = check_item_path(a, path, name, i);
        struct json block = json_member(peers.items[i], "ipBlock"),
                    cidr = json_member(block, "cidr");
        if (!peers.items[i].count)
            field_required(e, here, "must specify a peer");
        check_selector(
            e, json_member(peers.items[i], "podSelector"), field_child(a, here, "podSelector"));
        check_selector(e,
            json_member(peers.items[i], "namespaceSelector"),
            field_child(a, here, "namespaceSelector"));
        if (!json_present(block))
            continue;
        const char *at = field_child(a, here, "ipBlock");
        if (check_is_empty(cidr))
            field_required(e, field_child(a, at, "cidr"), NULL);
        else
            check_cidr(e, cidr, field_child(a, at, "cidr"));
        if (peers.items[i].count > 1)
            field_forbidden(e, here, "may not specify both ipBlock and another peer");
        check_holes(e, block, at);
    }
}

static void check_policy_port(struct field_errors *e, struct json port, const char *path)
{
    static const char *const protocols[] = { "TCP", "UDP", "SCTP", NULL };
    static const struct check rules[] = {
        { "protocol", CHECK_ENUM, protocols },
        { "port", CHECK_PORT_OR_NAME },
        { 0 },
    };
    struct json first = json_member(port, "port"), last = json_member(port, "endPort");
    const char *at = field_child(e->arena, path, "endPort");
    check_table(e, port, path, rules);
    if (last.type != JSON_INT)
        return;
    if (!check_is_set(first))
        field_invalid(e, at, last, "may not be specified when `port` is not specified");
    else if (first.type == JSON_STR)
        field_invalid(e, at, last, "may not be specified when `port` is non-numeric");
    else
        check_value(e, last, at, &(struct check){ "", CHECK_PORT });
    if (first.type == JSON_INT && last.integer < first.integer)
        field_invalid(e, at, first, "must be greater than or equal to `port`");
}

static void check_network_policy(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const types[] = { "Ingress", "Egress", NULL };
    static const struct {
        const char *list, *peers;
    } sides[] = { { "ingress", "from" }, { "egress", "to" } };
    (void)w;
    struct arena *a = e->arena;
    struct json spec = json_member(o, "spec");
    check_selector(e, json_member(spec, "podSelector"), "spec.podSelector");
    for (size_t s = 0; s < lengthof(sides); s++) {
        size_t i = 0;
        json_each (rule, json_member(spec, sides[s].list)) {
            const char *here = check_item_path(a, "spec", sides[s].list, i++);
            size_t j = 0;
            json_each (port, json_member(*rule, "ports"))
                check_policy_port(e, *port, check_item_path(a, here, "ports", j++));
            check_peers(e, json_member(*rule, sides[s].peers), here, sides[s].peers);
        }
    }
    size_t i = 0;
    struct json chosen = json_member(spec, "policyTypes");
    if (chosen.count > 2)
        field_invalid(e, "spec.policyTypes", chosen, "may not specify more than two policyTypes");
    json_each (type, chosen)
        check_enum(e, *type, check_item_path(a, "spec", "policyTypes", i++), types);
}

/* ---- Lease ---- */

static void check_lease(const struct api_write *w, struct json o, struct field_errors *e)
{
    (void)w;
    struct json duration = json_get(o, "spec.leaseDurationSeconds"),
                moves = json_get(o, "spec.leaseTransitions");
    if (duration.type == JSON_INT && duration.integer <= 0)
        field_invalid(e, "spec.leaseDurationSeconds", duration, "must be greater than 0");
    if (moves.type == JSON_INT && moves.integer < 0)
        field_invalid(e, "spec.leaseTransitions", moves, "must be greater than or equal to 0");
}

const struct builtin_rules builtin_ingress = {
    .prepare = prepare_ingress,
    .validate = check_ingress,
    .warn = warn_ingress,
};
const struct builtin_rules builtin_ingress_class = {
    .fill = fill_ingress_class,
    .validate = check_ingress_class,
    .validate_change = check_ingress_class_change,
};
const struct builtin_rules builtin_network_policy = {
    .fill = fill_network_policy,
    .validate = check_network_policy,
};
const struct builtin_rules builtin_lease = { .validate = check_lease };
