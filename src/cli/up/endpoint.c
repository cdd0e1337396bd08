#include "cli/up/endpoint.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/table.h"
#include "base/url.h"
#include "cli/serve/listen.h"
#include "cli/up/endpoint_config.h"
#include "http/client.h"
#include "http/loop.h"
#include "http/server.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model_router.h"
#include "kube/file.h"
#include "kube/objects.h"
#include "router/router.h"

#define KEY_FILE_BYTES_MAX ((size_t)64 << 10)
#define CONNECTIONS_MAX 10000
#define NAMES_BYTES_MAX ((int64_t)1 << 20)
#define NAMES_MS 5000
#define AGAIN_MS 1000
#define TRIES_MAX 10
#define NAMES_MAX 100
/* Time for the first token after a long prompt on a slow machine, and between tokens. */
#define TOKEN_MS 3600000

/* The models of a service, read each time that it becomes ready. */
struct service {
    struct table_node node;
    struct endpoint *of;
    char *key, *origin; /* NAMESPACE/NAME; the origin when it was read */
    struct http_call *call;
    struct timer again;
    int tries, status;
    struct buf answer;
    struct arena arena; /* of: */
    struct json names;
    bool stale; /* no longer ready, as far as is known */
};

struct endpoint {
    struct endpoint_options options;
    struct arena arena;
    struct listen_address address;
    const char *url;
    struct objects *objects;
    struct router *router;
    struct http_server *server;
    struct table services;
    char *config; /* the router's current config */
    struct timer refresh;
    struct file_stamp keys_stamp;
    struct arena keys_arena;
    struct str keys;
};

static const struct env *env_of(const struct endpoint *e)
{
    return loop_env(e->options.loop);
}

/* ---- models of services ---- */

static bool service_is(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct service, node)->key, key);
}

static void service_free(struct service *s)
{
    if (s->call)
        http_call_cancel(s->call);
    timer_stop(env_of(s->of), &s->again);
    table_remove(&s->of->services, &s->node);
    buf_done(&s->answer);
    arena_done(&s->arena);
    free(s->key);
    free(s->origin);
    free(s);
}

static void on_head(void *ctx, const struct http_response *response)
{
    ((struct service *)ctx)->status = response->status;
}

static void on_data(void *ctx, struct str bytes)
{
    buf_add(&((struct service *)ctx)->answer, bytes.ptr, bytes.len);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    (void)sent;
    struct service *s = ctx;
    struct json answer;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    s->call = NULL;
    if (err || s->status != 200 || !json_parse(&a, buf_str(&s->answer), &answer, NULL)) {
        if (++s->tries < TRIES_MAX) /* it serves at least its own name */
            timer_set(env_of(s->of), &s->again, AGAIN_MS);
        return;
    }
    struct json_builder names;
    json_builder_init(&names, &s->arena);
    json_each (model, json_get(answer, "data"))
        if (json_get_text(*model, "id") && names.count < NAMES_MAX)
            json_push(&names, json_str(arena_strdup(&s->arena, json_get_text(*model, "id"))));
    s->names = json_list_end(&names);
    timer_set(env_of(s->of), &s->of->refresh, 0);
}

static void ask(void *ctx)
{
    static const struct http_call_handlers handlers = { on_head, on_data, on_end, NULL };
    struct service *s = ctx;
    struct url url;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (!url_parse(&a, s->origin, &url, NULL))
        return;
    buf_reset(&s->answer);
    s->call = http_call_open(s->of->options.http,
        &(struct http_request){
            .origin = &(struct http_origin){ .host = url.host, .port = (uint16_t)url_port(&url) },
            .method = "GET",
            .path = "/v1/models",
            .body_bytes_max = NAMES_BYTES_MAX,
            .timeouts = { .total_ms = NAMES_MS },
        },
        &handlers,
        s);
}

static struct service *service_of(struct endpoint *e, const char *key, const char *origin)
{
    uint64_t hash = table_hash(&e->services, key, strlen(key));
    struct table_node *n = table_find(&e->services, hash, service_is, key);
    struct service *s = n ? container_of(n, struct service, node) : NULL;
    if (s && text_eq(s->origin, origin))
        return s;
    if (s)
        service_free(s);
    s = mem_new_of(struct service);
    s->of = e;
    s->key = mem_strdup(key);
    s->origin = mem_strdup(origin);
    buf_init(&s->answer, (size_t)NAMES_BYTES_MAX);
    arena_init(&s->arena, ARENA_LIMIT_DEFAULT);
    timer_init(&s->again, ask, s);
    table_add(&e->services, &s->node, hash);
    ask(s);
    return s;
}

