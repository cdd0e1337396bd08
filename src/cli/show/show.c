#include "cli/show/show.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/resource.h"
#include "base/str.h"
#include "base/table.h"
#include "cli/show/draw.h"
#include "cli/show/machine.h"
#include "http/loop.h"
#include "kube/reflector.h"

#define DRAW_MS 100        /* between two updates of a terminal … */
#define LOOK_MS 1000       /* … and between two checks of downloads without one */
#define WRITE_WAIT_MS 1000 /* for a stopped terminal */
#define KINDS_MAX 16
#define OBJECT_BYTES_MAX ((size_t)4 << 20)
#define OUTPUT_BYTES_MAX ((size_t)4 << 20)

/* One of the watched collections. */
struct collection {
    struct show *show;
    struct reflector *reflector;
};

/* An object, reduced to the fields that rows need. */
struct held {
    struct table_node node;
    struct collection *of;
    char *key;
    struct arena arena;
    struct json object;
    bool stale; /* a new list is being received, and it is not in there yet */
};

struct show {
    struct show_options options;
    struct arena arena; /* of: */
    struct show_machine machine;
    struct collection collections[KINDS_MAX];
    size_t count;
    struct table objects;
    struct show_screen *screen;
    struct show_look look;
    struct loop_signal *resized;
    struct timer draw;
    int64_t drawn_ms;
    bool ready; /* everything was ready at the last update */
    bool ending;
};

/* ---- output ---- */

/* Waits for a terminal, but not for ever: ctrl-S must not stop a server. */
static void put(const struct show *s, struct buf *bytes)
{
    for (size_t at = 0; at < bytes->len;) {
        ssize_t n = write(s->options.fd, bytes->ptr + at, bytes->len - at);
        if (n > 0) {
            at += (size_t)n;
            continue;
        }
        struct pollfd wait = { .fd = s->options.fd, .events = POLLOUT };
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno != EAGAIN || poll(&wait, 1, WRITE_WAIT_MS) <= 0))
            return;
    }
}

static struct json objects_of(struct arena *a, struct show *s)
{
    struct json_builder b;
    json_builder_init_for(&b, a, (uint32_t)s->objects.count);
    for (struct table_cursor c = table_first(&s->objects); c.node; table_next(&c))
        json_push(&b, container_of(c.node, struct held, node)->object);
    return json_list_end(&b);
}

static bool is_loaded(const struct show *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (!reflector_synced(s->collections[i].reflector) &&
            reflector_state(s->collections[i].reflector) == REFLECTOR_LOADING)
            return false;
    return true;
}

static const struct env *env_of(const struct show *s)
{
    return loop_env(s->options.loop);
}

static void draw(void *ctx)
{
    struct show *s = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    cleanup(buf_done) struct buf out = BUF_INIT(OUTPUT_BYTES_MAX);
    struct show_row *rows;
    size_t all = show_rows(&a, objects_of(&a, s), &s->machine, &rows), count = 0;
    for (size_t i = 0; i < all; i++)
        if (!s->options.wanted || s->options.wanted(s->options.ctx, &rows[i]))
            rows[count++] = rows[i];
    for (size_t i = 0; i < count && s->ending; i++)
        if (rows[i].state == SHOW_WORKS || rows[i].state == SHOW_WAITS) {
            rows[i].state = SHOW_WAITS;
            rows[i].phase = "stopped";
            rows[i].detail = "";
        }
    s->drawn_ms = env_mono_ms(env_of(s));
    show_screen_draw(s->screen, &s->look, rows, count, s->drawn_ms, &out);
    put(s, &out);
    bool works = false, loaded = is_loaded(s), ready = count > 0 && loaded;
    for (size_t i = 0; i < count; i++) {
        /* Free disk space is not reported by any event. */
        works = works || rows[i].state == SHOW_WORKS || text_eq(rows[i].phase, "no space");
        ready = ready && rows[i].state == SHOW_READY;
    }
    bool news = ready && !s->ready;
    s->ready = ready;
    if (works)
        timer_set(env_of(s), &s->draw, s->look.terminal ? DRAW_MS : LOOK_MS);
    if (loaded && s->options.drawn)
        s->options.drawn(s->options.ctx, rows, count);
    if (news && s->options.ready)
        s->options.ready(s->options.ctx);
}

static void draw_soon(struct show *s)
{
    int64_t passed = env_mono_ms(env_of(s)) - s->drawn_ms;
    timer_set(env_of(s), &s->draw, passed < DRAW_MS ? DRAW_MS - passed : 0);
}

static void resize(void *ctx, int number)
{
    (void)number;
    struct show *s = ctx;
    s->look = show_look_of(s->options.fd);
    draw_soon(s);
}

/* ---- watches ---- */

static const char *key_of(struct arena *a, const struct collection *c, struct json object)
{
    const char *ns = json_get_text(object, "metadata.namespace");
    return arena_printf(a,
        "%zu %s/%s",
        (size_t)(c - c->show->collections),
        ns ? ns : "",
        json_get_text(object, "metadata.name"));
}

static bool held_is(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct held, node)->key, key);
}

static void let_go(struct show *s, struct held *h)
{
    table_remove(&s->objects, &h->node);
    arena_done(&h->arena);
    free(h->key);
    free(h);
}

