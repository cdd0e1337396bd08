#include "apiserver/describe/discovery.h"

#include "base/base64.h"
#include "base/hash.h"

static const struct subresource subresources[] = {
    { "", "namespaces", "finalize", "", "", "Namespace", API_UPDATE },
    { "", "pods", "attach", "", "", "PodAttachOptions", API_CREATE | API_GET },
    { "", "pods", "binding", "", "", "Binding", API_CREATE },
    { "", "pods", "ephemeralcontainers", "", "", "Pod", API_GET | API_PATCH | API_UPDATE },
    { "", "pods", "eviction", "policy", "v1", "Eviction", API_CREATE },
    { "", "pods", "exec", "", "", "PodExecOptions", API_CREATE | API_GET },
    { "", "pods", "log", "", "", "Pod", API_GET },
    { "", "pods", "portforward", "", "", "PodPortForwardOptions", API_CREATE | API_GET },
    { "", "pods", "resize", "", "", "Pod", API_GET | API_PATCH | API_UPDATE },
    { "certificates.k8s.io",
        "certificatesigningrequests",
        "approval",
        "",
        "",
        "CertificateSigningRequest",
        API_GET | API_PATCH | API_UPDATE },
    { "", "serviceaccounts", "token", "authentication.k8s.io", "v1", "TokenRequest", API_CREATE },
};

struct verb_name {
    const char *name;
    unsigned verb;
};
/* In the API server's order. */
static const struct verb_name builtin_verbs[] = {
    { "create", API_CREATE },
    { "delete", API_DELETE },
    { "deletecollection", API_DELETE_COLLECTION },
    { "get", API_GET },
    { "list", API_LIST },
    { "patch", API_PATCH },
    { "update", API_UPDATE },
    { "watch", API_WATCH },
};
static const struct verb_name custom_verbs[] = {
    { "delete", API_DELETE },
    { "deletecollection", API_DELETE_COLLECTION },
    { "get", API_GET },
    { "list", API_LIST },
    { "patch", API_PATCH },
    { "create", API_CREATE },
    { "update", API_UPDATE },
    { "watch", API_WATCH },
};

static struct json verbs_of(struct arena *a, unsigned verbs, bool custom)
{
    const struct verb_name *names = custom ? custom_verbs : builtin_verbs;
    struct json_builder list;
    json_builder_init(&list, a);
    for (size_t i = 0; i < lengthof(builtin_verbs); i++)
        if (verbs & names[i].verb)
            json_push(&list, json_str(names[i].name));
    return json_list_end(&list);
}

static struct json texts(struct arena *a, const char *const *list)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (; list && *list; list++)
        json_push(&b, json_str(*list));
    return json_or_absent(json_list_end(&b));
}

/* ---- subresources ---- */

static const struct subresource *named(const char *plural, const char *group, size_t nth)
{
    for (size_t i = 0; i < lengthof(subresources); i++)
        if (text_eq(subresources[i].plural, plural) && text_eq(subresources[i].group, group) &&
            nth-- == 0)
            return &subresources[i];
    return NULL;
}

const struct subresource *discovery_subresource(const struct api_kind *k, size_t i)
{
    return k->custom ? NULL : named(k->resource.plural, k->resource.group, i);
}

const struct subresource *discovery_find_subresource(const struct api_kind *k, const char *name)
{
    const struct subresource *s;
    for (size_t i = 0; (s = discovery_subresource(k, i)); i++)
        if (text_eq(s->name, name))
            return s;
    return NULL;
}

size_t discovery_subresources(
    const struct api_kind *k, struct subresource ret[DISCOVERY_SUBRESOURCES_MAX])
{
    size_t count = 0;
    const struct subresource *s;
    unsigned change = API_GET | API_PATCH | API_UPDATE;
    for (; (s = discovery_subresource(k, count)); count++)
        ret[count] = *s;
    if (k->scale.spec_replicas)
        ret[count++] =
            (struct subresource){ "", "", "scale", "autoscaling", "v1", "Scale", change };
    if (k->has_status)
        ret[count++] = (struct subresource){ "", "", "status", "", "", k->resource.kind, change };
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0; j--) {
            int order = strcmp(ret[j - 1].name, ret[j].name);
            if (k->custom ? order > 0 : order < 0)
                break;
            struct subresource swap = ret[j];
            ret[j] = ret[j - 1];
            ret[j - 1] = swap;
        }
    return count;
}

