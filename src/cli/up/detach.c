#include "cli/up/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "base/time.h"
#include "cli/up/await.h"
#include "cli/up/folder.h"

/* ---- the process that keeps running ---- */

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
    (void)written; /* the waiting process may have ended */
    close(pipe);
}

/* ---- the process that waits ---- */

/* Whether the other process ended; then there is nothing to wait for. */
static bool has_ended(void *ctx)
{
    pid_t *child = ctx;
    if (*child > 0 && waitpid(*child, NULL, WNOHANG) == *child)
        *child = 0;
    return !*child;
}

static int report(
    struct cli *cli, const char *folder, enum await_outcome outcome, const char *lines)
{
    struct error err;
    if (outcome == AWAIT_ENDED) {
        fail(&err, ERR_INTERNAL, "it ended; %s/up.log may say why", folder);
        return cli_fail(cli, &err);
    }
    if (outcome == AWAIT_READY) {
        printf("ready; `leeboard ps` shows it, `leeboard down` ends it\n");
        return CLI_OK;
    }
    fprintf(stderr,
        "%sIt runs on: `leeboard ps` and `leeboard logs` say more, `leeboard down` ends it.\n",
        lines);
    return CLI_FAILED;
}

static int await_rows(struct cli *cli, const char *folder, pid_t child)
{
    struct ask q = { 0 };
    struct error err;
    int64_t wait_ns = 0;
    int code;
    bool ok = time_duration_parse(cli_text(cli, "wait"), &wait_ns);
    assert(ok); /* it was checked before */
    if (wait_ns < TIME_NS_PER_MS)
        return CLI_OK;
    if (ask_open_running(cli, folder, &q, &err)) {
        const char *lines;
        enum await_outcome outcome = await_ready(
            &(struct await_options){
                .ask = &q,
                .folder = folder,
                .fd = STDOUT_FILENO,
                .plain = true,
                .wait_ms = wait_ns / TIME_NS_PER_MS,
                .ended = has_ended,
                .ctx = &child,
            },
            &lines);
        code = report(cli, folder, outcome, lines);
    } else {
        code = cli_fail(cli, &err);
    }
    ask_close(&q);
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
        return await_rows(cli, folder, child);
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
