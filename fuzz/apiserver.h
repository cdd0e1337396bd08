#pragma once

/* Requests to an API server: whatever is asked, every request is answered once, with JSON where it
 * says so, and the server comes to rest. A file is a list of requests, each a line with method and
 * target, a line with the content type, and a body up to an empty line. */

#include <stdlib.h>
#include <string.h>

#include "apiserver/core/server.h"
#include "apiserver/store/store.h"
#include "base/buf.h"
#include "base/json.h"
#include "fuzz/fuzz.h"

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
    asked->json = head->content_type && strncmp(head->content_type, "application/json", 16) == 0;
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

/* kinds NULL: the built-in ones. */
static int fuzz_requests(const uint8_t *data, size_t size, bool (*kinds)(struct registry *r))
{
    struct timers timers = { 0 };
    uint64_t seed = 1;
    clock_ms = 1700000000000;
    struct env env = { read_clock, read_clock, read_chance, &seed, &timers };
    struct error err;
    struct store *store = store_new(&env, &(struct store_options){ 0 }, &err);
    struct apiserver_options options = {
        .env = &env,
        .store = store,
        .kinds = kinds,
        .token_key = STR("0123456789abcdef0123456789abcdef"),
        .allow_all = true,
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
