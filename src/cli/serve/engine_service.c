#include "cli/serve/engine_service.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/embedded.h"
#include "engine/facts.h"
#include "fetch/fetch.h"
#include "http/client.h"
#include "http/loop.h"
#include "kube/client.h"
#include "kube/events.h"
#include "merge/schema.h"

const char *engine_service_instance(struct arena *a)
{
    const char *pod = getenv("POD_NAME");
    char host[256] = "";
    if (text_empty(pod) && gethostname(host, sizeof(host) - 1) != 0)
        return "leeboard";
    return text_empty(pod) ? arena_strdup(a, host) : pod;
}

/* Parsing the YAML takes some milliseconds, while the server is busy with our lists. */
static void add_crds(void *ctx, struct schemas *to)
{
    (void)ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    json_each (crd, embedded_crds(&a)) {
        struct error err;
        bool ok = schemas_add_crd(to, *crd, &err);
        assert(ok); /* tests/crds/check also parses them */
    }
}

/* The groups of upstream, of all families. */
static const char *const groups[] = {
    "inference.llmkube.dev",
    "federation.llmkube.dev",
    "model.otterscale.io",
    "toolhive.stacklok.dev",
    NULL,
};

void engine_service_init(struct engine_service *s, const struct engine_service_options *o)
{
    const struct env *env = loop_env(o->loop);
    s->client = kube_client_new(o->transport, env);
    s->events = event_recorder_new(s->client,
        env,
        &(struct event_recorder_options){ .controller = "leeboard", .instance = o->instance });
    s->http = http_client_new(o->loop, &(struct http_client_options){ .connections_max = 8 });
    s->fetch = fetch_new(&(struct fetch_options){
        .loop = o->loop,
        .http = s->http,
        .kube = s->client,
        .allowed_remote_hosts = o->families->llmkube.allowed_remote_hosts,
        .allowed_roots = o->families->llmkube.allowed_host_path_roots,
    });
    s->schemas = schemas_new();
    s->engine = engine_new(&(struct engine_options){
        .env = env,
        .transport = o->transport,
        .client = s->client,
        .effects = fetch_runner(s->fetch),
        .events = s->events,
        .schemas = s->schemas,
        .add_crds = add_crds,
        .families = o->families->list,
        .groups = groups,
        .family_count = o->families->count,
        .own_crds = o->own_crds,
        .ns = o->ns,
        .manager = "leeboard",
        .self = o->self,
        .may_write = o->may_write,
        .ctx = o->ctx,
    });
}

void engine_service_done(struct engine_service *s)
{
    if (!s->engine)
        return;
    engine_free(s->engine);
    fetch_free(s->fetch);
    event_recorder_free(s->events);
    kube_client_free(s->client);
    http_client_free(s->http);
    schemas_free(s->schemas);
    *s = (struct engine_service){ 0 };
}
