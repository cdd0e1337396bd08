#include "http/loop_uv.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static int64_t clock_ms(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Includes the time that the machine slept: a lease that expired meanwhile has expired. */
static int64_t real_mono_ms(void *ctx)
{
    (void)ctx;
    return clock_ms(CLOCK_BOOTTIME);
}

static int64_t real_wall_ms(void *ctx)
{
    (void)ctx;
    return clock_ms(CLOCK_REALTIME);
}

static uint64_t real_random(void *ctx)
{
    (void)ctx;
    uint64_t bits = 0;
    ssize_t got = getrandom(&bits, sizeof(bits), 0);
    assert(got == sizeof(bits));
    return bits;
}

bool loop_fail(struct error *err, int uv_error, const char *what)
{
    return fail_errno(err, -uv_error, "%s", what);
}

static void nothing_to_do(uv_timer_t *t)
{
    (void)t;
}

/* libuv's time is the time of the last return from epoll. */
static void let_gather(struct loop *loop)
{
    int64_t left_ms = loop->gather_ms - (int64_t)(uv_hrtime() / 1000000 - uv_now(&loop->uv));
    bool due = timers_next_ms(&loop->timers) <= env_mono_ms(&loop->env);
    if (left_ms > 0 && !due && !loop->stopped)
        uv_sleep((unsigned)left_ms);
}

/* Timers run here, before the loop waits, so that "0 ms" costs no extra round through epoll. The
 * libuv timer only bounds the wait. */
static void before_waiting(uv_prepare_t *p)
{
    struct loop *loop = p->data;
    bool due = timers_next_ms(&loop->timers) <= env_mono_ms(&loop->env);
    timers_run(&loop->timers, env_mono_ms(&loop->env));
    if (loop->stopped || (due && loop->until))
        uv_stop(&loop->uv); /* polls the descriptors without waiting */
    if (loop->gather_ms)
        let_gather(loop);
    int64_t next_ms = timers_next_ms(&loop->timers);
    if (next_ms == INT64_MAX) {
        uv_timer_stop(&loop->wake);
        return;
    }
    int64_t after_ms = next_ms - env_mono_ms(&loop->env);
    uv_update_time(&loop->uv);
    uv_timer_start(&loop->wake, nothing_to_do, after_ms > 0 ? (uint64_t)after_ms : 0, 0);
}

struct loop *loop_new(void)
{
    struct loop *loop = mem_new_of(struct loop);
    signal(SIGPIPE, SIG_IGN); /* writing to a closed pipe must fail, not kill the process */
    int rc = uv_loop_init(&loop->uv);
    assert(rc == 0);
    loop->env = (struct env){
        .mono_ms = real_mono_ms,
        .wall_ms = real_wall_ms,
        .random = real_random,
        .ctx = loop,
        .timers = &loop->timers,
    };
    uv_timer_init(&loop->uv, &loop->wake);
    uv_prepare_init(&loop->uv, &loop->prepare);
    loop->prepare.data = loop;
    uv_prepare_start(&loop->prepare, before_waiting);
    uv_unref((uv_handle_t *)&loop->prepare);
    return loop;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->prepare, NULL);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&loop->uv);
    assert(rc == 0);
    timers_done(&loop->timers);
    free(loop);
}

const struct env *loop_env(struct loop *loop)
{
    return &loop->env;
}

void loop_gather(struct loop *loop, int64_t ms)
{
    assert(ms >= 0 && ms <= LOOP_GATHER_MAX_MS);
    loop->gather_ms = ms;
}

/* libuv does not know our timers, so its loop must run up to the prepare handle once. */
static void wake_up(struct loop *loop)
{
    uv_timer_start(&loop->wake, nothing_to_do, 0, 0);
}

void loop_run(struct loop *loop)
{
    bool alive = true;
    while (!loop->stopped && alive) {
        wake_up(loop);
        alive = uv_run(&loop->uv, UV_RUN_DEFAULT) || timers_next_ms(&loop->timers) != INT64_MAX;
    }
    loop->stopped = false;
}

void loop_stop(struct loop *loop)
{
    loop->stopped = true;
    uv_stop(&loop->uv);
}

