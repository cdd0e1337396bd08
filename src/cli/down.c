/* leeboard down and kubeconfig: the end of what `leeboard up` runs, and the way to it. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/time.h"
#include "cli/up/folder.h"
#include "cli/up/tasks.h"

#define KILL_MS 5000

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Whether a process is gone by then. */
static bool await_end(int pidfd, int64_t until_ms)
{
    struct pollfd end = { .fd = pidfd, .events = POLLIN };
    for (;;) {
        int64_t left = until_ms - now_ms();
        int got = poll(&end, 1, left > 0 ? (int)(left < 60000 ? left : 60000) : 0);
        if (got > 0)
            return true;
        if ((got == 0 && left <= 0) || (got < 0 && errno != EINTR))
            return false;
    }
}

static int open_process(int pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* SIGQUIT where nobody is to wait for anything; see up.c. */
static bool end_process(int pid, bool now, int64_t wait_ms, struct error *err)
{
    int pidfd = open_process(pid);
    if (pidfd < 0 && errno == ESRCH)
        return true;
    if (pidfd < 0)
        return fail_errno(err, errno, "process %d", pid);
    bool ok = kill(pid, now ? SIGQUIT : SIGTERM) == 0;
    if (!ok)
        fail_errno(err, errno, "ending process %d", pid);
    else if (!(ok = await_end(pidfd, now_ms() + wait_ms)))
        fail(err,
            ERR_TIMEOUT,
            "process %d still runs; its pods have not ended within their grace. `leeboard down "
            "--now` gives them none",
            pid);
    close(pidfd);
    return ok;
}

/* What a leeboard that was killed left behind: no pod ends with it. Supervisors pass SIGTERM on,
 * and kill for SIGUSR1 (node/shim.h). */
static size_t end_tasks(struct cli *cli, const char *folder, bool now, int64_t wait_ms)
{
    struct up_task *tasks;
    size_t count = up_tasks(&cli->arena, folder, &tasks);
    int64_t until_ms = now_ms() + wait_ms;
    for (size_t i = 0; i < count; i++)
        kill(tasks[i].pid, now ? SIGUSR1 : SIGTERM);
    for (size_t i = 0; i < count; i++) {
        int pidfd = open_process(tasks[i].pid);
        if (pidfd < 0)
            continue;
        if (!await_end(pidfd, until_ms) && kill(tasks[i].pid, SIGUSR1) == 0)
            await_end(pidfd, now_ms() + KILL_MS);
        close(pidfd);
    }
    return count;
}

static int run_down(struct cli *cli)
{
    struct error err;
    const char *folder, *wait = cli_text(cli, "wait");
    int64_t wait_ns;
    if (!time_duration_parse(wait, &wait_ns) || wait_ns < 0)
        return cli_usage(cli, "--wait is a duration such as 60s, not %s", wait);
    if (!up_folder(cli, &folder, &err))
        return cli_fail(cli, &err);
    int64_t wait_ms = wait_ns / TIME_NS_PER_MS;
    bool now = cli_on(cli, "now");
    int pid = up_folder_pid(&cli->arena, folder);
    if (pid && !end_process(pid, now, wait_ms, &err))
        return cli_fail(cli, &err);
    if (pid) {
        printf("ended\n");
        return CLI_OK;
    }
    size_t left = end_tasks(cli, folder, now, wait_ms);
    if (left)
        printf("ended what an earlier process had left running: %zu\n", left);
    else
        printf("nothing runs on %s\n", folder);
    return CLI_OK;
}

static int run_kubeconfig(struct cli *cli)
{
    struct error err;
    const char *folder;
    if (!up_folder(cli, &folder, &err))
        return cli_fail(cli, &err);
    const char *path = up_folder_kubeconfig(&cli->arena, folder);
    if (!path)
        fprintf(stderr, "leeboard kubeconfig: nothing runs on %s now\n", folder);
    printf("%s\n", path ? path : up_folder_path(&cli->arena, folder, "kubeconfig"));
    return CLI_OK;
}

static const struct cli_flag flags[] = {
    { "now", 0, NULL, "false", "Kill the pods: no grace." },
    { "wait", 0, "DURATION", "60s", "How long to wait for the end." },
    { 0 },
};

const struct cli_command cli_down = {
    .name = "down",
    .summary = "End what `leeboard up` runs; the next `up` goes on with it.",
    .flags = (const struct cli_flag *const[]){ flags, up_folder_flags, NULL },
    .run = run_down,
};
const struct cli_command cli_kubeconfig = {
    .name = "kubeconfig",
    .summary = "Print the path of the kubeconfig for kubectl and others.",
    .text = "  export KUBECONFIG=$(leeboard kubeconfig)\n",
    .flags = (const struct cli_flag *const[]){ up_folder_flags, NULL },
    .run = run_kubeconfig,
};
