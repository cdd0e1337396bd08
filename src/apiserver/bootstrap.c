#include "apiserver/bootstrap.h"

#include "base/embed.h"

EMBED(bootstrap_text, "src/apiserver/bootstrap.json");

struct json bootstrap_objects(struct arena *a)
{
    struct json list;
    struct error err;
    bool ok = json_parse(a, str_of(bootstrap_text), &list, &err);
    assert(ok);
    return list;
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
