#include "node/process_runtime.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "http/loop.h"
#include "node/shim.h"

struct process_runtime {
    struct loop *loop;
    struct process_runtime_options options;
    struct node_runtime node;
    size_t tasks;
    struct runtime_task *left; /* released while they ran, but still our children */
};

struct runtime_task {
    struct process_runtime *runtime;
    struct runtime_task *next, **link; /* in the list of left ones; NULL: not in it */
    char *directory;
    struct shim_task shim;
    struct runtime_state state;
    int pidfd;
    struct loop_watch *exit_watch;
    struct timer told; /* to report a task that had ended before it was adopted */
    struct runtime_watch watch;
};

static bool is_alive(int pid, uint64_t start)
{
    return start && shim_process_start(pid) == start;
}

/* Its exit code, or SIGKILL if its supervisor was killed. */
static void look_at_end(struct runtime_task *t)
{
    struct shim_exit end;
    t->state.phase = RUNTIME_EXITED;
    t->state.pid = 0;
    if (shim_exit_read(t->directory, &end)) {
        t->state.exit_code = end.code;
        t->state.signal = end.signal;
        t->state.finished_ms = end.finished_ms;
        return;
    }
    if (is_alive(t->shim.program_pid, t->shim.program_start))
        kill(-t->shim.program_pid, SIGKILL);
    t->state.lost = true;
    t->state.exit_code = 128 + SIGKILL;
    t->state.signal = SIGKILL;
    t->state.finished_ms = env_wall_ms(loop_env(t->runtime->loop));
}

static void task_free(struct runtime_task *t)
{
    timer_stop(loop_env(t->runtime->loop), &t->told);
    loop_watch_free(t->exit_watch);
    if (t->pidfd >= 0)
        close(t->pidfd);
    if (t->link)
        *t->link = t->next;
    if (t->next)
        t->next->link = t->link;
    free(t->directory);
    free(t);
}

static void has_ended(void *ctx)
{
    struct runtime_task *t = ctx;
    t->watch.ended(t->watch.ctx);
}

static void pidfd_ready(void *ctx, int events)
{
    (void)events;
    struct runtime_task *t = ctx;
    loop_watch_free(take(t->exit_watch));
    close(t->pidfd);
    t->pidfd = -1;
    waitpid(t->shim.pid, NULL, WNOHANG); /* an adopted one has another parent */
    if (t->link) {
        task_free(t);
        return;
    }
    look_at_end(t);
    has_ended(t);
}

static struct runtime_task *task_new(struct process_runtime *r, const char *directory,
    const struct shim_task *shim, struct runtime_watch watch)
{
    struct runtime_task *t = mem_new_of(struct runtime_task);
    *t = (struct runtime_task){ .runtime = r,
        .directory = mem_strdup(directory),
        .shim = *shim,
        .watch = watch,
        .state = { .pid = shim->program_pid, .started_ms = shim->started_ms } };
    r->tasks++;
    timer_init(&t->told, has_ended, t);
    t->pidfd = (int)syscall(SYS_pidfd_open, shim->pid, 0);
    /* The pid may have been reused: it is ours only if the start time matches. */
    if (t->pidfd >= 0 && is_alive(shim->pid, shim->start)) {
        t->exit_watch = loop_watch_new(r->loop, t->pidfd, pidfd_ready, t);
        loop_watch_set(t->exit_watch, LOOP_READ);
        return t;
    }
    if (t->pidfd >= 0)
        close(t->pidfd);
    t->pidfd = -1;
    waitpid(shim->pid, NULL, WNOHANG);
    look_at_end(t);
    timer_set(loop_env(r->loop), &t->told, 0);
    return t;
}

