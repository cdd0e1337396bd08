/* One container: its runs, their probes and hooks, and how they end. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "base/tree.h"
#include "base/utf8.h"
#include "http/loop.h"
#include "node/cgroup.h"
#include "node/logs.h"
#include "node/pod_internal.h"
#include "node/volumes.h"

#define BACK_OFF_DEFAULT_MS 10000
#define BACK_OFF_TIMES_MAX 30     /* 5 minutes after 10 seconds */
#define BACK_OFF_FORGET_MS 600000 /* a run this long resets the back-off */
#define PROGRAM_MISSING_MS 10000  /* the program may be installed meanwhile */
#define POST_START_MAX_MS 600000
#define RUNS_KEPT 2

static const struct env *env_of(const struct container *c)
{
    return loop_env(c->pod->host->loop);
}

static int64_t back_off_first(const struct container *c)
{
    return c->pod->host->back_off_ms ? c->pod->host->back_off_ms : BACK_OFF_DEFAULT_MS;
}

static const char *folder_of(struct arena *a, const struct container *c, int run)
{
    return arena_printf(a, "%s/containers/%s/%d", c->pod->directory, c->name, run);
}

const char *container_log(struct arena *a, const struct container *c, int run)
{
    return arena_printf(a, "%s/log", folder_of(a, c, run));
}

const char *container_id(struct arena *a, const struct container *c)
{
    return arena_printf(a, "process://%s/%s/%d", c->pod->uid, c->name, c->run);
}

struct json container_terminated(struct arena *a, const struct container *c)
{
    const char *reason = c->reason ? c->reason : c->state.exit_code == 0 ? "Completed" : "Error";
    return json_fields(a,
        { "terminated.exitCode", json_int(c->state.exit_code) },
        { "terminated.reason", json_str(reason) },
        { "terminated.message", json_str_or_absent(c->message) },
        { "terminated.startedAt", json_str(time_format(a, c->state.started_ms)) },
        { "terminated.finishedAt", json_str(time_format(a, c->state.finished_ms)) },
        { "terminated.containerID", json_str(container_id(a, c)) });
}

/* ---- probes ---- */

struct action_place container_place(struct arena *a, struct container *c)
{
    const struct pod_host *h = c->pod->host;
    return (struct action_place){ .loop = h->loop,
        .http = h->http,
        .tls = h->tls,
        .runtime = h->runtime,
        .task = c->task,
        .address = c->pod->ip,
        .container = c->spec,
        .directory = folder_of(a, c, c->run),
        .envp = c->envp,
        .cwd = c->cwd,
        .cgroup = c->cgroup,
        .user = c->user,
        .no_new_privs = c->no_new_privs,
        .translate = container_translate,
        .translate_ctx = c };
}

static void probes_free(struct container *c)
{
    for (int i = 0; i < PROBE_COUNT; i++)
        probe_free(take(c->probes[i]));
}

static int64_t grace_of(const struct container *c)
{
    return json_get_int(c->pod->object, "spec.terminationGracePeriodSeconds", 30) * 1000;
}

static void start_probes(struct container *c);

static void probe_failed(void *ctx, const char *kind, const char *message)
{
    struct container *c = ctx;
    pod_event(c->pod, c, true, "Unhealthy", "%s probe failed: %s", kind, message);
}

static void startup_changed(void *ctx, bool ok)
{
    struct container *c = ctx;
    probe_free(take(c->probes[PROBE_STARTUP]));
    c->started = ok;
    if (ok)
        start_probes(c);
    else
        container_stop(c, grace_of(c), "failed startup probe, will be restarted");
    pod_wake(c->pod);
}

static void liveness_changed(void *ctx, bool ok)
{
    struct container *c = ctx;
    if (ok)
        return;
    struct json own = json_get(c->spec, "livenessProbe.terminationGracePeriodSeconds");
    probes_free(c);
    container_stop(c,
        json_is(own, JSON_INT) ? own.integer * 1000 : grace_of(c),
        "failed liveness probe, will be restarted");
    pod_wake(c->pod);
}

static void readiness_changed(void *ctx, bool ok)
{
    struct container *c = ctx;
    c->ready = ok;
    pod_wake(c->pod);
}

