/* Commands in containers and their output, for the API's pods/exec and pods/attach.
 *
 * A command has pipes, or a terminal, and a supervisor like every program. An attached client reads
 * what the container's program writes to its log from now on, and writes to its input. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/tree.h"
#include "base/buf.h"
#include "http/loop.h"
#include "node/action.h"
#include "node/cgroup.h"
#include "node/node_internal.h"

#define INPUT_HIGH ((size_t)64 << 10)  /* unread by the command: no more is accepted */
#define INPUT_LIMIT ((size_t)16 << 20) /* well-behaved clients stop at INPUT_HIGH */
#define PIECE_BYTES ((size_t)16 << 10)
#define OUTPUTS 2 /* POD_STDOUT and POD_STDERR */

/* Our end of a pipe or of a terminal. */
struct end {
    struct pod_session *session;
    int fd; /* -1: closed */
    struct loop_watch *watch;
};

struct pod_session {
    struct node *node;
    struct pod_session *next, **link;
    struct arena arena;
    const struct pod_session_handlers *on;
    void *ctx;
    const char *uid, *container;
    int run;
    bool paused;
    /* A command: */
    struct runtime_task *task;
    const char *directory;
    bool has_ended, terminal;
    struct end in, outs[OUTPUTS];
    struct buf input;
    bool input_ends, input_full;
    bool mute;
    bool feeds; /* attached with input that has not ended */
    /* attached: */
    struct pod_log_stream *logs[OUTPUTS];
    struct timer begin;
};

/* ---- ends of pipes ---- */

static void end_close(struct end *e)
{
    loop_watch_free(take(e->watch));
    if (e->fd >= 0)
        close(e->fd);
    e->fd = -1;
}

static void end_open(struct end *e, struct pod_session *s, int fd, void (*ready)(void *, int))
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    *e = (struct end){ s, fd, NULL };
    e->watch = loop_watch_new(s->node->options.loop, fd, ready, e);
}

static void watch_outputs(struct pod_session *s)
{
    for (int i = 0; i < OUTPUTS; i++)
        if (s->outs[i].watch)
            loop_watch_set(s->outs[i].watch, s->paused ? 0 : LOOP_READ);
}

/* ---- output ---- */

/* May free the session. */
static void look_whether_over(struct pod_session *s)
{
    const struct node_runtime *r = s->node->options.runtime;
    if (s->has_ended && s->outs[0].fd < 0 && s->outs[1].fd < 0)
        s->on->ended(s->ctx, r->state(r->self, s->task).exit_code);
}

static void output_ready(void *ctx, int events)
{
    (void)events;
    struct end *e = ctx;
    struct pod_session *s = e->session;
    char bytes[PIECE_BYTES];
    ssize_t count = read(e->fd, bytes, sizeof(bytes));
    if (count > 0) {
        enum pod_session_stream stream = e == &s->outs[0] ? POD_STDOUT : POD_STDERR;
        s->paused = !s->on->output(s->ctx, stream, (struct str){ bytes, (size_t)count });
        watch_outputs(s);
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        end_close(e); /* end of file on a terminal is reported as an error */
        look_whether_over(s);
    }
}

static void command_ended(void *ctx)
{
    struct pod_session *s = ctx;
    s->has_ended = true;
    end_close(&s->in);
    look_whether_over(s);
}

/* ---- input ---- */

/* An attached container keeps running and keeps its input for other clients, unless stdinOnce. */
static void input_over(struct pod_session *s)
{
    struct entry *e = s->feeds ? node_entry(s->node, s->uid) : NULL;
    end_close(&s->in);
    if (e && e->pod)
        pod_end_input(e->pod, s->container, s->run);
    s->feeds = false;
}

/* Writes as much as the command accepts. */
static void push_input(struct pod_session *s)
{
    while (s->in.fd >= 0 && s->input.len) {
        ssize_t count = write(s->in.fd, s->input.ptr, s->input.len);
        if (count > 0)
            buf_eat(&s->input, (size_t)count);
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            end_close(&s->in); /* the command closed its input */
    }
    if (s->in.fd < 0 || !s->input.len)
        buf_done(&s->input);
    if (s->input_ends && !s->input.len && !s->terminal)
        input_over(s);
    if (s->in.watch)
        loop_watch_set(s->in.watch, s->input.len ? LOOP_WRITE : 0);
}

static void input_ready(void *ctx, int events)
{
    (void)events;
    struct pod_session *s = ((struct end *)ctx)->session;
    push_input(s);
    if (s->input_full && !s->input.len) {
        s->input_full = false;
        s->on->room(s->ctx);
    }
}

static bool session_write(void *self, struct pod_session *s, struct str bytes)
{
    (void)self;
    if (s->in.fd < 0 || s->input_ends)
        return true;
    buf_add(&s->input, bytes.ptr, bytes.len);
    push_input(s);
    s->input_full = s->input.len >= INPUT_HIGH;
    return !s->input_full;
}

static void session_end_input(void *self, struct pod_session *s)
{
    (void)self;
    s->input_ends = true;
    push_input(s);
}

