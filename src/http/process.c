#include "http/process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "http/loop_uv.h"

#define PROCESS_OUTPUT_DEFAULT ((size_t)1 << 20)
#define PROCESS_ERRORS_MAX ((size_t)4096)
#define PROCESS_TIMEOUT_DEFAULT_MS 60000

extern char **environ;

/* Freed when the process handle and all three pipes are closed. */
struct process {
    const struct env *env;
    uv_process_t handle;
    uv_pipe_t pipes[3];
    uv_write_t write;
    int open_handles;
    bool exited;
    bool over;        /* end() was called, or must not be */
    int open_outputs; /* pipes that have not ended */
    int64_t exit_status;
    int signal;
    bool failed;
    struct error err;
    struct buf input, output, errors;
    struct timer timeout;
    void (*end)(void *ctx, const struct process_result *result);
    void *ctx;
    char chunk[4096];
};

static void handle_closed(uv_handle_t *handle)
{
    struct process *p = handle->data;
    if (--p->open_handles > 0)
        return;
    buf_done(&p->input);
    buf_done(&p->output);
    buf_done(&p->errors);
    free(p);
}

static void close_handle(struct process *p, uv_handle_t *handle)
{
    handle->data = p;
    if (!uv_is_closing(handle))
        uv_close(handle, handle_closed);
}

/* A child that is still running was killed: its handle stays open until its exit is seen, because
 * otherwise it would stay a zombie. */
static void close_all(struct process *p)
{
    p->over = true;
    timer_stop(p->env, &p->timeout);
    for (size_t i = 0; i < lengthof(p->pipes); i++)
        close_handle(p, (uv_handle_t *)&p->pipes[i]);
    if (p->exited || p->handle.pid <= 0)
        close_handle(p, (uv_handle_t *)&p->handle);
}

/* The child has its own process group, so that its children are killed, too. */
static void kill_group(struct process *p)
{
    if (!p->exited && p->handle.pid > 0)
        kill(-p->handle.pid, SIGKILL);
}

static void finish(struct process *p)
{
    struct process_result result = {
        .err = p->failed ? &p->err : NULL,
        .exit_code = p->signal ? -1 : (int)p->exit_status,
        .signal = p->signal,
        .output = buf_str(&p->output),
        .errors = buf_str(&p->errors),
    };
    close_all(p);
    p->end(p->ctx, &result);
}

static void finish_if_done(struct process *p)
{
    if (p->exited && p->open_outputs == 0)
        finish(p);
}

static void timed_out(void *ctx)
{
    struct process *p = ctx;
    if (!p->failed) { /* otherwise it could not be started, and the error is set already */
        fail(&p->err, ERR_TIMEOUT, "it did not end in time and was killed");
        p->failed = true;
        kill_group(p);
    }
    finish(p);
}

static void has_exited(uv_process_t *handle, int64_t status, int signal)
{
    struct process *p = handle->data;
    p->exited = true;
    p->exit_status = status;
    p->signal = signal;
    if (p->over)
        close_handle(p, (uv_handle_t *)&p->handle);
    else
        finish_if_done(p);
}

static void give_chunk(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    (void)suggested;
    struct process *p = handle->data;
    *ret = uv_buf_init(p->chunk, sizeof(p->chunk));
}

static void got_output(uv_stream_t *stream, ssize_t count, const uv_buf_t *bytes)
{
    struct process *p = stream->data;
    bool is_error = stream == (uv_stream_t *)&p->pipes[2];
    if (count < 0) {
        uv_read_stop(stream);
        p->open_outputs--;
        finish_if_done(p);
        return;
    }
    if (is_error) {
        /* Keep the end, because it explains the failure. */
        size_t excess = p->errors.len + (size_t)count;
        if (excess > PROCESS_ERRORS_MAX)
            buf_eat(&p->errors,
                excess - PROCESS_ERRORS_MAX < p->errors.len ? excess - PROCESS_ERRORS_MAX
                                                            : p->errors.len);
        buf_add(&p->errors, bytes->base, (size_t)count);
        return;
    }
    buf_add(&p->output, bytes->base, (size_t)count);
    if (buf_overflowed(&p->output)) {
        fail(&p->err, ERR_TOO_LARGE, "it wrote more than %zu bytes", p->output.limit);
        p->failed = true;
        kill_group(p);
        finish(p);
    }
}

