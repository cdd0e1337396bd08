#include "cli/up_detach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "base/time.h"
#include "cli/up_folder.h"
#include "cli/up_objects.h"
#include "http/loop.h"

#define LOOK_MS 250
/* What has failed may come back by itself: a server that crashed once. */
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

static bool is_over(void *ctx)
{
    (void)ctx;
    return false;
}

struct wait {
    struct ask ask;
    struct up_objects all;
    int64_t until_ms, failed_ms; /* since when something has failed; 0: nothing has */
};

/* 1: all is ready; 0: not yet; -1: it will not be. */
static int judge(struct wait *w, int64_t now_ms)
{
    bool ready = true, failed = false;
    for (size_t i = 0; i < w->all.count; i++) {
        ready = ready && w->all.rows[i].state == SHOW_READY;
        failed = failed || w->all.rows[i].state == SHOW_FAILED;
    }
    if (!failed || !w->failed_ms)
        w->failed_ms = failed ? now_ms : 0;
    bool over = failed && now_ms - w->failed_ms > FAILED_MS;
    return ready ? 1 : over || now_ms > w->until_ms ? -1 : 0;
}

static int tell_unready(const struct wait *w)
{
    for (size_t i = 0; i < w->all.count; i++) {
        const struct show_row *row = &w->all.rows[i];
        if (row->state != SHOW_READY)
            fprintf(stderr,
                "leeboard up: %s %s is not ready: %s%s%s\n",
                row->kind,
                row->name,
                row->phase,
                *row->detail ? ": " : "",
                row->detail);
    }
    fprintf(stderr,
        "It runs on: `leeboard ps` and `leeboard logs` say more, `leeboard down` ends it.\n");
    return CLI_FAILED;
}

static int await_ready(struct cli *cli, const char *folder)
{
    struct wait w = { 0 };
    struct error err;
    int64_t wait_ns = 0;
    int verdict = 0;
    bool ok = time_duration_parse(cli_text(cli, "wait"), &wait_ns) &&
              ask_open_running(cli, folder, &w.ask, &err);
    if (ok)
        w.until_ms = env_mono_ms(loop_env(w.ask.loop)) + wait_ns / TIME_NS_PER_MS;
    while (ok && !verdict) {
        ok = up_objects_list(&w.ask, &w.all, &err);
        verdict = judge(&w, env_mono_ms(loop_env(w.ask.loop)));
        if (ok && !verdict)
            loop_run_until(w.ask.loop, is_over, NULL, LOOK_MS);
    }
    ask_close(&w.ask);
    if (!ok)
        return cli_fail(cli, &err);
    if (verdict < 0)
        return tell_unready(&w);
    printf("ready; `leeboard ps` shows it, `leeboard down` ends it\n");
    return CLI_OK;
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
        return await_ready(cli, folder);
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