static struct runtime_task *start_with(struct process_runtime *r, const struct runtime_spec *spec,
    struct shim_spec shim, struct runtime_watch watch, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (mkdir(spec->directory, 0750) && errno != EEXIST) {
        fail_errno(err, errno, "%s", spec->directory);
        return NULL;
    }
    shim.directory = spec->directory;
    shim.argv = (char *const *)(uintptr_t)spec->argv;
    shim.envp = (char *const *)(uintptr_t)spec->envp;
    shim.cwd = spec->cwd ? spec->cwd : spec->directory;
    shim.log = spec->log;
    shim.log_bytes_max = r->options.log_bytes_max;
    shim.log_files = r->options.log_files;
    shim.cgroup = spec->cgroup;
    shim.user = r->node.users ? spec->user : NULL;
    shim.no_new_privs = spec->no_new_privs;
    shim.stdio = spec->stdio;
    shim.terminal = spec->terminal;
    shim.input = spec->input && !spec->stdio;
    shim.dies_with_us = r->options.dies_with_us || spec->stdio;
    if (shim.mount_count) {
        shim.root = arena_printf(&a, "%s/root", spec->directory);
        if (mkdir(shim.root, 0750) && errno != EEXIST) {
            fail_errno(err, errno, "%s", shim.root);
            return NULL;
        }
    }
    struct shim_task task;
    return shim_start(&shim, &task, err) ? task_new(r, spec->directory, &task, watch) : NULL;
}

static struct runtime_task *runtime_start(
    void *self, const struct runtime_spec *spec, struct runtime_watch watch, struct error *err)
{
    struct process_runtime *r = self;
    struct shim_spec shim = { 0 };
    if (r->node.mounts) {
        shim.mounts = spec->mounts;
        shim.mount_count = spec->mount_count;
    }
    return start_with(r, spec, shim, watch, err);
}

static struct runtime_task *runtime_adopt(
    void *self, const char *directory, struct runtime_watch watch)
{
    struct shim_task shim;
    return shim_task_read(directory, &shim) ? task_new(self, directory, &shim, watch) : NULL;
}

static struct runtime_task *runtime_exec(void *self, struct runtime_task *in,
    const struct runtime_spec *spec, struct runtime_watch watch, struct error *err)
{
    struct process_runtime *r = self;
    if (in->state.phase != RUNTIME_RUNNING) {
        fail(err, ERR_UNAVAILABLE, "the container does not run");
        return NULL;
    }
    struct shim_spec shim = { .join_pid = r->node.mounts ? in->shim.program_pid : 0 };
    return start_with(r, spec, shim, watch, err);
}

static void runtime_stop(void *self, struct runtime_task *task, bool hard)
{
    (void)self;
    if (task->state.phase == RUNTIME_RUNNING)
        syscall(SYS_pidfd_send_signal, task->pidfd, hard ? SIGUSR1 : SIGTERM, NULL, 0);
}

static int runtime_input(void *self, struct runtime_task *task, struct error *err)
{
    (void)self;
    return shim_input(task->directory, err);
}

static void runtime_end_input(void *self, struct runtime_task *task)
{
    (void)self;
    if (task->state.phase == RUNTIME_RUNNING)
        syscall(SYS_pidfd_send_signal, task->pidfd, SIGUSR2, NULL, 0);
}

static struct runtime_state runtime_state(void *self, const struct runtime_task *task)
{
    (void)self;
    return task->state;
}

static void runtime_release(void *self, struct runtime_task *task)
{
    struct process_runtime *r = self;
    r->tasks--;
    if (!task->exit_watch) {
        task_free(task);
        return;
    }
    task->next = r->left;
    task->link = &r->left;
    if (r->left)
        r->left->link = &task->next;
    r->left = task;
}

struct process_runtime *process_runtime_new(
    struct loop *loop, const struct process_runtime_options *options)
{
    struct process_runtime *r = mem_new_of(struct process_runtime);
    r->loop = loop;
    r->options = *options;
    r->node = (struct node_runtime){ .start = runtime_start,
        .adopt = runtime_adopt,
        .exec = runtime_exec,
        .stop = runtime_stop,
        .input = runtime_input,
        .end_input = runtime_end_input,
        .state = runtime_state,
        .release = runtime_release,
        .mounts = !options->no_mounts && root_possible(),
        .users = geteuid() == 0,
        .self = r };
    return r;
}

void process_runtime_free(struct process_runtime *r)
{
    if (!r)
        return;
    assert(r->tasks == 0);
    while (r->left)
        task_free(r->left);
    free(r);
}

const struct node_runtime *process_runtime_node(struct process_runtime *r)
{
    return &r->node;
}