/* ---- the config ---- */

struct listing {
    struct endpoint *endpoint;
    struct arena *arena;
    struct json_builder services, served;
};

static void add(void *ctx, struct json object)
{
    struct listing *l = ctx;
    const char *key = endpoint_key(l->arena, object);
    const char *origin = endpoint_origin(l->arena, object);
    json_push(&l->services, object);
    if (!origin)
        return;
    struct service *s = service_of(l->endpoint, key, origin);
    s->stale = false;
    if (json_present(s->names))
        json_put(&l->served, key, s->names);
}

/* An InferenceService with the same name takes precedence. */
static void add_router(void *ctx, struct json object)
{
    struct listing *l = ctx;
    struct json service = objects_get(l->endpoint->objects,
        &LLMKUBE_INFERENCE_SERVICE,
        json_get_text(object, "metadata.namespace"),
        json_get_text(object, "metadata.name"));
    if (!json_present(service))
        add(l, json_with_member(l->arena, object, "kind", json_str("ModelRouter")));
}

static void drop_stale(struct endpoint *e)
{
    for (struct table_cursor c = table_first(&e->services); c.node; table_next(&c)) {
        struct service *s = container_of(c.node, struct service, node);
        if (s->stale)
            service_free(s);
    }
}

static const char *config_text(struct endpoint *e, struct arena *a)
{
    struct listing l = { .endpoint = e, .arena = a };
    json_builder_init(&l.services, a);
    json_builder_init(&l.served, a);
    for (struct table_cursor c = table_first(&e->services); c.node; table_next(&c))
        container_of(c.node, struct service, node)->stale = true;
    if (e->objects)
        objects_each(e->objects, &LLMKUBE_INFERENCE_SERVICE, add, &l);
    if (e->objects)
        objects_each(e->objects, &LLMKUBE_MODEL_ROUTER, add_router, &l);
    drop_stale(e);
    return json_to_text(a, endpoint_config(a, json_list_end(&l.services), json_map_end(&l.served)));
}

static struct router_config *read_config(struct endpoint *e, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *text = config_text(e, &a);
    if (text_eq(text, e->config))
        return NULL;
    free(e->config);
    e->config = mem_strdup(text);
    return router_config_new(str_of(text), (struct str){ 0 }, err);
}

static void refresh(void *ctx)
{
    struct endpoint *e = ctx;
    struct error err = { 0 };
    struct router_config *c = read_config(e, &err);
    if (c)
        router_set_config(e->router, c);
    router_config_unref(c);
}

static void on_changed(
    void *ctx, const struct resource *kind, const char *ns, const char *name, struct json object)
{
    (void)kind, (void)ns, (void)name, (void)object;
    struct endpoint *e = ctx;
    timer_set(env_of(e), &e->refresh, 0);
}

static void on_loaded(void *ctx)
{
    (void)ctx;
}

/* ---- keys ---- */

static void read_keys(struct endpoint *e)
{
    struct file_stamp stamp = file_stamp(e->options.key_file);
    struct error err;
    if (file_stamp_eq(stamp, e->keys_stamp))
        return;
    e->keys_stamp = stamp;
    arena_reset(&e->keys_arena);
    if (!file_read(&e->keys_arena, e->options.key_file, KEY_FILE_BYTES_MAX, &e->keys, &err))
        e->keys = STR(""); /* no client is authorized */
}

static bool key_is_known(struct endpoint *e, struct str key)
{
    uint8_t given[SHA256_BYTES], known[SHA256_BYTES];
    bool found = false;
    sha256_of(key, given);
    read_keys(e);
    for (struct str rest = e->keys, line; rest.ptr && rest.len;) {
        line = str_trim(str_cut(&rest, '\n'));
        if (!line.len || line.ptr[0] == '#')
            continue;
        sha256_of(line, known); /* a comparison of digests leaks no key by timing */
        found = memcmp(given, known, sizeof(given)) == 0 || found;
    }
    return found;
}

static bool is_allowed(struct endpoint *e, const struct http_request_head *head)
{
    struct str value = http_header_find(head->headers, "authorization");
    struct str word = value.ptr ? str_cut(&value, ' ') : value;
    if (str_eq_nocase(word, STR("bearer")) && value.ptr)
        return key_is_known(e, str_trim(value));
    struct str key = http_header_find(head->headers, "x-api-key");
    return key.ptr && key_is_known(e, str_trim(key));
}

static void refuse(struct http_exchange *x, int status, const char *code, const char *message)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json error = router_openai_error(&a, status, code, message);
    http_exchange_close_after(x);
    http_exchange_reply(x, status, "application/json", str_of(json_to_text(&a, error)));
}

