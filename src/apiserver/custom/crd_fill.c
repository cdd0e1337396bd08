#include "apiserver/custom/crd_fill.h"

#include "apiserver/custom/crd_schema.h"
#include "base/str.h"

static bool is_empty(struct json v)
{
    return !json_is(v, JSON_STR) || !v.count;
}

/* Adds the storage version to the stored versions. */
static struct json stored_versions(struct arena *a, struct json crd, struct json before)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_push_all(&b, before);
    json_each (version, json_get(crd, "spec.versions")) {
        const char *name = json_get_text(*version, "name");
        if (!json_get_bool(*version, "storage", false) || !name)
            continue;
        if (!json_list_has(before, name))
            json_push(&b, json_str(name));
        break;
    }
    return b.count ? json_list_end(&b) : json_null();
}

struct json crd_fill(struct arena *a, struct json crd)
{
    struct json names = json_get(crd, "spec.names"), kind = json_member(names, "kind");
    if (is_empty(json_member(names, "singular")) && !is_empty(kind)) {
        char *lower = arena_strdup(a, kind.string);
        for (char *c = lower; *c; c++)
            if (*c >= 'A' && *c <= 'Z')
                *c = (char)(*c - 'A' + 'a');
        names = json_with_member(a, names, "singular", json_str(lower));
    }
    if (is_empty(json_member(names, "listKind")) && !is_empty(kind))
        names = json_with_member(a, names, "listKind", json_strf(a, "%sList", kind.string));
    crd = json_with(a, crd, "spec.names", names);
    if (!json_present(json_get(crd, "spec.conversion")))
        crd = json_with(a, crd, "spec.conversion.strategy", json_str("None"));
    struct json service = json_get(crd, "spec.conversion.webhook.clientConfig.service");
    if (json_present(service) && !json_present(json_member(service, "port")))
        crd = json_with(a, crd, "spec.conversion.webhook.clientConfig.service.port", json_int(443));
    return crd;
}

static struct json read_defaults(struct arena *a, struct json crd)
{
    struct json versions = json_get(crd, "spec.versions");
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (version, versions) {
        struct json schema = json_get(*version, "schema.openAPIV3Schema");
        bool known = json_is(schema, JSON_MAP);
        json_push(&b,
            known ? json_with(
                        a, *version, "schema.openAPIV3Schema", crd_schema_read_defaults(a, schema))
                  : *version);
    }
    return versions.count ? json_with(a, crd, "spec.versions", json_list_end(&b)) : crd;
}

struct json crd_prepare(struct arena *a, struct json crd, struct json old, bool of_status)
{
    if (of_status) {
        struct json meta = json_member(old, "metadata"), given = json_member(crd, "metadata");
        meta = json_with_member(a, meta, "managedFields", json_member(given, "managedFields"));
        meta = json_with_member(a, meta, "resourceVersion", json_member(given, "resourceVersion"));
        struct json status = json_member(crd, "status");
        struct json stored = json_member(status, "storedVersions");
        if (!stored.count)
            status = json_with_member(a, status, "storedVersions", stored_versions(a, old, stored));
        crd = json_with_member(a, old, "metadata", meta);
        return json_with_member(a, crd, "status", status);
    }
    crd = read_defaults(a, crd);
    struct json status = json_member(old, "status");
    if (!json_present(status))
        status = json_fields(a,
            { "acceptedNames.kind", json_str("") },
            { "acceptedNames.plural", json_str("") },
            { "conditions", json_null() });
    struct json stored = stored_versions(a, crd, json_member(status, "storedVersions"));
    status = json_with_member(a, status, "storedVersions", stored);
    return json_with_member(a, crd, "status", status);
}
