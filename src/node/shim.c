#include "node/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "node/shim_log.h"

#define LOG_BYTES_DEFAULT ((int64_t)10 << 20)
#define LOG_FILES_DEFAULT 5
#define DYING_MS 1000 /* from SIGTERM to SIGKILL after our parent has died */

struct shim {
    const struct shim_spec *spec;
    int program;
    int signals, outputs[2];
    int input; /* keeps the program's input open; -1: it has none, or it has ended */
    bool killing;
    int status; /* of the program, from wait() */
    bool program_ended;
    struct shim_log log;
};

/* ---- the two files ---- */

static bool write_file(const char *directory, const char *name, const char *text)
{
    char path[PATH_MAX], fresh[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    snprintf(fresh, sizeof(fresh), "%s/.%s", directory, name);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    ssize_t length = (ssize_t)strlen(text);
    bool ok = fd >= 0 && write(fd, text, (size_t)length) == length;
    if (fd >= 0)
        close(fd);
    return ok && rename(fresh, path) == 0;
}

static bool read_file(const char *directory, const char *name, char *ret, size_t size)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, ret, size - 1);
    if (fd >= 0)
        close(fd);
    ret[length > 0 ? length : 0] = 0;
    return length > 0;
}

uint64_t shim_process_start(int pid)
{
    char text[1024], directory[32];
    unsigned long long start = 0;
    snprintf(directory, sizeof(directory), "/proc/%d", pid);
    if (pid <= 0 || !read_file(directory, "stat", text, sizeof(text)))
        return 0;
    char *rest = strrchr(text, ')'); /* the name before it may contain anything */
    char state = 'Z';
    if (!rest || sscanf(rest + 1,
                     " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d"
                     " %*d %llu",
                     &state,
                     &start) != 2)
        return 0;
    return state == 'Z' || state == 'X' ? 0 : start;
}

bool shim_task_read(const char *directory, struct shim_task *ret)
{
    char text[160];
    *ret = (struct shim_task){ 0 };
    return read_file(directory, "task", text, sizeof(text)) && sscanf(text,
                                                                   "%d %lu %d %lu %ld",
                                                                   &ret->pid,
                                                                   &ret->start,
                                                                   &ret->program_pid,
                                                                   &ret->program_start,
                                                                   &ret->started_ms) == 5;
}

bool shim_exit_read(const char *directory, struct shim_exit *ret)
{
    char text[160];
    *ret = (struct shim_exit){ 0 };
    return read_file(directory, "exit", text, sizeof(text)) &&
           sscanf(text, "%d %d %ld", &ret->code, &ret->signal, &ret->finished_ms) == 3;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the program's side ---- */

static bool enter_cgroups(const struct shim_spec *spec, struct error *err)
{
    for (const char *const *path = spec->cgroup; path && *path; path++) {
        int fd = open(*path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1)
            return fail_errno(err, errno, "enter the control group %s", *path);
        close(fd);
    }
    return true;
}

/* A change of user clears the death signal, so it is set again. */
static bool enter_user(const struct shim_spec *spec, struct error *err)
{
    const struct runtime_user *u = spec->user;
    if (!u)
        return true;
    /* So that it can open /dev/stdout and the like, which are links to these; but not for
     * /dev/null. */
    struct stat st;
    for (int i = 0; i < 3; i++)
        if (fstat(i, &st) == 0 && (S_ISFIFO(st.st_mode) || spec->terminal) &&
            fchown(i, u->user, u->group))
            return fail_errno(err, errno, "give its output to user %u", u->user);
    if (setgroups(u->group_count, u->groups) || setresgid(u->group, u->group, u->group) ||
        setresuid(u->user, u->user, u->user))
        return fail_errno(err, errno, "become user %u, group %u", u->user, u->group);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return true;
}

static bool become(const struct shim_spec *spec, struct error *err)
{
    extern char **environ;
    if (!enter_cgroups(spec, err) || (spec->join_pid && !root_join(spec->join_pid, err)) ||
        (spec->root && !root_enter(spec->root, spec->mounts, spec->mount_count, err)))
        return false;
    if (chdir(spec->cwd))
        return fail_errno(err, errno, "working directory %s", spec->cwd);
    if (!enter_user(spec, err))
        return false;
    if (spec->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return fail_errno(err, errno, "allowPrivilegeEscalation: false");
    environ = (char **)(uintptr_t)spec->envp;
    execvp(spec->argv[0], spec->argv);
    return fail_errno(err, errno, "%s", spec->argv[0]);
}

/* go: closed by the shim once it has written DIRECTORY/task. stdio[0] -1: it has no input. */
static _Noreturn void program_main(
    const struct shim_spec *spec, int go, const int stdio[3], int report)
{
    struct error err = { 0 };
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!spec->terminal)
        setpgid(0, 0);
    else if (setsid() < 0)
        _exit(128);
    if (read(go, &byte, 1) != 1)
        _exit(128);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    int null = open("/dev/null", O_RDONLY);
    for (int i = 0; i < 3; i++)
        dup2(stdio[i] < 0 ? null : stdio[i], i);
    if (null > 2)
        close(null);
    if (spec->terminal)
        ioctl(0, TIOCSCTTY, 0);
    become(spec, &err);
    ssize_t written = write(report, &err, sizeof(err));
    _exit(written == (ssize_t)sizeof(err) ? 128 : 127);
}

/* ---- the shim's side ---- */

/* Kills all descendants, even those that left the group or session: orphans become our children. */
static void kill_children(struct shim *s)
{
    char path[64], list[4096];
    kill(-s->program, SIGKILL);
    snprintf(path, sizeof(path), "/proc/self/task/%d", getpid());
    if (!read_file(path, "children", list, sizeof(list)))
        return;
    struct str rest = str_of(list);
    int64_t pid;
    while (rest.ptr) {
        struct str word = str_cut(&rest, ' ');
        if (rest.ptr && str_to_int(word, &pid)) /* the last word may be truncated */
            kill((pid_t)pid, SIGKILL);
    }
}

/* Returns whether no descendant is left. */
static bool reap(struct shim *s)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == s->program) {
            s->status = status;
            s->program_ended = true;
        }
    return pid < 0 && errno == ECHILD;
}