static void on_request(void *ctx, struct http_exchange *x, const struct http_request_head *head)
{
    struct endpoint *e = ctx;
    const struct endpoint_options *o = &e->options;
    bool open = !o->key_file || str_eq(head->path, STR("/health"));
    if (!o->key_file && !o->open && !listen_is_local_host(head->authority))
        refuse(x,
            403,
            "forbidden_host",
            "Without keys this endpoint answers only requests for localhost or an address, so that "
            "web pages cannot reach it. Call it http://127.0.0.1, or start leeboard with "
            "--api-key-file or --endpoint-without-key.");
    else if (open || is_allowed(e, head))
        router_request(e->router, x, head);
    else
        refuse(x,
            401,
            "invalid_api_key",
            "This endpoint needs a key of its --api-key-file: Authorization: Bearer KEY.");
}

/* ---- life ---- */

static bool check_address(struct endpoint *e, struct error *err)
{
    const struct endpoint_options *o = &e->options;
    if (!listen_read("--endpoint", o->address, &e->address, err))
        return false;
    if (o->key_file) {
        read_keys(e);
        if (!str_trim(e->keys).len)
            return fail(
                err, ERR_INVALID, "--api-key-file %s cannot be read, or has no key", o->key_file);
    }
    return o->key_file || o->open || listen_is_local(&e->address) ||
           fail(err,
               ERR_INVALID,
               "--endpoint %s can be reached from other machines without a key; add --api-key-file "
               "FILE, or --endpoint-without-key to allow that",
               o->address);
}

static bool make_server(struct endpoint *e, struct error *err)
{
    const char *name = listen_name(&e->address);
    e->server = http_server_new(e->options.loop,
        &(struct http_server_options){
            .address = !*e->address.host                       ? NULL
                       : text_eq(e->address.host, "localhost") ? "127.0.0.1"
                                                               : e->address.host,
            .port = e->address.port,
            .request = on_request,
            .ctx = e,
            .connections_max = CONNECTIONS_MAX,
            .body_bytes_max = ROUTER_BODY_BYTES_MAX * 2,
        },
        err);
    if (!e->server) {
        struct error why = *err;
        return fail(err,
            why.code,
            "the endpoint: %s; --endpoint takes another address, with port 0 any free one, and "
            "--endpoint none does without",
            why.text);
    }
    e->url = arena_printf(&e->arena,
        strchr(name, ':') ? "http://[%s]:%u/v1" : "http://%s:%u/v1",
        name,
        http_server_port(e->server));
    return true;
}

static bool make_router(struct endpoint *e, struct error *err)
{
    struct router_config *c = read_config(e, err);
    if (!c)
        return false;
    e->router = router_new(
        &(struct router_options){
            .loop = e->options.loop,
            .no_quarantine = true,
            .first_token_ms = TOKEN_MS,
            .name = "endpoint",
        },
        c);
    router_config_unref(c);
    return true;
}

struct endpoint *endpoint_new(const struct endpoint_options *options, struct error *err)
{
    struct endpoint *e = mem_new_of(struct endpoint);
    const struct env *env = loop_env(options->loop);
    e->options = *options;
    arena_init(&e->arena, ARENA_LIMIT_DEFAULT);
    arena_init(&e->keys_arena, ARENA_LIMIT_DEFAULT);
    table_init(&e->services, env->random(env->ctx), env->random(env->ctx));
    timer_init(&e->refresh, refresh, e);
    if (!check_address(e, err) || !make_router(e, err) || !make_server(e, err)) {
        endpoint_free(e);
        return NULL;
    }
    return e;
}

void endpoint_start(struct endpoint *e)
{
    static const struct resource *const kinds[] = {
        &LLMKUBE_INFERENCE_SERVICE, &LLMKUBE_MODEL_ROUTER, NULL
    };
    e->objects = objects_new(e->options.transport,
        env_of(e),
        kinds,
        (struct objects_watch){ .changed = on_changed, .loaded = on_loaded, .ctx = e });
    objects_start(e->objects);
}

void endpoint_free(struct endpoint *e)
{
    if (!e)
        return;
    http_server_free(e->server);
    router_free(e->router);
    if (e->objects)
        objects_free(e->objects);
    for (struct table_cursor c = table_first(&e->services); c.node; table_next(&c))
        service_free(container_of(c.node, struct service, node));
    table_done(&e->services);
    timer_stop(env_of(e), &e->refresh);
    free(e->config);
    arena_done(&e->keys_arena);
    arena_done(&e->arena);
    free(e);
}

const char *endpoint_url(const struct endpoint *e)
{
    return e->url;
}
