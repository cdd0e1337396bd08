#include "cli/serve/webhook_manifests.h"

#include "base/resource.h"
#include "kinds/llmkube/admission.h"

static struct json webhook_of(struct arena *a, const struct admission *w, const char *ns,
    const char *service, struct json watched)
{
    const struct resource *r = w->kind->resource;
    struct json scope = json_fields(a,
        { "key", json_str("kubernetes.io/metadata.name") },
        { "operator", json_str("In") },
        { "values", watched });
    return json_fields(a,
        { "name", json_str(w->name) },
        { "admissionReviewVersions", json_list(a, json_str("v1")) },
        { "sideEffects", json_str("None") },
        { "failurePolicy", json_str(w->ignorable ? "Ignore" : "Fail") },
        { "clientConfig.service.name", json_str(service) },
        { "clientConfig.service.namespace", json_str(ns) },
        { "clientConfig.service.path", json_str(w->path) },
        { "namespaceSelector.matchExpressions",
            json_if(json_present(watched), json_list(a, scope)) },
        { "rules",
            json_list(a,
                json_fields(a,
                    { "apiGroups", json_list(a, json_str(r->group)) },
                    { "apiVersions", json_list(a, json_str(r->version)) },
                    { "operations", json_list(a, json_str("CREATE"), json_str("UPDATE")) },
                    { "resources", json_list(a, json_str(r->plural)) },
                    { "scope", json_str("Namespaced") })) });
}

struct json webhook_manifests_list(
    struct arena *a, bool mutating, const char *ns, const char *service, struct json watched)
{
    struct json_builder list;
    json_builder_init(&list, a);
    for (const struct admission *w = llmkube_admissions; w->name; w++)
        if (w->mutating == mutating)
            json_push(&list, webhook_of(a, w, ns, service, watched));
    return json_list_end(&list);
}

static struct json rule(
    struct arena *a, const char *group, struct json resources, const char *name, struct json verbs)
{
    return json_fields(a,
        { "apiGroups", json_list(a, json_str(group)) },
        { "resources", resources },
        { "resourceNames", json_if(name, json_list(a, json_str(name))) },
        { "verbs", verbs });
}

struct json webhook_manifests_secret_rules(struct arena *a, const char *secret)
{
    struct json secrets = json_list(a, json_str("secrets"));
    return json_list(a,
        rule(a, "", secrets, NULL, json_list(a, json_str("create"))),
        rule(a, "", secrets, secret, json_list(a, json_str("get"), json_str("update"))));
}

struct json webhook_manifests_rules(struct arena *a, const char *name)
{
    return json_list(a,
        rule(a,
            "admissionregistration.k8s.io",
            json_list(a,
                json_str("validatingwebhookconfigurations"),
                json_str("mutatingwebhookconfigurations")),
            name,
            json_list(a, json_str("get"), json_str("patch"))));
}