bool loop_run_until(struct loop *loop, bool (*done)(void *ctx), void *ctx, int64_t max_ms)
{
    struct timer limit;
    timer_init(&limit, (void (*)(void *))loop_stop, loop);
    timer_set(&loop->env, &limit, max_ms);
    bool is_done;
    loop->until = true;
    while (!(is_done = done(ctx)) && !loop->stopped) {
        wake_up(loop);
        uv_run(&loop->uv, UV_RUN_ONCE);
    }
    timer_stop(&loop->env, &limit);
    loop->stopped = loop->until = false;
    return is_done;
}

/* ---- file descriptors ---- */

struct loop_watch {
    uv_poll_t poll;
    int events;
    void (*ready)(void *ctx, int events);
    void *ctx;
};

static const struct {
    int ours, uv;
} event_bits[] = {
    { LOOP_READ, UV_READABLE },
    { LOOP_WRITE, UV_WRITABLE },
    { LOOP_HANGUP, UV_DISCONNECT },
};

static void watch_ready(uv_poll_t *poll, int status, int uv_events)
{
    struct loop_watch *w = poll->data;
    int events = status < 0 ? w->events : 0;
    for (size_t i = 0; i < lengthof(event_bits); i++)
        if (uv_events & event_bits[i].uv)
            events |= event_bits[i].ours;
    w->ready(w->ctx, events);
    /* libuv stops a handle on an error, although there may be unread bytes before the error. */
    int wanted = w->events;
    if (status < 0 && wanted && !uv_is_closing((uv_handle_t *)poll) &&
        !uv_is_active((uv_handle_t *)poll)) {
        w->events = 0;
        loop_watch_set(w, wanted);
    }
}

struct loop_watch *loop_watch_new(
    struct loop *loop, int fd, void (*ready)(void *ctx, int events), void *ctx)
{
    struct loop_watch *w = mem_new_of(struct loop_watch);
    w->ready = ready;
    w->ctx = ctx;
    int rc = uv_poll_init(&loop->uv, &w->poll, fd);
    assert(rc == 0);
    w->poll.data = w;
    return w;
}

void loop_watch_set(struct loop_watch *w, int events)
{
    if (events == w->events)
        return;
    w->events = events;
    int uv_events = 0;
    for (size_t i = 0; i < lengthof(event_bits); i++)
        if (events & event_bits[i].ours)
            uv_events |= event_bits[i].uv;
    if (uv_events)
        uv_poll_start(&w->poll, uv_events, watch_ready);
    else
        uv_poll_stop(&w->poll);
}

static void free_handle(uv_handle_t *handle)
{
    free(handle->data);
}

void loop_watch_free(struct loop_watch *w)
{
    if (w)
        uv_close((uv_handle_t *)&w->poll, free_handle);
}

/* ---- names ---- */

struct loop_resolve {
    uv_getaddrinfo_t request;
    struct timer known; /* no thread was needed, or available: reported later */
    const struct env *env;
    int status;
    struct addrinfo *list;
    void (*found)(void *ctx, const struct addrinfo *list, const struct error *err);
    void *ctx;
    char host[256];
};

static void resolve_end(void *ctx)
{
    struct loop_resolve *r = ctx;
    struct error err;
    if (r->found && r->status == 0) {
        r->found(r->ctx, r->list, NULL);
    } else if (r->found) {
        /* "no such name" is temporary: records appear later, and a DNS server can be wrong for a
         * while. */
        fail(&err, ERR_UNAVAILABLE, "resolve %s: %s", r->host, uv_strerror(r->status));
        r->found(r->ctx, NULL, &err);
    }
    uv_freeaddrinfo(r->list);
    free(r);
}

static void resolve_done(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
    struct loop_resolve *r = request->data;
    r->status = status;
    r->list = list;
    resolve_end(r);
}

void loop_set_hosts(struct loop *loop, const char *file)
{
    loop->hosts = file;
}

