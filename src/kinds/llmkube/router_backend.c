/* The addresses of a ModelRouter's back ends, and whether they can be used. */

#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model_pool.h"
#include "kinds/llmkube/router.h"

static const struct {
    const char *provider;
    const char *url; /* NULL: it has no default */
    const char *credential;
} providers[] = {
    { "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY" },
    { "openai", "https://api.openai.com", "OPENAI_API_KEY" },
    { "litellm", NULL, "LITELLM_MASTER_KEY" },
    { "bedrock", NULL, "AWS_ACCESS_KEY_ID" },
    { "vertex_ai", NULL, "GOOGLE_APPLICATION_CREDENTIALS" },
};

const char *router_credential(const char *provider)
{
    for (size_t i = 0; i < lengthof(providers); i++)
        if (text_eq(provider, providers[i].provider))
            return providers[i].credential;
    return NULL;
}

static const char *url_of(const struct router *r, const struct router_backend *b)
{
    if (!text_empty(b->url))
        return b->url;
    if (text_eq(b->provider, "litellm"))
        return text_empty(r->settings->default_litellm_url) ? NULL
                                                            : r->settings->default_litellm_url;
    for (size_t i = 0; i < lengthof(providers); i++)
        if (text_eq(b->provider, providers[i].provider))
            return providers[i].url;
    return NULL;
}

/* The Service of an InferenceService, under the name that its kind uses. */
static const char *host_of(const struct router *r, const char *service)
{
    const char *name = inference_service_host(r->arena, service);
    if (r->settings->one_machine)
        return json_get_text(view_get(r->in, &RESOURCE_SERVICE, name), "spec.clusterIP");
    return arena_printf(r->arena, "%s.%s.svc.cluster.local", name, r->ns);
}

static void resolve_service(struct router *r, struct router_backend *b)
{
    struct json service = view_get(r->in, &LLMKUBE_INFERENCE_SERVICE, b->service);
    if (!json_present(service)) {
        b->message = arena_printf(r->arena, "InferenceService \"%s\" not found", b->service);
        return;
    }
    const char *host = host_of(r, b->service);
    int64_t port = json_get_int(service, "spec.endpoint.port", 0);
    if (host)
        b->address =
            arena_printf(r->arena, "http://%s:%lld", host, (long long)(port ? port : 8080));
    else
        b->message = r->awaited = arena_printf(
            r->arena, "the Service of InferenceService \"%s\" has no address yet", b->service);
    b->serving = json_get_int(service, "status.readyReplicas", 0) > 0;
}

static void resolve_external(struct router *r, struct router_backend *b)
{
    b->serving = true;
    b->address = url_of(r, b);
    if (!b->address) {
        b->message = arena_printf(r->arena,
            "provider %s has no address of its own; set external.url",
            b->provider ? b->provider : "");
        return;
    }
    const char *key = router_credential(b->provider);
    if (text_empty(b->secret) || !key)
        return;
    struct json secret = view_get(r->in, &RESOURCE_SECRET, b->secret);
    if (!json_present(secret))
        b->message = arena_printf(r->arena, "credentials Secret \"%s\" not found", b->secret);
    else if (!json_present(json_member(json_get(secret, "data"), key)) &&
             !json_present(json_member(json_get(secret, "stringData"), key)))
        b->message =
            arena_printf(r->arena, "credentials Secret \"%s\" missing key \"%s\"", b->secret, key);
}

/* { member: its ModelPool } */
static struct json pools_by_member(const struct router *r)
{
    struct json_builder b;
    json_builder_init(&b, r->arena);
    json_each (pool, view_list(r->in, &LLMKUBE_MODEL_POOL, r->ns, NULL))
        json_each (member, json_get(*pool, "spec.members")) {
            const char *name = json_get_text(*member, "inferenceServiceRef.name");
            if (!text_empty(name))
                json_put(&b, name, *pool);
        }
    return json_map_end(&b);
}

void router_resolve(struct router *r)
{
    struct json pools = pools_by_member(r);
    for (size_t i = 0; i < r->backend_count; i++)
        if (r->backends[i].service) {
            r->backends[i].pool = json_member(pools, r->backends[i].service);
            r->pooled = r->pooled || json_present(r->backends[i].pool);
        }
    for (size_t i = 0; i < r->backend_count; i++)
        if (r->backends[i].service)
            resolve_service(r, &r->backends[i]);
        else
            resolve_external(r, &r->backends[i]);
}