static void end_input(struct shim *s)
{
    if (s->input >= 0)
        close(s->input);
    s->input = -1;
}

static void take_signals(struct shim *s, int64_t *kill_at_ms)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGUSR1)
            s->killing = true;
        if (info.ssi_signo == SIGUSR2)
            end_input(s);
        if (info.ssi_signo == SIGTERM && !s->program_ended)
            kill(s->program, SIGTERM);
        if (info.ssi_signo == SIGTERM && s->spec->dies_with_us && info.ssi_pid == 0)
            *kill_at_ms = now_ms() + DYING_MS;
    }
}

static void take_output(struct shim *s, int i)
{
    char bytes[8192];
    ssize_t count = read(s->outputs[i], bytes, sizeof(bytes));
    if (count > 0)
        shim_log_add(&s->log, &s->log.streams[i], bytes, (size_t)count);
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
        close(s->outputs[i]);
        s->outputs[i] = -1;
    }
}

static void supervise(struct shim *s)
{
    int64_t kill_at_ms = INT64_MAX;
    while (!reap(s)) {
        if (now_ms() >= kill_at_ms)
            s->killing = true;
        bool ending = s->program_ended || s->killing;
        if (ending)
            kill_children(s);
        struct pollfd fds[] = {
            { s->signals, POLLIN, 0 }, { s->outputs[0], POLLIN, 0 }, { s->outputs[1], POLLIN, 0 }
        };
        /* A child that is forked during the kill is killed in the next round. */
        int wait_ms = ending ? 10 : kill_at_ms < INT64_MAX ? 100 : -1;
        poll(fds, lengthof(fds), wait_ms);
        take_signals(s, &kill_at_ms);
        for (int i = 0; i < 2; i++)
            if (fds[i + 1].revents)
                take_output(s, i);
    }
    for (int i = 0; i < 2; i++) /* no process holds the other ends any more */
        while (s->outputs[i] >= 0)
            take_output(s, i);
}

/* Replaces this process's signals, files and terminal by those of a shim. */
static int settle_down(const struct shim_spec *spec)
{
    setsid();
    prctl(PR_SET_NAME, "leeboard-shim");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (int number = 1; number < NSIG; number++)
        signal(number, number == SIGINT || number == SIGHUP ? SIG_IGN : SIG_DFL);
    sigset_t taken;
    sigemptyset(&taken);
    sigaddset(&taken, SIGTERM);
    sigaddset(&taken, SIGUSR1);
    sigaddset(&taken, SIGUSR2);
    sigaddset(&taken, SIGCHLD);
    sigprocmask(SIG_SETMASK, &taken, NULL);
    if (spec->dies_with_us)
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    return signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Closes all descriptors except these, which become 3, 4, …: the program must not inherit ours, and
 * a pipe that another process holds open never ends. */
static void keep_only(int *kept, int count)
{
    for (int i = 0; i < count; i++)
        kept[i] = fcntl(kept[i], F_DUPFD_CLOEXEC, 3 + count);
    for (int i = 0; i < count; i++) {
        dup3(kept[i], 3 + i, O_CLOEXEC);
        kept[i] = 3 + i;
    }
    close_range(3 + (unsigned)count, ~0U, 0);
    int null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++)
        dup2(null, i);
    close(null);
}