static void input_written(uv_write_t *write, int status)
{
    (void)status; /* a child that does not read its input is not an error */
    struct process *p = write->data;
    close_handle(p, (uv_handle_t *)&p->pipes[0]);
}

/* Our environment with some variables replaced; the last value of a name wins. */
static char **merged_env(struct arena *a, const char *const *extra)
{
    size_t ours = 0, more = 0, count = 0;
    while (environ[ours])
        ours++;
    while (extra && extra[more])
        more++;
    char **all = arena_array(a, ours + more + 1, sizeof(*all));
    for (size_t i = 0; i < ours + more; i++) {
        char *entry = i < ours ? environ[i] : arena_strdup(a, extra[i - ours]);
        size_t name = strcspn(entry, "=") + 1;
        size_t at = 0;
        while (at < count && strncmp(all[at], entry, name) != 0)
            at++;
        all[at] = entry;
        count = at == count ? count + 1 : count;
    }
    return all;
}

static int spawn(struct process *p, struct loop *loop, const struct process_options *options)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    uv_stdio_container_t stdio[3];
    for (int i = 0; i < 3; i++) {
        stdio[i].flags = UV_CREATE_PIPE | (i == 0 ? UV_READABLE_PIPE : UV_WRITABLE_PIPE);
        stdio[i].data.stream = (uv_stream_t *)&p->pipes[i];
    }
    if (options->inherit_stderr)
        stdio[2] = (uv_stdio_container_t){ .flags = UV_INHERIT_FD, .data.fd = 2 };
    uv_process_options_t uv = {
        .exit_cb = has_exited,
        .file = options->argv[0],
        .args = (char **)(uintptr_t)options->argv,
        .env = merged_env(&a, options->extra_env),
        .cwd = options->directory,
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = 3,
        .stdio = stdio,
    };
    return uv_spawn(&loop->uv, &p->handle, &uv);
}

struct process *process_start(struct loop *loop, const struct process_options *options,
    void (*end)(void *ctx, const struct process_result *result), void *ctx)
{
    struct process *p = mem_new_of(struct process);
    p->env = &loop->env;
    p->end = end;
    p->ctx = ctx;
    buf_init(&p->input, SIZE_MAX / 2);
    buf_init(&p->output, options->output_bytes_max ?: PROCESS_OUTPUT_DEFAULT);
    buf_init(&p->errors, PROCESS_ERRORS_MAX);
    buf_add(&p->input, options->input.ptr, options->input.len);
    timer_init(&p->timeout, timed_out, p);
    for (size_t i = 0; i < lengthof(p->pipes); i++) {
        uv_pipe_init(&loop->uv, &p->pipes[i], 0);
        p->pipes[i].data = p;
    }
    p->open_handles = 1 + (int)lengthof(p->pipes);
    int rc = spawn(p, loop, options);
    p->handle.data = p;
    if (rc) {
        loop_fail(&p->err, rc, options->argv[0]);
        p->failed = true;
        timer_set(p->env, &p->timeout, 0);
        return p;
    }
    timer_set(p->env, &p->timeout, options->timeout_ms ?: PROCESS_TIMEOUT_DEFAULT_MS);
    for (int i = 1; i < (options->inherit_stderr ? 2 : 3); i++) {
        uv_read_start((uv_stream_t *)&p->pipes[i], give_chunk, got_output);
        p->open_outputs++;
    }
    uv_buf_t bytes = uv_buf_init(p->input.ptr, (unsigned)p->input.len);
    p->write.data = p;
    if (uv_write(&p->write, (uv_stream_t *)&p->pipes[0], &bytes, 1, input_written))
        close_handle(p, (uv_handle_t *)&p->pipes[0]);
    return p;
}

void process_cancel(struct process *p)
{
    kill_group(p);
    close_all(p);
}