/* Called after the start, or after the startup probe succeeded. */
static void start_probes(struct container *c)
{
    static const struct {
        const char *field, *kind;
        void (*changed)(void *ctx, bool ok);
    } kinds[PROBE_COUNT] = { { "startupProbe", "Startup", startup_changed },
        { "livenessProbe", "Liveness", liveness_changed },
        { "readinessProbe", "Readiness", readiness_changed } };
    struct action_place place = container_place(&c->arena, c);
    bool startup = !c->started && action_known(json_get(c->spec, "startupProbe"));
    c->started = !startup;
    for (int i = 0; i < PROBE_COUNT; i++) {
        struct json spec = json_get(c->spec, kinds[i].field);
        bool wanted = action_known(spec) && (i == PROBE_STARTUP) == startup;
        if (wanted && !c->probes[i])
            c->probes[i] = probe_new(&place,
                spec,
                &(struct probe_watch){ kinds[i].kind, kinds[i].changed, probe_failed, c });
    }
    if (c->started && !c->probes[PROBE_READINESS])
        c->ready = true;
}

/* ---- the termination message ---- */

const char *container_message_file(struct arena *a, const struct container *c)
{
    return arena_printf(a, "%s/containers/%s/termination-log", c->pod->directory, c->name);
}

/* Empty and writable for all users. */
static bool make_message_file(const struct container *c, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *path = container_message_file(&a, c);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || fchmod(fd, 0666))
        fail_errno(err, errno, "%s", path);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

const char *container_home(struct arena *a, const struct container *c)
{
    return arena_printf(a, "%s/containers/%s/home", c->pod->directory, c->name);
}

