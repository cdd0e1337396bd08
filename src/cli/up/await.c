#include "cli/up/await.h"

#include <signal.h>

#include "base/str.h"
#include "cli/show/show.h"
#include "cli/up/objects.h"
#include "http/loop.h"

#define LOOK_MS 250
/* A failed row may recover, such as a server that crashed once; and others may fail, too. */
#define FAILED_MS 5000

static const int signal_numbers[] = { SIGINT, SIGTERM, SIGHUP };

struct wait {
    const struct await_options *options;
    const struct env *env;
    struct arena arena;
    const char *unready; /* lines about rows that are not ready; "": none. NULL: unknown yet */
    bool failed;         /* a row has failed */
    bool interrupted;
    int64_t changed_ms; /* when a row last changed its state */
    uint64_t states;    /* a hash of all rows' states */
};

/* A stopped row is ready, except for a caller that waits for it to serve. */
static bool is_ready_row(const struct wait *w, const struct show_row *row)
{
    bool stopped = text_eq(row->phase, "stopped") || text_eq(row->phase, "suspended");
    return row->state == SHOW_READY && !(stopped && text_eq(row->kind, w->options->kind));
}

static bool is_wanted(void *ctx, const struct show_row *row)
{
    const struct await_options *o = ((struct wait *)ctx)->options;
    return !o->wanted || o->wanted(o->ctx, row);
}

static void look_at_rows(void *ctx, const struct show_row *rows, size_t count)
{
    struct wait *w = ctx;
    const char *text = "", *kind = w->options->kind;
    uint64_t states = count;
    bool there = !kind;
    arena_reset(&w->arena);
    w->failed = false;
    for (const struct show_row *row = rows; row < rows + count; row++) {
        bool ready = is_ready_row(w, row);
        w->failed = w->failed || row->state == SHOW_FAILED || (row->state == SHOW_READY && !ready);
        there = there || text_eq(row->kind, kind);
        for (const char *c = row->phase; *c; c++) /* FNV-1a */
            states = (states ^ (unsigned char)*c) * 0x100000001b3u;
        if (!ready)
            text = arena_printf(&w->arena,
                "%sleeboard %s: %s %s is not ready: %s%s%s\n",
                text,
                w->options->ask->cli->command->name,
                row->kind,
                row->name,
                row->phase,
                *row->detail ? ": " : "",
                row->detail);
    }
    w->unready = there ? text : NULL;
    if (states != w->states)
        w->changed_ms = env_mono_ms(w->env);
    w->states = states;
}

static bool is_ready(const struct wait *w)
{
    return w->unready && !*w->unready;
}

static bool is_decided(void *ctx)
{
    struct wait *w = ctx;
    return is_ready(w) || w->interrupted ||
           (w->failed && env_mono_ms(w->env) - w->changed_ms > FAILED_MS);
}

static void interrupt(void *ctx, int number)
{
    (void)number;
    ((struct wait *)ctx)->interrupted = true;
}

static void run(struct wait *w, bool *ret_ended)
{
    const struct await_options *o = w->options;
    struct ask *q = o->ask;
    struct loop_signal *signals[lengthof(signal_numbers)] = { NULL };
    for (size_t i = 0; o->interruptible && i < lengthof(signals); i++)
        signals[i] = loop_signal_new(q->loop, signal_numbers[i], interrupt, w);
    struct show *show = show_new(&(struct show_options){
        .loop = q->loop,
        .transport = q->kube,
        .resources = up_resources,
        .fd = o->fd,
        .folder = o->folder,
        .plain = o->plain,
        .wanted = is_wanted,
        .drawn = look_at_rows,
        .ctx = w,
    });
    int64_t until_ms = o->wait_ms ? env_mono_ms(w->env) + o->wait_ms : INT64_MAX;
    while (!is_decided(w) && !(*ret_ended = o->ended(o->ctx)) && env_mono_ms(w->env) < until_ms)
        loop_run_until(q->loop, is_decided, w, LOOK_MS);
    show_free(show);
    for (size_t i = 0; o->interruptible && i < lengthof(signals); i++)
        loop_signal_free(signals[i]);
}

enum await_outcome await_ready(const struct await_options *options, const char **ret_lines)
{
    struct wait w = { .options = options, .env = loop_env(options->ask->loop) };
    bool ended = false;
    arena_init(&w.arena, ARENA_LIMIT_DEFAULT);
    run(&w, &ended);
    *ret_lines = arena_strdup(&options->ask->cli->arena, w.unready ? w.unready : "");
    enum await_outcome outcome = is_ready(&w)    ? AWAIT_READY
                                 : w.interrupted ? AWAIT_INTERRUPTED
                                 : ended         ? AWAIT_ENDED
                                                 : AWAIT_UNREADY;
    arena_done(&w.arena);
    return outcome;
}
