#include "cli/up/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "base/time.h"
#include "cli/show/show.h"
#include "cli/up/folder.h"
#include "cli/up/objects.h"
#include "http/loop.h"

#define LOOK_MS 250
/* What has failed may come back by itself, a server that crashed once; and others may fail, too. */
#define FAILED_MS 5000

/* ---- the one that runs on ---- */

static bool settle(struct cli *cli, const char *folder, struct error *err)
{
    int old, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    setsid();
    if (null < 0 || dup2(null, STDIN_FILENO) < 0)
        return fail_errno(err, errno, "/dev/null");
    close(null);
    if (!up_folder_log(&cli->arena, folder, true, &old, err))
        return false;
    close(old);
    return true;
}

void up_detach_tell(int pipe, const struct error *err)
{
    const char *text = err ? err->text : "ok";
    ssize_t written = write(pipe, text, strlen(text));
    (void)written; /* nobody waits any more */
    close(pipe);
}

/* ---- the one that waits ---- */

struct wait {
    const struct env *env;
    struct arena arena;
    const char *unready; /* lines about what is not; "": everything is. NULL: nobody knows yet */
    bool failed;         /* something has */
    int64_t changed_ms;  /* when a row last became something else */
    uint64_t states;     /* of all rows */
    pid_t child;
};

static void look_at_rows(void *ctx, const struct show_row *rows, size_t count)
{
    struct wait *w = ctx;
    const char *text = "";
    uint64_t states = count;
    arena_reset(&w->arena);
    w->failed = false;
    for (const struct show_row *row = rows; row < rows + count; row++) {
        w->failed = w->failed || row->state == SHOW_FAILED;
        for (const char *c = row->phase; *c; c++) /* FNV-1a */
            states = (states ^ (unsigned char)*c) * 0x100000001b3u;
        if (row->state != SHOW_READY)
            text = arena_printf(&w->arena,
                "%sleeboard up: %s %s is not ready: %s%s%s\n",
                text,
                row->kind,
                row->name,
                row->phase,
                *row->detail ? ": " : "",
                row->detail);
    }
    w->unready = text;
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
    return is_ready(w) || (w->failed && env_mono_ms(w->env) - w->changed_ms > FAILED_MS);
}

/* Whether it ended; then nothing is to be waited for. */
static bool has_ended(struct wait *w)
{
    if (w->child > 0 && waitpid(w->child, NULL, WNOHANG) == w->child)
        w->child = 0;
    return !w->child;
}

static void await_rows(struct wait *w, struct ask *q, const char *folder, int64_t wait_ms)
{
    w->env = loop_env(q->loop);
    struct show *show = show_new(&(struct show_options){
        .loop = q->loop,
        .transport = q->kube,
        .resources = up_resources,
        .fd = STDOUT_FILENO,
        .folder = folder,
        .plain = true,
        .drawn = look_at_rows,
        .ctx = w,
    });
    int64_t until_ms = env_mono_ms(w->env) + wait_ms;
    while (!is_decided(w) && !has_ended(w) && env_mono_ms(w->env) < until_ms)
        loop_run_until(q->loop, is_decided, w, LOOK_MS);
    show_free(show);
}

static int await_ready(struct cli *cli, const char *folder, pid_t child)
{
    struct wait w = { .child = child };
    struct ask q = { 0 };
    struct error err;
    int64_t wait_ns = 0;
    bool ok = time_duration_parse(cli_text(cli, "wait"), &wait_ns) &&
              ask_open_running(cli, folder, &q, &err);
    arena_init(&w.arena, ARENA_LIMIT_DEFAULT);
    if (ok)
        await_rows(&w, &q, folder, wait_ns / TIME_NS_PER_MS);
    ask_close(&q);
    if (ok && !w.child)
        ok = fail(&err, ERR_INTERNAL, "it ended; %s/up.log may say why", folder);
    if (ok && is_ready(&w))
        printf("ready; `leeboard ps` shows it, `leeboard down` ends it\n");
    else if (ok)
        fprintf(stderr,
            "%sIt runs on: `leeboard ps` and `leeboard logs` say more, `leeboard down` ends it.\n",
            w.unready ? w.unready : "");
    int code = !ok ? cli_fail(cli, &err) : is_ready(&w) ? CLI_OK : CLI_FAILED;
    arena_done(&w.arena);
    return code;
}

static int await_start(struct cli *cli, const char *folder, int pipe, pid_t child)
{
    char text[sizeof(((struct error *)0)->text) + 1] = "";
    size_t length = 0;
    for (ssize_t n; length < sizeof(text) - 1;) {
        n = read(pipe, text + length, sizeof(text) - 1 - length);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        length += n > 0 ? (size_t)n : 0;
    }
    close(pipe);
    if (text_eq(text, "ok"))
        return await_ready(cli, folder, child);
    waitpid(child, NULL, 0);
    struct error err;
    fail(&err,
        ERR_INTERNAL,
        "%s",
        *text ? text
              : arena_printf(&cli->arena, "it ended at once; %s/up.log may say why", folder));
    return cli_fail(cli, &err);
}

bool up_detach(struct cli *cli, const char *folder, int *ret_pipe, int *ret_code)
{
    struct error err;
    int ends[2];
    int64_t wait_ns;
    if (!time_duration_parse(cli_text(cli, "wait"), &wait_ns) || wait_ns < 0) {
        *ret_code = cli_usage(cli, "--wait is a duration such as 10m");
        return false;
    }
    pid_t child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
    if (child < 0) {
        fail_errno(&err, errno, "a second process");
        *ret_code = cli_fail(cli, &err);
        return false;
    }
    if (child > 0) {
        close(ends[1]);
        *ret_code = await_start(cli, folder, ends[0], child);
        return false;
    }
    close(ends[0]);
    *ret_pipe = ends[1];
    if (settle(cli, folder, &err))
        return true;
    up_detach_tell(ends[1], &err);
    _exit(CLI_FAILED);
}
