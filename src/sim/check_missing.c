#include "sim/sim.h"

/* 6: if an object needs something that the cluster lacks, one of its conditions names it: a Secret,
 * or the definition of another project's kind. */

#define CRDS "apiextensions.k8s.io/customresourcedefinitions"

/* A path of the spec: it names Secrets, or is a switch that needs a definition; "" if the
 * definition is always needed. */
static const struct need {
    const char *kind, *path;
    const char *crd;  /* NULL: Secrets */
    const char *told; /* the expected text; NULL: its name */
} needs[] = {
    { "ModelArtifact", "spec.source.huggingFace.tokenSecretRef", NULL, NULL },
    { "ModelArtifact", "spec.target.credentialsSecretRef", NULL, NULL },
    { "ModelService", "spec.model.imagePullSecrets", NULL, NULL },
    { "ModelService", "", "inferencepools.inference.networking.k8s.io", NULL },
    { "ModelService",
        "spec.monitoring.podMonitor.enabled",
        "podmonitors.monitoring.coreos.com",
        NULL },
    { "InferenceService",
        "spec.endpoint.gateway.enabled",
        "aigatewayroutes.aigateway.envoyproxy.io",
        "CRDs of Envoy AI Gateway" },
};

static bool is_there(struct sim *s, const char *table, const char *ns, const char *name)
{
    return store_get(store_table(s->store, table), ns, name) != NULL;
}

static bool tells(struct json object, const char *what)
{
    json_each (condition, json_get(object, "status.conditions")) {
        const char *message = json_get_text(*condition, "message");
        if (message && strstr(message, what))
            return true;
    }
    return false;
}

/* Of several missing Secrets, the first or all are named. True: one is missing. */
static bool check_secrets(struct sim *s, struct json object, struct json named)
{
    const char *ns = json_get_text(object, "metadata.namespace"), *first = NULL;
    struct json list = json_is(named, JSON_LIST)
                           ? named
                           : json_if(json_is(named, JSON_MAP), json_list(&s->arena, named));
    json_each (reference, list) {
        const char *name = json_get_text(*reference, "name");
        if (!first && !text_empty(name) && !is_there(s, "/secrets", ns, name))
            first = name;
    }
    if (first && !tells(object, arena_printf(&s->arena, "Secret %s is not", first)))
        sim_fail(s,
            "promise 6, cause: %s %s/%s does not tell that there is no Secret %s",
            json_get_text(object, "kind"),
            ns,
            json_get_text(object, "metadata.name"),
            first);
    return first != NULL;
}

void sim_check_missing(struct sim *s, struct json object)
{
    bool told = false;
    for (const struct need *n = needs; n < needs + lengthof(needs); n++) {
        if (!text_eq(json_get_text(object, "kind"), n->kind))
            continue;
        /* Before there is a Job, the condition reports what prevents its creation. */
        if (!n->crd && text_eq(n->kind, "ModelArtifact") &&
            !json_present(json_get(object, "status.jobRef")))
            continue;
        if (!n->crd)
            told = told || check_secrets(s, object, json_get(object, n->path));
        else if ((!*n->path || json_get_bool(object, n->path, false)) &&
                 !is_there(s, CRDS, "", n->crd) && !tells(object, n->told ? n->told : n->crd))
            sim_fail(s,
                "promise 6, cause: %s %s/%s does not tell that there is no %s",
                n->kind,
                json_get_text(object, "metadata.namespace"),
                json_get_text(object, "metadata.name"),
                n->crd);
    }
}

void sim_check_tells(struct sim *s, const char *path, const char *what)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json object = { 0 };
    sim_ask(s, "person", "GET", path, NULL, json_none, &a, &object);
    if (!tells(object, what))
        sim_fail(s,
            "promise 6, cause: %s/%s does not tell \"%s\" but %s",
            json_get_text(object, "metadata.namespace"),
            json_get_text(object, "metadata.name"),
            what,
            json_to_text(&a, json_get(object, "status.conditions")));
}
