#include "router/router.h"

#include <stdlib.h>
#include <strings.h>

#include "http/tls.h"
#include "router/dispatch.h"
#include "router/google.h"

#define CONNECTIONS_MAX 100000

/* ---- generations ---- */

/* Loading the system's certificates would be the slowest part of a start, and most routers on a
 * single machine do not need them. Without them no certificate is trusted. */
struct tls_context *router_tls(struct router *r)
{
    struct error err;
    if (!r->tls)
        r->tls = tls_client_new(
            &(struct tls_client_options){ .ca_file = getenv("SSL_CERT_FILE") }, &err);
    return r->tls;
}

static struct generation *generation_new(
    struct router *r, struct router_config *config, const struct generation *before)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct generation *g = mem_new_of(struct generation);
    g->refs = 1;
    g->config = router_config_ref(config);
    g->targets = mem_resize(NULL, config->backend_count, sizeof(*g->targets));
    for (size_t i = 0; i < config->backend_count; i++) {
        struct target *t = &g->targets[i];
        const char *address = config->backends[i].address;
        bool secure = address && strncasecmp(address, "https:", 6) == 0;
        router_target_init(t, &config->arena, &config->backends[i], secure ? router_tls(r) : NULL);
        if (text_eq(config->backends[i].provider, "vertex_ai") && !r->google)
            r->google = google_accounts_new(r->env, r->client, router_tls(r));
        t->google = r->google;
        for (size_t j = 0; before && j < before->config->backend_count; j++) {
            const struct router_backend *old = &before->config->backends[j];
            if (text_eq(old->name, t->backend->name) && text_eq(old->address, t->backend->address))
                router_target_inherit(t, &before->targets[j]);
        }
        (void)router_target_awaits_token(t, &a); /* starts to request it */
    }
    return g;
}

void router_generation_unref(struct generation *g)
{
    if (!g || --g->refs)
        return;
    for (size_t i = 0; i < g->config->backend_count; i++)
        router_target_done(&g->targets[i]);
    free(g->targets);
    router_config_unref(g->config);
    free(g);
}

/* ---- life ---- */

struct router *router_new(const struct router_options *options, struct router_config *config)
{
    struct router *r = mem_new_of(struct router);
    r->o = *options;
    r->o.quarantine_ms = options->no_quarantine ? 0 : options->quarantine_ms ?: 15000;
    r->o.first_token_ms = options->first_token_ms ?: 120000;
    r->o.keep_alive_ms = options->keep_alive_ms ?: 10000;
    r->o.hold_all_bytes = options->hold_all_bytes ?: (size_t)512 << 20;
    r->o.connect_ms = options->connect_ms ?: 10000;
    r->o.name = text_empty(options->name) ? "default" : options->name;
    r->env = loop_env(options->loop);
    r->client = http_client_new(options->loop,
        &(struct http_client_options){ .connections_max = CONNECTIONS_MAX,
            .idle_connection_ms = 10000,
            .limits = { .header_bytes_max = (size_t)256 << 10, .header_count_max = 512 } });
    router_report_link(r);
    if (options->kube) {
        r->pools = pools_new(r->env, options->kube, r->o.name);
        pools_link(r->pools, &r->metrics);
    }
    ledger_init(&r->ledger, r->env);
    r->now = generation_new(r, config, NULL);
    router_health_start(r);
    router_auth_start(r);
    return r;
}

void router_free(struct router *r)
{
    if (!r)
        return;
    assert(r->open == 0);
    router_shadow_stop(r);
    router_health_stop(r);
    router_auth_stop(r);
    google_accounts_free(r->google);
    http_client_free(r->client);
    router_generation_unref(r->now);
    tls_context_unref(r->tls);
    metrics_done(&r->metrics); /* contains the families of the pools */
    pools_free(r->pools);
    ledger_done(&r->ledger);
    free(r);
}

void router_set_config(struct router *r, struct router_config *config)
{
    struct generation *before = r->now;
    router_health_stop(r);
    r->now = generation_new(r, config, before);
    router_generation_unref(before);
    router_health_start(r);
    router_auth_start(r);
}

void router_set_draining(struct router *r)
{
    r->draining = true;
}

size_t router_held(const struct router *r)
{
    return r->held;
}

size_t router_open(const struct router *r)
{
    return r->open;
}

void router_metrics_print(struct router *r, struct buf *to)
{
    router_report_refresh(r);
    metrics_print(&r->metrics, to);
}

/* ---- endpoints ---- */