static void session_resize(void *self, struct pod_session *s, uint16_t columns, uint16_t rows)
{
    (void)self;
    if (s->terminal && s->outs[0].fd >= 0)
        ioctl(s->outs[0].fd, TIOCSWINSZ, &(struct winsize){ .ws_col = columns, .ws_row = rows });
}

/* ---- commands ---- */

static bool make_terminal(struct pod_session *s, int theirs[3], struct error *err)
{
    int ours = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (ours < 0)
        return fail_errno(err, errno, "a terminal");
    end_open(&s->outs[0], s, ours, output_ready);
    int copy = fcntl(ours, F_DUPFD_CLOEXEC, 3);
    if (copy >= 0)
        end_open(&s->in, s, copy, input_ready);
    if (copy < 0 || unlockpt(ours) ||
        (theirs[0] = ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
        return fail_errno(err, errno, "a terminal");
    for (int i = 1; i < 3; i++)
        if ((theirs[i] = fcntl(theirs[0], F_DUPFD_CLOEXEC, 3)) < 0)
            return fail_errno(err, errno, "a terminal");
    return true;
}

/* Streams that the client did not request are connected to nothing. */
static bool make_pipes(struct pod_session *s, const struct pod_session_request *request,
    int theirs[3], struct error *err)
{
    const bool wanted[3] = { request->in, request->out, request->err };
    struct end *const ends[3] = { &s->in, &s->outs[0], &s->outs[1] };
    for (int i = 0; i < 3; i++) {
        int pair[2] = { -1, -1 };
        if (!wanted[i])
            pair[i != 0] = open("/dev/null", O_RDWR | O_CLOEXEC);
        else if (pipe2(pair, O_CLOEXEC) == 0)
            end_open(ends[i], s, pair[i == 0], i == 0 ? input_ready : output_ready);
        theirs[i] = pair[i != 0];
        if (theirs[i] < 0)
            return fail_errno(err, errno, "a pipe");
    }
    return true;
}

/* Most programs need TERM on a terminal. */
static const char *const *with_term(struct arena *a, const char *const *envp)
{
    size_t count = 0;
    while (envp[count])
        if (text_starts(envp[count++], "TERM="))
            return envp;
    const char **words = arena_array(a, count + 2, sizeof(*words));
    memcpy(words, envp, count * sizeof(*words));
    words[count] = "TERM=xterm";
    return words;
}

static bool start_in(struct pod_session *s, const struct action_place *place,
    const struct pod_session_request *request, const int theirs[3], struct error *err)
{
    struct arena *a = &s->arena;
    const struct env *env = loop_env(place->loop);
    size_t count = 0;
    while (request->command[count])
        count++;
    const char **argv = arena_array(a, count + 1, sizeof(*argv));
    for (size_t i = 0; i < count; i++)
        argv[i] = place->translate(place->translate_ctx, a, request->command[i]);
    s->directory = arena_printf(
        a, "%s/exec-%016llx", place->directory, (unsigned long long)env->random(env->ctx));
    struct runtime_spec spec = { .directory = s->directory,
        .argv = argv,
        .envp = s->terminal ? with_term(a, place->envp) : place->envp,
        .cwd = place->cwd,
        .stdio = theirs,
        .terminal = s->terminal,
        .user = place->user,
        .no_new_privs = place->no_new_privs,
        .cgroup = place->cgroup };
    const struct node_runtime *r = place->runtime;
    struct error why;
    s->task =
        r->exec(r->self, place->task, &spec, (struct runtime_watch){ command_ended, s }, &why);
    return s->task || fail(err, ERR_INVALID, "%s", why.text);
}

static bool start_command(struct pod_session *s, const struct pod *p,
    const struct pod_session_request *request, struct error *err)
{
    struct action_place place;
    int theirs[3] = { -1, -1, -1 };
    s->terminal = request->terminal;
    bool ok = pod_place(&s->arena, p, request->container, &place, &s->run, err) &&
              (s->terminal ? make_terminal(s, theirs, err) : make_pipes(s, request, theirs, err)) &&
              start_in(s, &place, request, theirs, err);
    for (int i = 0; i < 3; i++)
        if (theirs[i] >= 0)
            close(theirs[i]);
    watch_outputs(s);
    return ok;
}

/* ---- attaching ---- */

/* Delivers what is in the log; may free the session. */
static void pump(void *ctx)
{
    struct pod_session *s = ctx;
    struct pod_log_source *logs = &s->node->logs;
    char bytes[PIECE_BYTES];
    for (int i = 0; i < OUTPUTS; i++) {
        size_t count = 1;
        while (s->logs[i] && !s->paused && count) {
            bool ended = false;
            count = logs->read(logs->self, s->logs[i], bytes, sizeof(bytes), &ended);
            if (count && !s->mute)
                s->paused = !s->on->output(
                    s->ctx, i == 0 ? POD_STDOUT : POD_STDERR, (struct str){ bytes, count });
            if (ended)
                logs->close(logs->self, take(s->logs[i]));
        }
    }
    if (!s->logs[0] && !s->logs[1])
        s->on->ended(s->ctx, 0);
}

static bool attach(struct pod_session *s, const struct pod *p,
    const struct pod_session_request *request, struct error *err)
{
    static const char *const names[OUTPUTS] = { "stdout", "stderr" };
    s->mute = !request->out && !request->err; /* it still ends with the container */
    const bool wanted[OUTPUTS] = { request->out || s->mute, request->err };
    struct pod_log_source *logs = &s->node->logs;
    struct action_place place;
    if (!pod_place(&s->arena, p, request->container, &place, &s->run, err))
        return false;
    for (int i = 0; i < OUTPUTS; i++) {
        struct pod_log_request of_stream = { .ns = request->ns,
            .pod = request->pod,
            .uid = request->uid,
            .container = request->container,
            .follow = true,
            .tail_lines = 0,
            .limit_bytes = -1,
            .stream = names[i] };
        if (wanted[i] && !(s->logs[i] = logs->open(logs->self, &of_stream, pump, s, err)))
            return false;
    }
    timer_set(loop_env(s->node->options.loop), &s->begin, 0);
    int fd = -1;
    if (request->in && !pod_input(p, request->container, &fd, err))
        return false;
    if (fd >= 0) {
        end_open(&s->in, s, fd, input_ready);
        s->feeds = true;
    }
    return true;
}

/* ---- life ---- */

static void session_close(void *self, struct pod_session *s)
{
    struct node *n = self;
    const struct node_runtime *r = n->options.runtime;
    input_over(s);
    for (int i = 0; i < OUTPUTS; i++) {
        end_close(&s->outs[i]);
        if (s->logs[i])
            n->logs.close(n->logs.self, take(s->logs[i]));
    }
    if (s->task) {
        r->stop(r->self, s->task, true);
        r->release(r->self, take(s->task));
    }
    if (s->directory)
        tree_remove(s->directory, NULL);
    if (n->host.cgroups && !node_entry(n, s->uid))
        cgroups_remove(n->host.cgroups, s->uid); /* the pod could not, because of this session */
    timer_stop(loop_env(n->options.loop), &s->begin);
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
    buf_done(&s->input);
    arena_done(&s->arena);
    free(s);
}

static const struct pod *find_pod(
    struct node *n, const struct pod_session_request *request, struct error *err)
{
    struct entry *e = node_entry(n, request->uid);
    if (!e || !e->pod)
        fail(err, ERR_NOT_FOUND, "pod does not exist");
    return e ? e->pod : NULL;
}

static struct pod_session *session_open(void *self, const struct pod_session_request *request,
    const struct pod_session_handlers *handlers, void *ctx, struct error *err)
{
    struct node *n = self;
    const struct pod *p = find_pod(n, request, err);
    if (!p)
        return NULL;
    struct pod_session *s = mem_new_of(struct pod_session);
    *s = (struct pod_session){ .node = n,
        .next = n->open_sessions,
        .link = &n->open_sessions,
        .on = handlers,
        .ctx = ctx,
        .in.fd = -1,
        .outs = { { .fd = -1 }, { .fd = -1 } } };
    if (s->next)
        s->next->link = &s->next;
    n->open_sessions = s;
    arena_init(&s->arena, ARENA_LIMIT_DEFAULT);
    buf_init(&s->input, INPUT_LIMIT);
    timer_init(&s->begin, pump, s);
    s->uid = arena_strdup(&s->arena, request->uid);
    s->container = arena_strdup(&s->arena, request->container);
    bool ok =
        request->kind == POD_EXEC ? start_command(s, p, request, err) : attach(s, p, request, err);
    if (ok)
        return s;
    session_close(n, s);
    return NULL;
}

static void session_resume(void *self, struct pod_session *s)
{
    (void)self;
    s->paused = false;
    watch_outputs(s);
    if (!s->task)
        timer_set(loop_env(s->node->options.loop), &s->begin, 0);
}

void node_sessions_wake(struct node *n, const char *uid)
{
    const struct node_runtime *r = n->options.runtime;
    struct entry *e = node_entry(n, uid);
    for (struct pod_session *s = n->open_sessions; s; s = s->next)
        if (s->task && !s->has_ended && text_eq(s->uid, uid) &&
            !(e && e->pod && pod_runs(e->pod, s->container, s->run)))
            r->stop(r->self, s->task, true);
}

static const char *pod_address(
    void *self, const struct pod_session_request *request, struct error *err)
{
    struct node *n = self;
    const struct pod *p = find_pod(n, request, err);
    if (!p)
        return NULL;
    return json_get_bool(pod_object(p), "spec.hostNetwork", false) ? n->host.host_ip : pod_ip(p);
}

void node_sessions_init(struct node *n)
{
    n->sessions = (struct pod_session_source){ .open = session_open,
        .write = session_write,
        .end_input = session_end_input,
        .resize = session_resize,
        .resume = session_resume,
        .close = session_close,
        .address = pod_address,
        .self = n };
}

const struct pod_session_source *node_sessions(struct node *n)
{
    return &n->sessions;
}
