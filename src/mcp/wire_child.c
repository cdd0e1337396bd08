#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/timer.h"
#include "http/loop.h"
#include "mcp/lines.h"
#include "mcp/wire.h"

#define READ_BYTES ((size_t)64 << 10)
#define PAUSE_MIN_MS 200
#define PAUSE_MAX_MS 15000
/* A child that ran this long did not fail at startup. */
#define STEADY_MS 30000
#define UNSENT_BYTES_MAX ((size_t)128 << 20)

extern char **environ;

struct wire_child {
    struct mcp_wire base;
    struct loop *loop;
    struct arena arena;
    char **argv, **variables;
    const struct wire_handlers *on;
    void *ctx;
    pid_t pid; /* 0: none */
    int fd;    /* both directions; -1: none */
    struct loop_watch *watch;
    struct lines lines;
    struct buf unsent;
    struct timer again;
    unsigned tries;
    int64_t began_ms;
};

/* ---- the child's end ---- */

/* Kills the whole process group: what the server started must not outlive it. */
static void reap(struct wire_child *w)
{
    if (w->pid <= 0)
        return;
    kill(-w->pid, SIGKILL);
    kill(w->pid, SIGKILL);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    w->pid = 0;
}

static void close_all(struct wire_child *w)
{
    loop_watch_free(take(w->watch));
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
    lines_done(&w->lines);
    buf_done(&w->unsent);
    reap(w);
}

static void lost(struct wire_child *w, const char *why)
{
    struct error err = { 0 };
    const struct env *env = loop_env(w->loop);
    close_all(w);
    if (env_mono_ms(env) - w->began_ms > STEADY_MS)
        w->tries = 0;
    timer_set(env, &w->again, env_backoff_ms(env, PAUSE_MIN_MS, PAUSE_MAX_MS, w->tries++));
    fail(&err, ERR_UNAVAILABLE, "%s: %s", w->argv[0], why);
    w->on->down(w->ctx, &err);
}

/* ---- bytes ---- */

static void write_out(struct wire_child *w)
{
    while (w->unsent.len) {
        ssize_t n = send(w->fd, w->unsent.ptr, w->unsent.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0)
            break; /* the reader will see the error */
        buf_eat(&w->unsent, (size_t)n);
    }
    loop_watch_set(w->watch, LOOP_READ | (w->unsent.len ? LOOP_WRITE : 0));
}

static void take_line(void *ctx, struct str line)
{
    struct wire_child *w = ctx;
    w->on->line(w->ctx, NULL, line);
}

static void on_ready(void *ctx, int events)
{
    struct wire_child *w = ctx;
    char bytes[READ_BYTES];
    if (events & LOOP_WRITE)
        write_out(w);
    if (!(events & (LOOP_READ | LOOP_HANGUP)))
        return;
    ssize_t n = recv(w->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        lost(w, "it has ended");
    else if (!lines_feed(&w->lines, (struct str){ bytes, (size_t)n }, take_line, w))
        lost(w, "it wrote a line without an end");
}

/* ---- start ---- */

static char **merged_environment(struct wire_child *w)
{
    size_t ours = 0, theirs = 0, count = 0;
    while (environ[ours])
        ours++;
    while (w->variables && w->variables[theirs])
        theirs++;
    char **list = arena_array(&w->arena, ours + theirs + 1, sizeof(*list));
    for (size_t i = 0; i < theirs; i++)
        list[count++] = w->variables[i];
    for (size_t i = 0; i < ours; i++) {
        bool hidden = false;
        for (size_t k = 0; k < theirs && !hidden; k++) {
            const char *end = strchr(w->variables[k], '=');
            size_t length = end ? (size_t)(end - w->variables[k]) + 1 : 0;
            hidden = length && !strncmp(environ[i], w->variables[k], length);
        }
        if (!hidden)
            list[count++] = environ[i];
    }
    return list;
}

static int spawn_child(struct wire_child *w, int theirs)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, theirs, 0);
    posix_spawn_file_actions_adddup2(&actions, theirs, 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    int failed =
        posix_spawnp(&w->pid, w->argv[0], &actions, &attributes, w->argv, merged_environment(w));
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        w->pid = 0;
    return failed;
}

static void begin(void *ctx)
{
    struct wire_child *w = ctx;
    int pair[2];
    w->began_ms = env_mono_ms(loop_env(w->loop));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        lost(w, strerror(errno));
        return;
    }
    int failed = spawn_child(w, pair[1]);
    close(pair[1]);
    w->fd = pair[0];
    lines_init(&w->lines, WIRE_LINE_BYTES_MAX);
    buf_init(&w->unsent, UNSENT_BYTES_MAX);
    if (failed) {
        lost(w, strerror(failed));
        return;
    }
    w->watch = loop_watch_new(w->loop, w->fd, on_ready, w);
    loop_watch_set(w->watch, LOOP_READ);
    w->on->up(w->ctx, true);
}

static void child_start(struct mcp_wire *base, const struct wire_handlers *on, void *ctx)
{
    struct wire_child *w = container_of(base, struct wire_child, base);
    w->on = on;
    w->ctx = ctx;
    timer_set(loop_env(w->loop), &w->again, 0);
}

static void child_send(struct mcp_wire *base, struct str message, const struct wire_note *note)
{
    struct wire_child *w = container_of(base, struct wire_child, base);
    (void)note;
    if (w->fd < 0)
        return;
    buf_add(&w->unsent, message.ptr, message.len);
    buf_add_char(&w->unsent, '\n');
    if (buf_overflowed(&w->unsent))
        shutdown(w->fd, SHUT_RDWR); /* it does not read: the reader gets an end of file */
    else
        write_out(w);
}

static void child_free(struct mcp_wire *base)
{
    struct wire_child *w = container_of(base, struct wire_child, base);
    timer_stop(loop_env(w->loop), &w->again);
    close_all(w);
    arena_done(&w->arena);
    free(w);
}

static char **copied(struct arena *a, const char *const *list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    char **copy = arena_array(a, count + 1, sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = arena_strdup(a, list[i]);
    return copy;
}

struct mcp_wire *wire_child_new(const struct wire_child_options *options)
{
    static const struct wire_ops ops = {
        .start = child_start,
        .send = child_send,
        .free = child_free,
    };
    struct wire_child *w = mem_new_of(struct wire_child);
    w->base.ops = &ops;
    w->loop = options->loop;
    w->fd = -1;
    arena_init(&w->arena, ARENA_LIMIT_DEFAULT);
    w->argv = copied(&w->arena, options->argv);
    w->variables = copied(&w->arena, options->variables);
    timer_init(&w->again, begin, w);
    return &w->base;
}