static void add_model(
    struct json_builder *b, struct arena *a, const char *id, const char *owner, int64_t created)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (text_eq(json_get_text(b->members[i].value, "id"), id))
            return;
    json_push(b,
        json_fields(a,
            { "id", json_str(id) },
            { "object", json_str("model") },
            { "created", json_int(created) },
            { "owned_by", json_str(owner) }));
}

/* Answers with the list of models that the team may use. */
static void reply_models(
    struct router *r, struct http_exchange *x, const struct http_request_head *head)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct router_config *c = r->now->config;
    const char *team;
    struct router_refusal no = router_auth_check(r, &c->auth, &a, head->headers, &team);
    if (no.status) {
        struct json error = json_fields(
            &a, { "error.code", json_int(no.status) }, { "error.message", json_str(no.message) });
        http_exchange_reply(x, no.status, "application/json", str_of(json_to_text(&a, error)));
        return;
    }
    struct json_builder b;
    int64_t created = env_wall_ms(r->env) / 1000;
    json_builder_init(&b, &a);
    for (size_t i = 0; i < c->backend_count; i++) {
        const struct router_backend *backend = &c->backends[i];
        const char *owner = text_empty(backend->provider) ? "llmkube" : backend->provider;
        if (router_auth_allows(&c->auth, team, router_route_model_id(backend)))
            add_model(&b, &a, router_route_model_id(backend), owner, created);
    }
    for (size_t i = 0; i < c->rule_count; i++)
        json_each (item, c->rules[i].models)
            if (!strpbrk(json_text(*item), "*?[\\") &&
                router_auth_allows(&c->auth, team, json_text(*item)))
                add_model(&b, &a, json_text(*item), "llmkube", created);
    struct json list =
        json_fields(&a, { "object", json_str("list") }, { "data", json_list_end(&b) });
    http_exchange_reply(x, 200, "application/json", str_of(json_to_text(&a, list)));
}

static void reply_plain(struct http_exchange *x, int status, const char *text, const char *allow)
{
    struct http_header list[] = {
        { STR("content-type"), STR("text/plain; charset=utf-8") },
        { STR("x-content-type-options"), STR("nosniff") },
        { STR("allow"), str_of(allow) },
    };
    http_exchange_respond(
        x, status, (struct http_headers){ list, allow ? 3 : 2 }, (int64_t)strlen(text));
    http_exchange_write(x, str_of(text));
    http_exchange_finish(x);
}

enum endpoint { EP_NONE, EP_API, EP_MODELS, EP_HEALTH, EP_READY };

static enum endpoint endpoint_of(struct str path)
{
    static const struct {
        const char *path;
        enum endpoint what;
    } table[] = {
        { "/v1/chat/completions", EP_API },
        { "/v1/completions", EP_API },
        { "/v1/embeddings", EP_API },
        { "/v1/responses", EP_API },
        { "/v1/rerank", EP_API },
        { "/v1/messages", EP_API },
        { "/v1/messages/count_tokens", EP_API },
        { "/v1/audio/transcriptions", EP_API },
        { "/v1/audio/translations", EP_API },
        { "/v1/audio/speech", EP_API },
        { "/v1/images/generations", EP_API },
        { "/v1/moderations", EP_API },
        { "/v1/models", EP_MODELS },
        { "/health", EP_HEALTH },
        { "/healthz", EP_HEALTH },
        { "/readyz", EP_READY },
    };
    for (size_t i = 0; i < lengthof(table); i++)
        if (str_eq(path, str_of(table[i].path)))
            return table[i].what;
    return EP_NONE;
}

void router_request(void *ctx, struct http_exchange *x, const struct http_request_head *head)
{
    struct router *r = ctx;
    enum endpoint what = endpoint_of(head->path);
    bool get = str_eq(head->method, STR("GET")) || str_eq(head->method, STR("HEAD"));
    bool post = str_eq(head->method, STR("POST"));
    if (r->draining)
        http_exchange_close_after(x);
    if (what == EP_NONE)
        reply_plain(x, 404, "404 page not found\n", NULL);
    else if (what == EP_API && !post)
        reply_plain(x, 405, "Method Not Allowed\n", "POST");
    else if (what != EP_API && !get)
        reply_plain(x, 405, "Method Not Allowed\n", "GET, HEAD");
    else if (what == EP_API)
        router_dispatch_new(r, x, head);
    else if (what == EP_MODELS)
        reply_models(r, x, head);
    else if (what == EP_READY && r->draining)
        http_exchange_reply(x, 503, "application/json", STR("{\"status\":\"draining\"}"));
    else
        http_exchange_reply(x, 200, "application/json", STR("{\"status\":\"ok\"}"));
}