/* ---- one document per group and version ---- */

struct json discovery_api_versions(struct arena *a, const char *endpoint)
{
    struct json here = json_map(
        a, { "clientCIDR", json_str("0.0.0.0/0") }, { "serverAddress", json_str(endpoint) });
    return json_map(a,
        { "kind", json_str("APIVersions") },
        { "versions", json_list(a, json_str("v1")) },
        { "serverAddressByClientCIDRs", endpoint ? json_list(a, here) : json_empty_list() });
}

static struct json group_version(struct arena *a, const struct resource *r)
{
    return json_map(a,
        { "groupVersion", json_str(resource_api_version(a, r)) },
        { "version", json_str(r->version) });
}

/* The group whose first kind is *at; then *at is after its last kind. */
static struct json group_at(
    struct arena *a, const struct registry *r, size_t *at, const char *api_version)
{
    const struct api_kind *first = registry_at(r, *at), *k = first;
    struct json_builder versions;
    json_builder_init(&versions, a);
    for (const char *last = NULL; k && text_eq(k->resource.group, first->resource.group);
         k = registry_at(r, ++*at)) {
        if (!text_eq(k->resource.version, last))
            json_push(&versions, group_version(a, &k->resource));
        last = k->resource.version;
    }
    return json_map(a,
        { "kind", json_str(api_version ? "APIGroup" : NULL) },
        { "apiVersion", json_str(api_version) },
        { "name", json_str(first->resource.group) },
        { "versions", json_list_end(&versions) },
        { "preferredVersion", group_version(a, &first->resource) });
}

struct json discovery_groups(struct arena *a, const struct registry *r)
{
    struct json_builder groups;
    json_builder_init(&groups, a);
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(r, i));) {
        struct json group = group_at(a, r, &i, NULL);
        if (*k->resource.group)
            json_push(&groups, group);
    }
    return json_map(a,
        { "kind", json_str("APIGroupList") },
        { "apiVersion", json_str("v1") },
        { "groups", json_list_end(&groups) });
}

struct json discovery_group(struct arena *a, const struct registry *r, const char *group)
{
    const struct api_kind *k;
    for (size_t i = 0; *group && (k = registry_at(r, i)); i++)
        if (text_eq(k->resource.group, group))
            return group_at(a, r, &i, "v1");
    return json_none;
}

/* Kinds for which the API server reports an older storage version than it serves. */
static const struct {
    const char *kind, *version;
} older[] = {
    { "CustomResourceDefinition", "apiextensions.k8s.io/v1beta1" },
    { "MutatingAdmissionPolicy", "admissionregistration.k8s.io/v1beta1" },
    { "MutatingAdmissionPolicyBinding", "admissionregistration.k8s.io/v1beta1" },
};

/* A digest of the storage version, so that clients notice a change. */
static struct json storage_hash(struct arena *a, const struct api_kind *k)
{
    if (!(k->verbs & API_GET) || text_empty(k->storage_version))
        return json_none;
    uint8_t digest[SHA256_BYTES];
    const char *version = k->storage_version;
    for (size_t i = 0; i < lengthof(older) && !k->custom; i++)
        if (text_eq(k->resource.kind, older[i].kind))
            version = older[i].version;
    sha256_of(str_of(arena_printf(
                  a, "%s%s/%s", strchr(version, '/') ? "" : "/", version, k->resource.kind)),
        digest);
    return json_str(base64_encode(a, (struct str){ (const char *)digest, 8 }));
}

static void push_resource(struct json_builder *list, const struct api_kind *k)
{
    struct arena *a = list->arena;
    json_push(list,
        json_map(a,
            { "name", json_str(k->resource.plural) },
            { "singularName", json_str(k->singular) },
            { "namespaced", json_bool(!k->resource.cluster_scoped) },
            { "kind", json_str(k->resource.kind) },
            { "verbs", verbs_of(a, k->verbs, k->custom) },
            { "shortNames", texts(a, k->short_names) },
            { "categories", texts(a, k->categories) },
            { "storageVersionHash", storage_hash(a, k) }));
    struct subresource subs[DISCOVERY_SUBRESOURCES_MAX];
    size_t count = discovery_subresources(k, subs);
    for (size_t i = 0; i < count; i++)
        json_push(list,
            json_map(a,
                { "name", json_strf(a, "%s/%s", k->resource.plural, subs[i].name) },
                { "singularName", json_str("") },
                { "namespaced", json_bool(!k->resource.cluster_scoped) },
                { "group", json_str_or_absent(subs[i].kind_group) },
                { "version", json_str_or_absent(subs[i].kind_version) },
                { "kind", json_str(subs[i].kind) },
                { "verbs", verbs_of(a, subs[i].verbs, false) }));
}