static struct held *find(struct collection *c, struct json object, bool make)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *key = key_of(&a, c, object);
    struct table *t = &c->show->objects;
    uint64_t hash = table_hash(t, key, strlen(key));
    struct table_node *n = table_find(t, hash, held_is, key);
    if (n || !make)
        return n ? container_of(n, struct held, node) : NULL;
    struct held *h = mem_new_of(struct held);
    h->of = c;
    h->key = mem_strdup(key);
    arena_init(&h->arena, OBJECT_BYTES_MAX);
    table_add(t, &h->node, hash);
    return h;
}

static struct json slim(struct arena *a, struct json o)
{
    static const char *const paths[] = {
        "kind",
        "metadata.name",
        "metadata.namespace",
        "metadata.labels",
        "metadata.generation",
        "metadata.deletionTimestamp",
        "metadata.ownerReferences",
        "spec.completions",
        "spec.replicas",
        "spec.source",
        "status",
    };
    struct json out = json_empty_map();
    for (size_t i = 0; i < lengthof(paths); i++)
        if (json_present(json_get(o, paths[i])))
            out = json_with(a, out, paths[i], json_get(o, paths[i]));
    return out;
}

static void replace_begin(void *ctx)
{
    struct collection *c = ctx;
    for (struct table_cursor at = table_first(&c->show->objects); at.node; table_next(&at)) {
        struct held *h = container_of(at.node, struct held, node);
        h->stale = h->stale || h->of == c;
    }
}

static void on_put(void *ctx, struct json object, bool initial)
{
    (void)initial;
    struct collection *c = ctx;
    struct held *h = find(c, object, true);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    arena_reset(&h->arena);
    h->object = json_copy(&h->arena, slim(&a, object));
    h->stale = false;
    draw_soon(c->show);
}

static void on_remove(void *ctx, struct json last)
{
    struct collection *c = ctx;
    struct held *h = find(c, last, false);
    if (h)
        let_go(c->show, h);
    draw_soon(c->show);
}

static void replace_end(void *ctx, const char *version)
{
    (void)version;
    struct collection *c = ctx;
    for (struct table_cursor at = table_first(&c->show->objects); at.node; table_next(&at)) {
        struct held *h = container_of(at.node, struct held, node);
        if (h->of == c && h->stale)
            let_go(c->show, h);
    }
    draw_soon(c->show);
}

static void on_bookmark(void *ctx, const char *version)
{
    (void)ctx, (void)version;
}

static void on_bad(void *ctx, const struct reflector_bad *bad)
{
    struct collection *c = ctx;
    show_print(c->show, "%s: %s", bad->name ? bad->name : "an object", bad->err->text);
}

static void on_state(void *ctx, enum reflector_state state, const struct error *err)
{
    struct collection *c = ctx;
    (void)err;
    if (state == REFLECTOR_WATCHING)
        draw_soon(c->show);
}

static void watch(struct show *s, const struct resource *resource)
{
    static const struct reflector_sink sink = {
        replace_begin, on_put, on_remove, replace_end, on_bookmark, on_bad, on_state
    };
    assert(s->count < KINDS_MAX);
    struct collection *c = &s->collections[s->count++];
    c->show = s;
    c->reflector = reflector_new(s->options.transport,
        env_of(s),
        &(struct reflector_options){ .resource = resource },
        &sink,
        c);
    reflector_start(c->reflector);
}

/* ---- life ---- */

struct show *show_new(const struct show_options *options)
{
    struct show *s = mem_new_of(struct show);
    const struct env *env = loop_env(options->loop);
    s->options = *options;
    arena_init(&s->arena, ARENA_LIMIT_DEFAULT);
    s->machine = show_machine(&s->arena, options->folder);
    s->screen = show_screen_new();
    s->look = options->plain ? (struct show_look){ 0 } : show_look_of(options->fd);
    table_init(&s->objects, env->random(env->ctx), env->random(env->ctx));
    timer_init(&s->draw, draw, s);
    s->drawn_ms = env_mono_ms(env) - DRAW_MS;
    if (s->look.terminal)
        s->resized = loop_signal_new(options->loop, SIGWINCH, resize, s);
    for (size_t i = 0; options->resources[i]; i++)
        watch(s, options->resources[i]);
    watch(s, &RESOURCE_POD);
    return s;
}

void show_free(struct show *s)
{
    cleanup(buf_done) struct buf out = BUF_INIT(OUTPUT_BYTES_MAX);
    s->options.ready = NULL;
    s->options.drawn = NULL;
    if (timer_is_set(&s->draw))
        draw(s); /* the final state */
    show_screen_end(s->screen, &out);
    put(s, &out);
    show_screen_free(s->screen);
    for (size_t i = 0; i < s->count; i++)
        reflector_free(s->collections[i].reflector);
    for (struct table_cursor at = table_first(&s->objects); at.node; table_next(&at))
        let_go(s, container_of(at.node, struct held, node));
    table_done(&s->objects);
    timer_stop(env_of(s), &s->draw);
    if (s->resized)
        loop_signal_free(s->resized);
    arena_done(&s->arena);
    free(s);
}

void show_ending(struct show *s)
{
    s->ending = true;
    draw_soon(s);
}

void show_print(struct show *s, const char *format, ...)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    cleanup(buf_done) struct buf out = BUF_INIT(OUTPUT_BYTES_MAX);
    va_list args;
    va_start(args, format);
    show_screen_print(s->screen, &s->look, arena_vprintf(&a, format, args), &out);
    va_end(args);
    put(s, &out);
}