/* Only the container's user may write to directories that its programs search first. */
static bool make_home(const struct container *c, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *path = container_home(&a, c);
    bool users = c->pod->host->runtime->users;
    uid_t user = users && c->user ? c->user->user : geteuid();
    gid_t group = users && c->user ? c->user->group : getegid();
    if (mkdir(path, 0700) && errno != EEXIST)
        return fail_errno(err, errno, "%s", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool ok = fd >= 0 && fchown(fd, user, group) == 0 && fchmod(fd, 0700) == 0;
    if (!ok)
        fail_errno(err, errno, "%s", path);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* The pod controls a path in a volume: a link there must not make us read a file of the machine. */
static int open_message(struct arena *a, const struct container *c)
{
    if (!c->message_mount)
        return open(container_message_file(a, c), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const struct root_mount *m = c->message_mount;
    const char *below = arena_printf(a, "%s/%s", m->below ? m->below : "", c->message_below);
    int root = open(m->from, O_PATH | O_CLOEXEC);
    int place = root >= 0 ? tree_open_below(root, below, false, NULL) : -1;
    struct stat st;
    bool file = place >= 0 && fstat(place, &st) == 0 && S_ISREG(st.st_mode);
    int fd = file ? open(arena_printf(a, "/proc/self/fd/%d", place), O_RDONLY | O_CLOEXEC) : -1;
    if (place >= 0)
        close(place);
    if (root >= 0)
        close(root);
    return fd;
}

/* The end of the program's termination message; "" if there is none. */
static const char *read_message(struct arena *a, const struct container *c)
{
    char *text = arena_alloc(a, sizeof(c->message));
    struct stat st;
    int fd = open_message(a, c);
    off_t size = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
    off_t max = sizeof(c->message) - 1;
    if (size && pread(fd, text, (size_t)max, size > max ? size - max : 0) < 0)
        text[0] = 0;
    if (fd >= 0)
        close(fd);
    return text;
}

/* Programs write arbitrary bytes; the API requires valid text. */
static void keep_message(struct container *c, const char *text)
{
    size_t at = 0;
    uint32_t character;
    for (struct str rest = str_of(text); rest.len && at + 4 < sizeof(c->message);) {
        size_t length = utf8_first(rest, &character);
        if (length)
            memcpy(c->message + at, rest.ptr, length);
        else
            c->message[at] = '?';
        length = length ? length : 1;
        at += length;
        rest = (struct str){ rest.ptr + length, rest.len - length };
    }
    c->message[at] = 0;
}

static void remember_end(struct container *c)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *policy = json_get_text(c->spec, "terminationMessagePolicy");
    const char *text = read_message(&a, c);
    if (!*text && c->state.lost)
        text = "its supervisor was killed, or the machine restarted";
    else if (!*text && c->state.exit_code && text_eq(policy, "FallbackToLogsOnError"))
        text = logs_tail(&a, container_log(&a, c, c->run), 2048, 80);
    keep_message(c, text);
}

/* ---- start ---- */

static void task_ended(void *ctx)
{
    struct container *c = ctx;
    const struct node_runtime *r = c->pod->host->runtime;
    c->state = r->state(r->self, c->task);
    c->running = c->started = c->ready = false;
    c->ended = true;
    probes_free(c);
    action_cancel(take(c->hook));
    timer_stop(env_of(c), &c->kill);
    remember_end(c);
    if (c->state.exit_code && c->pod->host->cgroups &&
        cgroups_ran_out(c->pod->host->cgroups, c->pod->uid, c->name))
        c->reason = "OOMKilled";
    if (c->state.finished_ms - c->state.started_ms >= BACK_OFF_FORGET_MS)
        c->back_off_ms = 0;
    pod_wake(c->pod);
}

static void post_start_done(void *ctx, bool ok, const char *message)
{
    struct container *c = ctx;
    c->hook = NULL;
    if (ok) {
        start_probes(c);
    } else {
        pod_event(c->pod, c, true, "FailedPostStartHook", "PostStartHook failed: %s", message);
        container_stop(c, grace_of(c), "failed its postStart hook, will be restarted");
    }
    pod_wake(c->pod);
}

static void has_begun(struct container *c)
{
    struct json hook = json_get(c->spec, "lifecycle.postStart");
    struct action_place place = container_place(&c->arena, c);
    if (json_present(hook))
        c->hook = action_start(&place, hook, POST_START_MAX_MS, post_start_done, c);
    else
        start_probes(c);
}

/* Removes old logs except the last one, which `logs --previous` shows. */
static void forget_runs(struct container *c)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (c->run >= RUNS_KEPT)
        tree_remove(folder_of(&a, c, c->run - RUNS_KEPT), NULL);
}

static void release_task(struct container *c)
{
    const struct node_runtime *r = c->pod->host->runtime;
    if (c->task)
        r->release(r->self, take(c->task));
}

static void move_to_last(struct container *c)
{
    if (!c->ended)
        return;
    arena_done(&c->last_arena);
    arena_init(&c->last_arena, ARENA_LIMIT_DEFAULT);
    c->last = json_copy(&c->last_arena, container_terminated(&c->last_arena, c));
    int64_t first = back_off_first(c);
    c->back_off_ms = !c->back_off_ms ? first : c->back_off_ms * 2;
    if (c->back_off_ms > first * BACK_OFF_TIMES_MAX)
        c->back_off_ms = first * BACK_OFF_TIMES_MAX;
}

/* A run that could not start counts as a run that ended. */
static void note_start_error(struct container *c, const struct error *err)
{
    int64_t now = env_wall_ms(env_of(c));
    c->state = (struct runtime_state){
        .phase = RUNTIME_EXITED, .exit_code = 128, .started_ms = now, .finished_ms = now
    };
    c->ended = true;
    c->reason = "StartError";
    snprintf(c->message, sizeof(c->message), "%s", err->text);
    pod_event(c->pod, c, true, "Failed", "Error: %s", err->text);
    pod_wake(c->pod);
}

/* How long until the next run may start. */
static int64_t back_off_left(struct container *c)
{
    if (!c->ended || !c->back_off_ms)
        return 0;
    int64_t left = c->state.finished_ms + c->back_off_ms - env_wall_ms(env_of(c));
    return left < 0 ? 0 : left < c->back_off_ms ? left : c->back_off_ms;
}

static bool in_back_off(struct container *c, int64_t *ret_after_ms)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    *ret_after_ms = back_off_left(c);
    if (!*ret_after_ms)
        return false;
    const char *pod = arena_printf(&a,
        "%s_%s(%s)",
        json_get_text(c->pod->object, "metadata.name"),
        json_get_text(c->pod->object, "metadata.namespace"),
        c->pod->uid);
    if (!text_eq(c->waiting, "CrashLoopBackOff"))
        pod_event(c->pod,
            c,
            true,
            "BackOff",
            "Back-off restarting failed container %s in pod %s",
            c->name,
            pod);
    c->waiting = "CrashLoopBackOff";
    snprintf(c->waiting_message,
        sizeof(c->waiting_message),
        "back-off %s restarting failed container=%s pod=%s",
        time_duration_format(&a, c->back_off_ms * TIME_NS_PER_MS),
        c->name,
        pod);
    return true;
}