struct json discovery_resources(
    struct arena *a, const struct registry *r, const char *group, const char *version)
{
    struct json_builder list;
    json_builder_init(&list, a);
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(r, i)); i++)
        if (text_eq(k->resource.group, group) && text_eq(k->resource.version, version))
            push_resource(&list, k);
    if (list.count == 0)
        return json_none;
    return json_map(a,
        { "kind", json_str("APIResourceList") },
        { "apiVersion", json_str(*group ? "v1" : NULL) },
        { "groupVersion",
            *group ? json_strf(a, "%s/%s", group, version) : json_strf(a, "%s", version) },
        { "resources", json_list_end(&list) });
}

/* ---- aggregated ---- */

static struct json response_kind(
    struct arena *a, const char *group, const char *version, const char *kind)
{
    return json_map(a,
        { "group", json_str(group) },
        { "version", json_str(version) },
        { "kind", json_str(kind) });
}

static struct json aggregated_resource(struct arena *a, const struct api_kind *k)
{
    const char *group = k->custom ? k->resource.group : "";
    const char *version = k->custom ? k->resource.version : "";
    struct subresource subs[DISCOVERY_SUBRESOURCES_MAX];
    size_t count = discovery_subresources(k, subs);
    struct json_builder list;
    json_builder_init(&list, a);
    for (size_t i = 0; i < count; i++) {
        bool own = !*subs[i].kind_version;
        json_push(&list,
            json_map(a,
                { "subresource", json_str(subs[i].name) },
                { "responseKind",
                    response_kind(a,
                        own ? group : subs[i].kind_group,
                        own ? version : subs[i].kind_version,
                        subs[i].kind) },
                { "verbs", verbs_of(a, subs[i].verbs, false) }));
    }
    return json_map(a,
        { "resource", json_str(k->resource.plural) },
        { "responseKind", response_kind(a, group, version, k->resource.kind) },
        { "scope", json_str(k->resource.cluster_scoped ? "Cluster" : "Namespaced") },
        { "singularResource", json_str(k->singular) },
        { "verbs", verbs_of(a, k->verbs, k->custom) },
        { "shortNames", texts(a, k->short_names) },
        { "categories", texts(a, k->categories) },
        { "subresources", json_or_absent(json_list_end(&list)) });
}

static struct json aggregated_version(struct arena *a, const struct registry *r, size_t *at)
{
    const struct resource *first = &registry_at(r, *at)->resource;
    struct json_builder list;
    json_builder_init(&list, a);
    const struct api_kind *k;
    for (; (k = registry_at(r, *at)) && text_eq(k->resource.group, first->group) &&
           text_eq(k->resource.version, first->version);
         ++*at)
        json_push(&list, aggregated_resource(a, k));
    return json_map(a,
        { "version", json_str(first->version) },
        { "resources", json_list_end(&list) },
        { "freshness", json_str("Current") });
}

struct json discovery_aggregated(struct arena *a, const struct registry *r, bool core)
{
    struct json_builder groups;
    json_builder_init(&groups, a);
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(r, i));) {
        const char *group = k->resource.group;
        struct json_builder versions;
        json_builder_init(&versions, a);
        while ((k = registry_at(r, i)) && text_eq(k->resource.group, group))
            json_push(&versions, aggregated_version(a, r, &i));
        if (core == !*group)
            json_push(&groups,
                json_map(a,
                    { "metadata", json_map(a, { "name", json_str_or_absent(group) }) },
                    { "versions", json_list_end(&versions) }));
    }
    return json_map(a,
        { "kind", json_str("APIGroupDiscoveryList") },
        { "apiVersion", json_str("apidiscovery.k8s.io/v2") },
        { "metadata", json_empty_map() },
        { "items", json_list_end(&groups) });
}
