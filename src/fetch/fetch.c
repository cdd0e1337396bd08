#include "fetch/fetch.h"

#include <stdlib.h>

#include "base/str.h"
#include "fetch/internal.h"
#include "http/loop.h"
#include "http/tls.h"

const struct env *fetch_env(const struct fetch *f)
{
    return loop_env(f->options.loop);
}

static void run_free(struct effect_run *run)
{
    *run->back = run->next;
    if (run->next)
        run->next->back = run->back;
    timer_stop(fetch_env(run->fetch), &run->later);
    arena_done(&run->arena);
    free(run);
}

void run_end(struct effect_run *run, struct json result, const struct error *err)
{
    const struct effect_sink *sink = run->sink;
    sink->done(run->ctx, result, err);
    run_free(run);
}

static void fail_now(void *ctx)
{
    struct effect_run *run = ctx;
    struct error why = run->why;
    run_end(run, json_none, &why);
}

void run_fail_later(struct effect_run *run)
{
    assert(run->why.code);
    timer_set(fetch_env(run->fetch), &run->later, 0);
}

static const struct effect_type *const types[] = {
    &effect_probe,
    &effect_head,
    &effect_copy,
    &effect_digest,
    &effect_file,
    &effect_staged,
    &effect_idle,
    &effect_acceleration,
    &effect_remove,
    &effect_lora,
};

static struct effect_run *start(
    void *self, const char *effect, struct json args, const struct effect_sink *sink, void *ctx)
{
    struct fetch *f = self;
    const struct effect_type *type = NULL;
    for (size_t i = 0; i < lengthof(types); i++)
        if (text_eq(types[i]->name, effect))
            type = types[i];
    assert(type); /* kinds use only known effects */
    struct effect_run *run = mem_new(type->size);
    run->fetch = f;
    run->sink = sink;
    run->ctx = ctx;
    arena_init(&run->arena, ARENA_LIMIT_DEFAULT);
    run->args = json_copy(&run->arena, args);
    timer_init(&run->later, fail_now, run);
    run->next = f->runs;
    run->back = &f->runs;
    if (f->runs)
        f->runs->back = &run->next;
    f->runs = run;
    type->start(run);
    return run;
}

static void cancel(void *self, struct effect_run *run)
{
    (void)self;
    if (run->stop)
        run->stop(run);
    run_free(run);
}

struct fetch *fetch_new(const struct fetch_options *options)
{
    struct fetch *f = mem_new_of(struct fetch);
    f->options = *options;
    f->runner = mem_new_of(struct effect_runner);
    *f->runner = (struct effect_runner){ .start = start, .cancel = cancel, .self = f };
    return f;
}

void fetch_free(struct fetch *f)
{
    if (!f)
        return;
    while (f->runs)
        cancel(f, f->runs);
    tls_context_unref(f->tls);
    free(f->runner);
    free(f);
}

const struct effect_runner *fetch_runner(const struct fetch *f)
{
    return f->runner;
}