static bool enter_group(struct container *c, struct error *err)
{
    struct cgroups *groups = c->pod->host->cgroups;
    return !groups || cgroups_make(groups,
                          &c->arena,
                          c->pod->uid,
                          c->name,
                          json_get(c->spec, "resources"),
                          &c->cgroup[0],
                          err);
}

static void tell_start(const struct container *c)
{
    const struct pod *p = c->pod;
    pod_event(p,
        c,
        false,
        "Pulled",
        "Container image \"%s\" already present on machine and can be accessed by the pod",
        json_get_text(c->spec, "image"));
    pod_event(p, c, false, "Created", "Container created");
    pod_event(p, c, false, "Started", "Container started");
}

bool container_start(struct container *c, int64_t *ret_after_ms)
{
    const struct node_runtime *r = c->pod->host->runtime;
    const char *const *argv;
    struct error err;
    if (in_back_off(c, ret_after_ms))
        return false;
    *ret_after_ms = PROGRAM_MISSING_MS;
    if (!container_resolve(c, &argv))
        return false;
    move_to_last(c);
    release_task(c);
    c->run++;
    forget_runs(c);
    c->ended = c->stopping = c->started = c->ready = false;
    c->reason = c->waiting = NULL;
    c->message[0] = 0;
    const char *folder = folder_of(&c->arena, c, c->run);
    char *above = arena_printf(&c->arena, "%s/containers/%s", c->pod->directory, c->name);
    bool made = mkdir(above, 0750) == 0 || errno == EEXIST || fail_errno(&err, errno, "%s", above);
    if (!made || !make_message_file(c, &err) || !make_home(c, &err) || !enter_group(c, &err)) {
        note_start_error(c, &err);
        return true;
    }
    struct runtime_spec spec = { .directory = folder,
        .argv = argv,
        .envp = c->envp,
        .cwd = c->cwd,
        .log = container_log(&c->arena, c, c->run),
        .mounts = c->mounts,
        .mount_count = c->mount_count,
        .input = json_get_bool(c->spec, "stdin", false),
        .cgroup = c->cgroup,
        .user = c->user,
        .no_new_privs = c->no_new_privs };
    c->task = r->start(r->self, &spec, (struct runtime_watch){ task_ended, c }, &err);
    if (!c->task) {
        note_start_error(c, &err);
        return true;
    }
    c->state = r->state(r->self, c->task);
    c->running = true;
    tell_start(c);
    has_begun(c);
    return true;
}

/* ---- input ---- */

/* With stdinOnce only the first client that attaches gets the input. */
static const char *taken_file(struct arena *a, const struct container *c)
{
    return arena_printf(a, "%s/stdin-taken", folder_of(a, c, c->run));
}

bool container_input_is_taken(const struct container *c)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    return json_get_bool(c->spec, "stdinOnce", false) && access(taken_file(&a, c), F_OK) == 0;
}

int container_input(struct container *c, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct node_runtime *r = c->pod->host->runtime;
    if (json_get_bool(c->spec, "stdinOnce", false)) {
        const char *path = taken_file(&a, c);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
        if (fd < 0) {
            fail_errno(err, errno, "%s", path);
            return -1;
        }
        close(fd);
    }
    return r->input(r->self, c->task, err);
}

/* ---- end ---- */

static void kill_now(void *ctx)
{
    struct container *c = ctx;
    const struct node_runtime *r = c->pod->host->runtime;
    action_cancel(take(c->hook));
    if (c->running)
        r->stop(r->self, c->task, true);
}

