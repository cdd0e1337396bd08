/* A server that says anything, to a reflector: the first byte is the size of the chunks and whether
 * the bytes are a watch or a page of a list. However they are cut, the sink hears the same; what it
 * is handed is always of its kind and named; it is never shown half a list. */

#include "kube/reflector.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/resource.h"
#include "base/timer.h"
#include "fuzz/fuzz.h"
#include "kube/transport.h"

struct world {
    struct timers timers;
    struct env env;
    struct kube_transport transport;
    const struct kube_handlers *handlers; /* of the open call; NULL: none */
    void *ctx;
    struct buf told;
    bool replacing, loaded;
};

static int64_t no_time(void *ctx)
{
    (void)ctx;
    return 1000000;
}

static uint64_t no_chance(void *ctx)
{
    (void)ctx;
    return 4;
}

static struct kube_call *open_call(
    void *self, const struct kube_request *request, const struct kube_handlers *handlers, void *ctx)
{
    struct world *w = self;
    assert(text_eq(request->method, "GET") && !w->handlers);
    w->handlers = handlers;
    w->ctx = ctx;
    return (struct kube_call *)w;
}

static void cancel_call(void *self, struct kube_call *call)
{
    struct world *w = self;
    assert((struct world *)call == w && w->handlers);
    w->handlers = NULL;
}

static void on_begin(void *ctx)
{
    struct world *w = ctx;
    w->replacing = true;
    buf_add_text(&w->told, "begin\n");
}

static void on_put(void *ctx, struct json object, bool initial)
{
    struct world *w = ctx;
    const char *name = json_get_text(object, "metadata.name");
    assert(initial == w->replacing && (initial || w->loaded) && !text_empty(name));
    assert(text_eq(json_get_text(object, "kind"), "ConfigMap"));
    assert(text_eq(json_get_text(object, "apiVersion"), "v1"));
    buf_printf(&w->told, "put ");
    json_print(&w->told, object);
    buf_add_char(&w->told, '\n');
}

static void on_remove(void *ctx, struct json last)
{
    struct world *w = ctx;
    assert(w->replacing || w->loaded);
    assert(!text_empty(json_get_text(last, "metadata.name")));
    buf_printf(&w->told, "remove %s\n", json_get_text(last, "metadata.name"));
}

static void on_replace_end(void *ctx, const char *version)
{
    struct world *w = ctx;
    assert(w->replacing && *version);
    w->replacing = false;
    w->loaded = true;
    buf_printf(&w->told, "end %s\n", version);
}

static void on_bookmark(void *ctx, const char *version)
{
    struct world *w = ctx;
    assert(w->loaded && *version);
    buf_printf(&w->told, "bookmark %s\n", version);
}

static void on_bad(void *ctx, const struct reflector_bad *bad)
{
    struct world *w = ctx;
    assert(bad->err->code != ERR_NONE && *bad->err->text);
    buf_printf(&w->told, "bad %s\n", bad->name ? bad->name : "");
}

static void on_state(void *ctx, enum reflector_state state, const struct error *err)
{
    struct world *w = ctx;
    assert((err != NULL) == (state >= REFLECTOR_TROUBLED));
    /* Not the text: it quotes a broken event as far as it has come. */
    buf_printf(&w->told, "state %d %d\n", state, err ? (int)err->code : -1);
}

static const struct reflector_sink sink = {
    on_begin, on_put, on_remove, on_replace_end, on_bookmark, on_bad, on_state
};

static void world_run(struct world *w, struct str bytes, size_t chunk, bool paged)
{
    struct kube_head head = { .status = 200, .content_type = "application/json" };
    struct reflector_options options = { .resource = &RESOURCE_CONFIG_MAP, .paged = paged };
    *w = (struct world){ .told = BUF_INIT((size_t)64 << 20) };
    w->env = (struct env){ no_time, no_time, no_chance, w, &w->timers };
    w->transport = (struct kube_transport){ open_call, cancel_call, w };
    struct reflector *r = reflector_new(&w->transport, &w->env, &options, &sink, w);
    reflector_start(r);
    const struct kube_handlers *handlers = w->handlers;
    handlers->head(w->ctx, &head);
    /* A call that was cut off and opened anew hears no more of this. */
    uint64_t failures = reflector_stats(r).failures;
    while (bytes.len && w->handlers && reflector_stats(r).failures == failures) {
        struct str piece = { bytes.ptr, bytes.len < chunk ? bytes.len : chunk };
        bytes = (struct str){ bytes.ptr + piece.len, bytes.len - piece.len };
        handlers->data(w->ctx, piece);
    }
    if (w->handlers && reflector_stats(r).failures == failures) {
        w->handlers = NULL;
        handlers->end(w->ctx, NULL, true);
    }
    reflector_free(r);
    assert(!w->handlers && w->timers.count == 0);
    timers_done(&w->timers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world whole, cut;
    if (size < 1)
        return 0;
    bool paged = data[0] & 0x80;
    size_t chunk = (data[0] & 0x7f) + 1;
    struct str bytes = { (const char *)data + 1, size - 1 };
    world_run(&whole, bytes, size, paged);
    world_run(&cut, bytes, chunk, paged);
    assert(str_eq(buf_str(&whole.told), buf_str(&cut.told)));
    buf_done(&whole.told);
    buf_done(&cut.told);
    return 0;
}
