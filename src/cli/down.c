/* leeboard down and kubeconfig: stop the running `leeboard up`, and get access to it. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/time.h"
#include "cli/model_cache.h"
#include "cli/up/folder.h"
#include "cli/up/purge.h"
#include "cli/up/tasks.h"

#define KILL_MS 5000

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Whether the process ended in time. */
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

/* SIGQUIT if the process must not wait for anything; see up.c. */
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

/* Ends the processes that a killed leeboard left behind: their pods did not end with it.
 * Supervisors pass SIGTERM on, and kill on SIGUSR1 (node/shim.h). */
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

static bool end_all(struct cli *cli, const char *folder, int64_t wait_ms, struct error *err)
{
    bool now = cli_on(cli, "now");
    int pid = up_folder_pid(&cli->arena, folder);
    if (pid && !end_process(pid, now, wait_ms, err))
        return false;
    size_t left = pid ? 0 : end_tasks(cli, folder, now, wait_ms);
    if (pid)
        printf("ended\n");
    else if (left)
        printf("ended what an earlier process had left running: %zu\n", left);
    else
        printf("nothing runs on %s\n", folder);
    return true;
}

/* ---- purge ---- */

static bool is_sure(struct cli *cli, const char *folder)
{
    struct model_file *files;
    size_t count;
    int64_t bytes = 0;
    char answer[16] = "";
    if (model_cache_list(&cli->arena, folder, &files, &count, NULL))
        for (size_t i = 0; i < count; i++)
            bytes += files[i].bytes;
    bool large = bytes >= 1 << 30;
    fprintf(stderr,
        "This ends what runs on %s and removes everything there:\n"
        "objects, volumes, logs and %.1f %s of models. Go on? [y/N] ",
        folder,
        (double)bytes / (large ? 1 << 30 : 1 << 20),
        large ? "GiB" : "MiB");
    bool read = fgets(answer, sizeof(answer), stdin);
    return read && (text_eq(answer, "y\n") || text_eq(answer, "yes\n"));
}

static bool purge(struct cli *cli, const char *folder, struct error *err)
{
    const char *left;
    if (!purge_folder(&cli->arena, folder, &left, err))
        return false;
    printf("removed %s\n", folder);
    if (left)
        printf("not removed, because leeboard did not make it: %s\n", left);
    return true;
}

static int run_down(struct cli *cli)
{
    struct error err;
    const char *folder, *wait = cli_text(cli, "wait");
    int64_t wait_ns;
    bool purges = cli_on(cli, "purge"), sure = cli_on(cli, "yes");
    if (!time_duration_parse(wait, &wait_ns) || wait_ns < 0)
        return cli_usage(cli, "--wait is a duration such as 60s, not %s", wait);
    if (sure && !purges)
        return cli_usage(cli, "--yes is for --purge");
    if (purges && !sure && !isatty(STDIN_FILENO))
        return cli_usage(cli, "--purge asks on a terminal; where there is none, add --yes");
    if (!up_folder(cli, &folder, &err) || (purges && !purge_check(folder, &err)))
        return cli_fail(cli, &err);
    if (purges && !sure && !is_sure(cli, folder)) {
        fprintf(stderr, "nothing was ended or removed\n");
        return CLI_FAILED;
    }
    bool ok = end_all(cli, folder, wait_ns / TIME_NS_PER_MS, &err) &&
              (!purges || purge(cli, folder, &err));
    return ok ? CLI_OK : cli_fail(cli, &err);
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
    { "now", 0, NULL, "false", "Kill the pods without a grace period." },
    { "wait", 0, "DURATION", "60s", "How long to wait for the end of the process." },
    { "purge",
        0,
        NULL,
        "false",
        "Then remove everything that leeboard made in the data folder, after a question." },
    { "yes", 0, NULL, "false", "With --purge: without the question." },
    { 0 },
};

const struct cli_command cli_down = {
    .name = "down",
    .summary = "Stop what `leeboard up` runs; the next `up` continues with it.",
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