/* "ADDRESS NAME NAME… # …" */
static bool line_has(char *line, const char *host, char ret[INET6_ADDRSTRLEN])
{
    char *rest = NULL;
    line[strcspn(line, "#\n")] = 0;
    const char *address = strtok_r(line, " \t", &rest), *name;
    while (address && (name = strtok_r(NULL, " \t", &rest)))
        if (strcasecmp(name, host) == 0) {
            snprintf(ret, INET6_ADDRSTRLEN, "%s", address);
            return true;
        }
    return false;
}

static bool find_in_hosts(const char *file, const char *host, char ret[INET6_ADDRSTRLEN])
{
    FILE *in = file ? fopen(file, "re") : NULL;
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    while (in && !found && getline(&line, &size, in) > 0)
        found = line_has(line, host, ret);
    free(line);
    if (in)
        fclose(in);
    return found;
}

struct loop_resolve *loop_resolve(struct loop *loop, const char *host, uint16_t port,
    void (*found)(void *ctx, const struct addrinfo *list, const struct error *err), void *ctx)
{
    struct loop_resolve *r = mem_new_of(struct loop_resolve);
    r->found = found;
    r->ctx = ctx;
    r->env = &loop->env;
    r->request.data = r;
    timer_init(&r->known, resolve_end, r);
    snprintf(r->host, sizeof(r->host), "%s", host);
    char service[8], known[INET6_ADDRSTRLEN];
    if (find_in_hosts(loop->hosts, host, known))
        host = known;
    snprintf(service, sizeof(service), "%u", port);
    struct addrinfo hints = {
        .ai_socktype = SOCK_STREAM,
        .ai_protocol = IPPROTO_TCP,
        .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
    };
    /* An address needs no thread, and most hosts in a cluster are addresses. */
    bool numeric = getaddrinfo(host, service, &hints, &r->list) == 0;
    hints.ai_flags = AI_NUMERICSERV;
    if (!numeric)
        r->status = uv_getaddrinfo(&loop->uv, &r->request, resolve_done, host, service, &hints);
    if (numeric || r->status)
        timer_set(r->env, &r->known, 0);
    return r;
}

void loop_resolve_cancel(struct loop_resolve *r)
{
    r->found = NULL;
    if (timer_is_set(&r->known)) {
        timer_stop(r->env, &r->known);
        resolve_end(r);
    } else {
        /* Fails if a thread has started; then the result is discarded when it arrives. */
        uv_cancel((uv_req_t *)&r->request);
    }
}

/* ---- signals ---- */

struct loop_signal {
    uv_signal_t handle;
    void (*got)(void *ctx, int number);
    void *ctx;
};

static void signal_got(uv_signal_t *handle, int number)
{
    struct loop_signal *s = handle->data;
    s->got(s->ctx, number);
}

struct loop_signal *loop_signal_new(
    struct loop *loop, int number, void (*got)(void *ctx, int number), void *ctx)
{
    struct loop_signal *s = mem_new_of(struct loop_signal);
    s->got = got;
    s->ctx = ctx;
    uv_signal_init(&loop->uv, &s->handle);
    s->handle.data = s;
    int rc = uv_signal_start(&s->handle, signal_got, number);
    assert(rc == 0);
    uv_unref((uv_handle_t *)&s->handle);
    return s;
}

void loop_signal_free(struct loop_signal *s)
{
    if (s)
        uv_close((uv_handle_t *)&s->handle, free_handle);
}

/* ---- blocking work ---- */

struct loop_work {
    uv_work_t request;
    void (*work)(void *ctx);
    void (*done)(void *ctx);
    void *ctx;
};

static void work_run(uv_work_t *request)
{
    struct loop_work *w = request->data;
    w->work(w->ctx);
}

static void work_done(uv_work_t *request, int status)
{
    struct loop_work *w = request->data;
    assert(status == 0);
    w->done(w->ctx);
    free(w);
}

void loop_work(struct loop *loop, void (*work)(void *ctx), void (*done)(void *ctx), void *ctx)
{
    struct loop_work *w = mem_new_of(struct loop_work);
    w->work = work;
    w->done = done;
    w->ctx = ctx;
    w->request.data = w;
    int rc = uv_queue_work(&loop->uv, &w->request, work_run, work_done);
    assert(rc == 0);
}
