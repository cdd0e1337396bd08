/* The API server: whatever is asked, every request is answered once, with JSON where it says so,
 * and the server comes to rest. A file is a list of requests, each a line with method and target, a
 * line with the content type, and a body up to an empty line. */

#include <stdlib.h>
#include <string.h>

#include "apiserver/server.h"
#include "apiserver/store.h"
#include "base/buf.h"
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "merge/schema.h"

#define REQUESTS_MAX 32

struct asked {
    struct api_call *call; /* NULL: ended */
    int status;
    int64_t bytes;
    bool json;
    struct buf text;
};

static int64_t clock_ms;

static int64_t read_clock(void *ctx)
{
    (void)ctx;
    return clock_ms;
}

static uint64_t read_chance(void *ctx)
{
    uint64_t *seed = ctx;
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed ^ (*seed >> 31);
}

static void on_head(void *ctx, const struct api_head *head)
{
    struct asked *asked = ctx;
    assert(!asked->status && head->status >= 200 && head->status < 600);
    asked->status = head->status;
    asked->bytes = head->body_bytes;
    asked->json = strncmp(head->content_type, "application/json", 16) == 0;
}

static bool on_data(void *ctx, struct str bytes)
{
    struct asked *asked = ctx;
    assert(asked->status && asked->call);
    buf_add(&asked->text, bytes.ptr, bytes.len);
    return true;
}

static void on_end(void *ctx)
{
    struct asked *asked = ctx;
    assert(asked->status && asked->call);
    asked->call = NULL;
    if (asked->bytes < 0)
        return;
    assert((size_t)asked->bytes == asked->text.len);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json body;
    struct error err;
    if (asked->json)
        assert(json_parse(&a, buf_str(&asked->text), &body, &err));
}

static struct json drop_unknown(
    const struct api_kind *k, struct arena *a, struct json object, struct field_errors *unknown)
{
    (void)k;
    json_each_member (m, object)
        if (strcmp(m->key, "unknown") == 0)
            field_invalid(unknown, "unknown", (struct json){ 0 }, "");
    return json_with_member(a, object, "unknown", (struct json){ 0 });
}

static bool add_kinds(struct registry *r)
{
    static const struct api_behaviour behaviour = { .prune = drop_unknown };
    static struct schemas *schemas;
    static struct api_kind kinds[] = {
        { .resource = { "", "v1", "ConfigMap", "configmaps", false }, .table = "/configmaps" },
        { .resource = { "", "v1", "Namespace", "namespaces", true }, .table = "/namespaces" },
        { .resource = { "apps", "v1", "Deployment", "deployments", false },
            .table = "apps/deployments",
            .scale = { "spec.replicas", "status.replicas", "spec.selector" } },
        { .resource = { "example.com", "v1", "Widget", "widgets", false },
            .table = "example.com/widgets",
            .custom = true },
    };
    if (!schemas)
        schemas = schemas_new();
    for (size_t i = 0; i < lengthof(kinds); i++) {
        struct api_kind *k = &kinds[i];
        k->verbs = API_ALL_VERBS;
        k->has_status = k->generation = i > 0;
        k->unconditional = !k->custom;
        k->list_kind = "SomeList";
        k->behaviour = &behaviour;
        k->schema = schema_of(schemas, k->resource.group, k->resource.version, k->resource.kind);
        if (!registry_add(r, k))
            return false;
    }
    return true;
}

static void settle(struct apiserver *s)
{
    for (int i = 0; i < 10000 && apiserver_is_pending(s); i++)
        apiserver_flush(s);
    assert(!apiserver_is_pending(s));
}

static void ask(struct apiserver *s, struct str *rest, struct asked *asked)
{
    static const struct api_handlers handlers = { on_head, on_data, on_end };
    static const char *const groups[] = { "system:masters", NULL };
    static const struct api_user user = { .name = "admin", .uid = "", .groups = groups };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str line = str_cut(rest, '\n');
    struct str type = rest->ptr ? str_cut(rest, '\n') : (struct str){ NULL, 0 };
    struct str target = line, method = str_cut(&target, ' ');
    struct str query = target.ptr ? target : STR("/"), path = str_cut(&query, '?');
    const char *end = rest->ptr ? memmem(rest->ptr, rest->len, "\n\n", 2) : NULL;
    struct str body = { rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len };
    *rest = end ? (struct str){ end + 2, rest->len - body.len - 2 } : (struct str){ NULL, 0 };
    struct api_request request = {
        .method = str_dup(&a, method),
        .path = path,
        .query = query,
        .content_type = type.len ? str_dup(&a, type) : NULL,
        .accept = body.len % 3 == 0 ? "application/json;as=Table;v=v1;g=meta.k8s.io" : NULL,
        .body = body,
        .user = &user,
    };
    *asked = (struct asked){ .text = BUF_INIT((size_t)64 << 20) };
    asked->call = apiserver_open(s, &request, &handlers, asked);
    settle(s);
    assert(asked->status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct timers timers = { 0 };
    uint64_t seed = 1;
    clock_ms = 1700000000000;
    struct env env = { read_clock, read_clock, read_chance, &seed, &timers };
    struct error err;
    struct store *store = store_new(&env, &(struct store_options){ 0 }, &err);
    struct apiserver_options options = {
        .env = &env, .store = store, .kinds = add_kinds, .allow_all = true
    };
    struct apiserver *s = apiserver_new(&options, &err);
    assert(store && s);
    settle(s);
    struct asked asked[REQUESTS_MAX];
    size_t count = 0;
    struct str rest = { (const char *)data, size };
    while (rest.ptr && rest.len && count < REQUESTS_MAX)
        ask(s, &rest, &asked[count++]);
    clock_ms += 4000000; /* every watch has ended by then */
    timers_run(&timers, clock_ms);
    settle(s);
    for (size_t i = 0; i < count; i++) {
        assert(!asked[i].call);
        buf_done(&asked[i].text);
    }
    apiserver_free(s);
    store_free(store);
    timers_done(&timers);
    return 0;
}
