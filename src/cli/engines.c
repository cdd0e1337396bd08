#include "cli/engines.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/metrics_sum.h"
#include "engine/engine.h"
#include "kube/events.h"

#define METRICS_BYTES_MAX ((size_t)64 << 20)

struct engines {
    struct arena arena;
    struct engine_service services[ENGINES_MAX];
    const char *names[ENGINES_MAX];
    size_t count, draining;
    void (*drained)(void *ctx);
    void *ctx;
};

/* Removes duplicate names: two engines of one namespace would conflict. */
static bool read_names(struct engines *e, const char *namespaces, struct error *err)
{
    struct str rest = str_of(namespaces ? namespaces : "");
    while (rest.ptr) {
        struct str name = str_trim(str_cut(&rest, ','));
        bool known = name.len == 0;
        for (size_t i = 0; i < e->count; i++)
            known = known || str_eq(name, str_of(e->names[i]));
        if (known)
            continue;
        if (e->count == ENGINES_MAX)
            return fail(err, ERR_INVALID, "more than %d namespaces; watch all", ENGINES_MAX);
        e->names[e->count++] = str_dup(&e->arena, name);
    }
    return true;
}

struct engines *engines_new(
    const struct engine_service_options *options, const char *namespaces, struct error *err)
{
    struct engines *e = mem_new_of(struct engines);
    arena_init(&e->arena, ARENA_LIMIT_DEFAULT);
    if (!read_names(e, namespaces, err)) {
        engines_free(e);
        return NULL;
    }
    if (!e->count)
        e->count = 1; /* all */
    for (size_t i = 0; i < e->count; i++) {
        struct engine_service_options one = *options;
        one.ns = e->names[i];
        engine_service_init(&e->services[i], &one);
    }
    return e;
}

void engines_free(struct engines *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->count; i++)
        engine_service_done(&e->services[i]);
    arena_done(&e->arena);
    free(e);
}

void engines_start(struct engines *e)
{
    for (size_t i = 0; i < e->count; i++)
        engine_start(e->services[i].engine);
}

void engines_lead(struct engines *e)
{
    for (size_t i = 0; i < e->count; i++)
        engine_lead(e->services[i].engine);
}

static void one_drained(void *ctx)
{
    struct engines *e = ctx;
    if (--e->draining == 0)
        e->drained(e->ctx);
}

void engines_drain(struct engines *e, void (*drained)(void *ctx), void *ctx)
{
    e->drained = drained;
    e->ctx = ctx;
    e->draining = e->count;
    for (size_t i = 0; i < e->count; i++)
        engine_drain(e->services[i].engine, one_drained, e);
}

static bool tell(const struct engines *e, size_t i, struct error *err)
{
    return e->names[i] ? fail_in(err, "namespace %s", e->names[i]) : false;
}

bool engines_ready(const struct engines *e, struct error *err)
{
    for (size_t i = 0; i < e->count; i++)
        if (!engine_ready(e->services[i].engine, err))
            return tell(e, i, err);
    return true;
}

bool engines_healthy(const struct engines *e, struct error *err)
{
    for (size_t i = 0; i < e->count; i++)
        if (!engine_healthy(e->services[i].engine, err))
            return tell(e, i, err);
    return true;
}

void engines_ready_print(const struct engines *e, struct buf *to)
{
    for (size_t i = 0; i < e->count; i++) {
        if (e->count > 1)
            buf_printf(to, "namespace %s:\n", e->names[i]);
        engine_ready_print(e->services[i].engine, to);
    }
}

void engines_metrics_print(struct engines *e, struct buf *to)
{
    if (e->count == 1) {
        engine_metrics_print(e->services[0].engine, to);
        return;
    }
    struct metrics_sum *sum = metrics_sum_new();
    for (size_t i = 0; i < e->count; i++) {
        cleanup(buf_done) struct buf text = BUF_INIT(METRICS_BYTES_MAX);
        engine_metrics_print(e->services[i].engine, &text);
        metrics_sum_add(sum, buf_str(&text));
    }
    metrics_sum_print(sum, to);
    metrics_sum_free(sum);
}

size_t engines_events_pending(const struct engines *e)
{
    size_t count = 0;
    for (size_t i = 0; i < e->count; i++)
        count += event_recorder_pending(e->services[i].events);
    return count;
}

size_t engines_count(const struct engines *e)
{
    return e->count;
}

const char *engines_namespace(const struct engines *e, size_t i)
{
    return e->names[i];
}

struct engine *engines_of(const struct engines *e, const char *ns)
{
    for (size_t i = 0; i < e->count; i++)
        if (text_eq(e->names[i], ns))
            return e->services[i].engine;
    return e->services[0].engine;
}

struct kube_client *engines_client(const struct engines *e)
{
    return e->services[0].client;
}