static void pre_stop_done(void *ctx, bool ok, const char *message)
{
    struct container *c = ctx;
    const struct node_runtime *r = c->pod->host->runtime;
    c->hook = NULL;
    if (!ok) /* it delays nothing */
        pod_event(c->pod, c, true, "FailedPreStopHook", "PreStopHook failed: %s", message);
    if (c->running)
        r->stop(r->self, c->task, false);
}

void container_stop(struct container *c, int64_t grace_ms, const char *why)
{
    const struct node_runtime *r = c->pod->host->runtime;
    if (!c->running)
        return;
    bool sooner = timer_is_set(&c->kill) && env_mono_ms(env_of(c)) + grace_ms < c->kill.at_ms;
    if (!c->stopping || sooner)
        timer_set(env_of(c), &c->kill, grace_ms);
    if (c->stopping)
        return;
    c->stopping = true;
    c->ready = false;
    probes_free(c);
    action_cancel(take(c->hook));
    pod_event(c->pod,
        c,
        false,
        "Killing",
        "%s %s%s%s",
        why ? "Container" : "Stopping container",
        c->name,
        why ? " " : "",
        why ? why : "");
    struct json hook = json_get(c->spec, "lifecycle.preStop");
    struct action_place place = container_place(&c->arena, c);
    if (json_present(hook) && grace_ms > 0)
        c->hook = action_start(&place, hook, grace_ms, pre_stop_done, c);
    else
        r->stop(r->self, c->task, false);
}

/* ---- life ---- */

void container_init(struct container *c, struct pod *p, struct json spec, enum container_kind kind)
{
    *c = (struct container){
        .pod = p, .name = json_get_text(spec, "name"), .spec = spec, .kind = kind, .run = -1
    };
    timer_init(&c->kill, kill_now, c);
}

void container_done(struct container *c)
{
    probes_free(c);
    action_cancel(take(c->hook));
    timer_stop(env_of(c), &c->kill);
    release_task(c);
    arena_done(&c->arena);
    arena_done(&c->last_arena);
}

static int last_run(const struct container *c)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    int last = -1;
    int64_t n;
    DIR *runs = opendir(arena_printf(&a, "%s/containers/%s", c->pod->directory, c->name));
    for (struct dirent *e; runs && (e = readdir(runs));)
        if (str_to_int(str_of(e->d_name), &n) && n > last && n < INT32_MAX)
            last = (int)n;
    if (runs)
        closedir(runs);
    return last;
}

void container_adopt(struct container *c, struct json old)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct node_runtime *r = c->pod->host->runtime;
    c->run = last_run(c);
    if (c->run < 0)
        return;
    arena_init(&c->last_arena, ARENA_LIMIT_DEFAULT);
    c->last = json_copy(&c->last_arena, json_get(old, "lastState"));
    for (int i = 0; i < c->run && c->back_off_ms < back_off_first(c) * BACK_OFF_TIMES_MAX; i++)
        c->back_off_ms = c->back_off_ms ? c->back_off_ms * 2 : back_off_first(c);
    c->task = r->adopt(r->self, folder_of(&a, c, c->run), (struct runtime_watch){ task_ended, c });
    if (!c->task)
        return;
    c->state = r->state(r->self, c->task);
    c->running = true;
    if (c->state.phase != RUNTIME_RUNNING) {
        c->back_off_ms = 0; /* it ended between two processes */
        return;             /* task_ended() follows */
    }
    if (container_input_is_taken(c)) /* clients that were attached left with the earlier process */
        r->end_input(r->self, c->task);
    bool same = text_eq(json_get_text(old, "containerID"), container_id(&a, c));
    c->started = same && json_get_bool(old, "started", false);
    c->ready = same && json_get_bool(old, "ready", false);
    arena_init(&c->arena, ARENA_LIMIT_DEFAULT);
    c->envp = arena_array(&c->arena, 1, sizeof(*c->envp));
    c->unresolved = true;
    container_resume(c);
}

void container_resume(struct container *c)
{
    const char *const *argv;
    if (!c->unresolved || !c->running || c->stopping || c->pod->blocked[0])
        return;
    c->unresolved = false;
    if (!container_resolve(c, &argv)) /* a running program keeps running */
        c->envp = arena_array(&c->arena, 1, sizeof(*c->envp));
    bool ready = c->ready;
    start_probes(c);
    c->ready = c->ready || ready;
}