static int input_path(const char *directory, char ret[static PATH_MAX])
{
    return snprintf(ret, PATH_MAX, "%s/stdin", directory);
}

/* The end of the pipe that the program reads; -1: no input, or *ret_ok is false. */
static int make_input(struct shim *s, bool *ret_ok)
{
    char path[PATH_MAX];
    s->input = -1;
    *ret_ok = true;
    if (!s->spec->input)
        return -1;
    input_path(s->spec->directory, path);
    /* open() for writing fails without a reader, and neither open may block. */
    int end = mkfifo(path, 0600) ? -1 : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (end >= 0)
        s->input = open(path, O_WRONLY | O_CLOEXEC);
    *ret_ok = s->input >= 0 && fcntl(end, F_SETFL, fcntl(end, F_GETFL) & ~O_NONBLOCK) == 0;
    return end;
}

static bool note_task(struct shim *s)
{
    char text[160];
    snprintf(text,
        sizeof(text),
        "%d %lu %d %lu %ld\n",
        getpid(),
        shim_process_start(getpid()),
        s->program,
        shim_process_start(s->program),
        now_ms());
    return write_file(s->spec->directory, "task", text);
}

static _Noreturn void shim_main(const struct shim_spec *spec, int report)
{
    int kept[4] = { report, -1, -1, -1 };
    if (spec->stdio)
        memcpy(kept + 1, spec->stdio, 3 * sizeof(int));
    keep_only(kept, spec->stdio ? 4 : 1);
    report = kept[0];
    struct shim shim = { .spec = spec, .signals = settle_down(spec) };
    struct shim *s = &shim;
    s->log = (struct shim_log){ .path = spec->log,
        .bytes_max = spec->log_bytes_max ?: LOG_BYTES_DEFAULT,
        .files = spec->log_files ?: LOG_FILES_DEFAULT };
    int go[2], out[2], err_pipe[2];
    bool has_input;
    int input = make_input(s, &has_input);
    if (!has_input || pipe2(go, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err_pipe, O_CLOEXEC))
        _exit(1);
    s->program = _Fork();
    if (s->program == 0) {
        close(go[1]);
        program_main(
            spec, go[0], spec->stdio ? kept + 1 : (int[]){ input, out[1], err_pipe[1] }, report);
    }
    if (input >= 0)
        close(input);
    for (int i = 1; spec->stdio && i < 4; i++)
        close(kept[i]);
    close(go[0]);
    close(out[1]);
    close(err_pipe[1]);
    s->outputs[0] = out[0];
    s->outputs[1] = err_pipe[0];
    struct error err = { 0 };
    if (s->program < 0 || !note_task(s)) {
        fail_errno(&err, errno, "%s/task", spec->directory);
        ssize_t written = write(report, &err, sizeof(err));
        _exit(written > 0 ? 1 : 2);
    }
    ssize_t told = write(go[1], "g", 1);
    close(go[1]);
    close(report);
    shim_log_open(&s->log);
    if (told == 1)
        supervise(s);
    shim_log_close(&s->log);
    char text[160];
    int signal_number = WIFSIGNALED(s->status) ? WTERMSIG(s->status) : 0;
    int code = signal_number ? 128 + signal_number : WEXITSTATUS(s->status);
    snprintf(text, sizeof(text), "%d %d %ld\n", code, signal_number, now_ms());
    _exit(write_file(spec->directory, "exit", text) ? 0 : 1);
}

int shim_input(const char *directory, struct error *err)
{
    char path[PATH_MAX];
    input_path(directory, path);
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        fail_errno(err, errno, "the input of the program");
    return fd;
}

bool shim_start(const struct shim_spec *spec, struct shim_task *ret, struct error *err)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC))
        return fail_errno(err, errno, "a pipe");
    pid_t pid = _Fork(); /* skips the handlers of libraries, which would touch our files */
    if (pid == 0)
        shim_main(spec, report[1]);
    int number = errno;
    close(report[1]);
    struct error told = { 0 };
    ssize_t count = pid < 0 ? 0 : read(report[0], &told, sizeof(told));
    close(report[0]);
    if (pid < 0)
        return fail_errno(err, number, "a process for %s", spec->argv[0]);
    if (count == 0 && shim_task_read(spec->directory, ret))
        return true;
    waitpid(pid, NULL, 0);
    if (count != (ssize_t)sizeof(told))
        fail(&told, ERR_INTERNAL, "%s: its supervisor ended at once", spec->argv[0]);
    if (err)
        *err = told;
    return false;
}
