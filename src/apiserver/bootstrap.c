#include "apiserver/bootstrap.h"

#include "base/embed.h"

EMBED(bootstrap_text, "src/apiserver/bootstrap.json");

/* The address behind the network's own; NULL: not known. */
static const char *first_address(struct arena *a, const char *cidr)
{
    struct str rest = str_of(cidr), network = str_cut(&rest, '/');
    const char *text = str_dup(a, network), *dot = strrchr(text, '.');
    int64_t last;
    if (!dot || !str_to_int(str_of(dot + 1), &last) || last > 254)
        return NULL;
    return arena_printf(a, "%.*s.%d", (int)(dot - text), text, (int)last + 1);
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
        bool service = text_eq(json_get_text(*o, "kind"), "Service");
        const char *address = service ? first_address(a, service_cidr) : NULL;
        json_push(&objects, address ? json_with(a, *o, "spec.clusterIP", json_str(address)) : *o);
    }
    return json_list_end(&objects);
}

struct json bootstrap_namespace_objects(struct arena *a, const char *namespace, struct str ca)
{
    struct json account = json_fields(a,
        { "apiVersion", json_str("v1") },
        { "kind", json_str("ServiceAccount") },
        { "metadata.name", json_str("default") },
        { "metadata.namespace", json_str(namespace) });
    if (!ca.ptr)
        return json_list(a, account);
    return json_list(a,
        account,
        json_fields(a,
            { "apiVersion", json_str("v1") },
            { "kind", json_str("ConfigMap") },
            { "metadata.name", json_str("kube-root-ca.crt") },
            { "metadata.namespace", json_str(namespace) },
            { "data", json_map(a, { "ca.crt", json_strn(a, ca.ptr, ca.len) }) }));
}
