#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

/* A call between an operator and the server:
 *
 *   opened ──delay──> arrives ──> served ──> pieces of the answer, each after a delay ──> ended
 *
 * Its faults are drawn when it arrives. The operator's end may close earlier (it cancels, or
 * crashes): the call continues until the server's end has finished. */

#define PIECE_BYTES_MAX ((size_t)64 << 20)
/* How many requests before the crash an old list is from, and how long it is believed. */
#define STALE_REQUESTS 12
#define LATE_MS 2000
/* Longer than a request's timeout: it may arrive when its sender has moved on. */
#define LATE_REQUEST_MS_MAX 40000
#define STALE_MS 20000
#define EVENT_SHOWN 400
#define SKIPS_MAX 5
#define EXPIRED_MS (2 * 60 * 1000)

enum piece_kind { PIECE_HEAD, PIECE_DATA, PIECE_END, PIECE_BREAK };

struct piece {
    struct piece *next;
    enum piece_kind kind;
    int64_t at_ms;
    int status;
    int64_t retry_after_ms;
    size_t length;
    char bytes[];
};

struct call {
    struct sim *sim;
    struct sim_network *network; /* NULL: no receiver any more */
    struct call *next, **link;   /* of the network or sim->adrift; link NULL: neither */
    struct arena arena;
    struct kube_request request;
    const struct kube_handlers *handlers;
    void *ctx;
    struct api_call *api; /* open at the server */
    struct sim_actor actor;
    struct timer arrive;         /* on the world's clock */
    struct timer deliver, limit; /* on the operator's */
    struct piece *first, **last; /* of the answer, in transit */
    int64_t last_at_ms;          /* when the last piece arrives */
    int64_t deadline_ms;         /* of the whole call */
    int64_t lag_ms;              /* the age of the cache that serves it */
    int status;                  /* that arrived */
    const char *answer;          /* that arrived; NULL: none, or a watch's lines */
    bool watch, lost, stalled;
    bool late;      /* its answer is late; events about its change are not */
    bool overtaken; /* the written object is deleted before its answer arrives */
    bool listed;    /* a watch is past its list */
    unsigned skips; /* number of events still to be skipped */
    bool headless;  /* its head and first events came from an old list */
    int64_t led_ms; /* when its sender became the leader */
    bool misled;    /* it had no effect, and its sender could not know that */
};

struct sim_network {
    struct sim_operator *op;
    struct kube_transport transport;
    struct call *calls;
    struct timer snapshot; /* of all its watches, on the world's clock */
    int64_t expired_ms;    /* until then no watch continues from its position */
};

/* ---- ending ---- */

static void link_call(struct call *c, struct call **list)
{
    c->next = *list;
    c->link = list;
    if (c->next)
        c->next->link = &c->next;
    *list = c;
}

static void unlink_call(struct call *c)
{
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    c->link = NULL;
}

static void maybe_free(struct call *c)
{
    if (c->network || c->api || timer_is_set(&c->arrive))
        return;
    if (c->link)
        unlink_call(c);
    for (struct piece *p = c->first, *next; p; p = next) {
        next = p->next;
        free(p);
    }
    arena_done(&c->arena);
    free(c);
}

static void detach(struct call *c)
{
    if (!c->network)
        return;
    const struct env *env = &c->network->op->env;
    timer_stop(env, &c->deliver);
    timer_stop(env, &c->limit);
    unlink_call(c);
    c->network = NULL;
    if (timer_is_set(&c->arrive))
        link_call(c, &c->sim->adrift);
}

/* Closes the operator's end; a stream at the server ends with it. */
static void hang_up(struct call *c)
{
    detach(c);
    if (c->api && c->watch) {
        apiserver_cancel(c->sim->server, c->api);
        c->api = NULL;
    }
    maybe_free(c);
}

static void break_off(struct call *c, enum error_code code, const char *what)
{
    const struct kube_handlers *handlers = c->handlers;
    void *ctx = c->ctx;
    struct error err;
    fail(&err, code, "%s %s: %s", c->request.method, c->request.path, what);
    hang_up(c);
    handlers->end(ctx, &err, true);
}

/* ---- the answer in transit ---- */

static void deliver_next(struct call *c)
{
    if (!c->network || !c->first)
        return;
    int64_t wait = c->first->at_ms - c->sim->now_ms;
    timer_set(&c->network->op->env, &c->deliver, wait > 0 ? wait : 0);
}

static struct piece *piece_add(struct call *c, enum piece_kind kind, struct str bytes)
{
    struct piece *p = mem_new(sizeof(*p) + bytes.len);
    struct sim *s = c->sim;
    p->length = bytes.len;
    if (bytes.len)
        memcpy(p->bytes, bytes.ptr, bytes.len);
    int64_t delay = sim_below(s, SIM_NETWORK, 20);
    if (!s->quiet && sim_chance(s, SIM_FAULTS, s->options.rates.slow))
        delay += sim_below(s, SIM_FAULTS, 8000);
    int64_t at = (s->server_wakes_ms > s->now_ms ? s->server_wakes_ms : s->now_ms) + delay;
    if (kind != PIECE_BREAK)
        at += c->lag_ms;
    p->kind = kind;
    p->at_ms = c->last_at_ms = at > c->last_at_ms ? at : c->last_at_ms;
    *c->last = p;
    c->last = &p->next;
    if (c->first == p)
        deliver_next(c);
    return p;
}

/* The call may take this long, and be silent for this long. */
static void set_limit(struct call *c)
{
    int64_t left = c->deadline_ms - c->sim->now_ms;
    if (c->request.idle_ms && c->request.idle_ms < left)
        left = c->request.idle_ms;
    if (left < INT64_MAX / 2)
        timer_set(&c->network->op->env, &c->limit, left > 0 ? left : 0);
}

static void limit(void *ctx)
{
    break_off(ctx, ERR_TIMEOUT, "no answer in time");
}

/* Records what the receiver learns from an answer. */
static void hear(const struct call *c)
{
    struct sim *s = c->sim;
    struct sim_operator *o = c->network->op;
    struct str answer = str_of(c->answer);
    sim_wakes_answered(s->wakes, o, c->request.path, c->status, answer);
    sim_check_heard(s->writes, o, c->request.method, c->request.path, sim_version_in(answer));
    if (text_eq(c->request.method, "GET"))
        return;
    o->misled += c->misled;
    sim_causes_heard(s->causes,
        &(struct sim_request){ c->actor, c->request.method, c->request.path, c->request.body },
        c->status,
        answer);
    if (!text_eq(c->request.method, "DELETE"))
        sim_wakes_told(s->wakes, o, c->request.path, answer);
}

/* The call may be gone when it returns. */
static void deliver_lines(struct call *c, struct str lines)
{
    struct sim *s = c->sim;
    const struct sim_operator *o = c->network->op;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *path = arena_strdup(&a, c->request.path);
    bool news = c->status != 200 || sim_wakes_news(s->wakes, o, path, lines);
    uint64_t wakes = sim_operator_wakes(o);
    c->handlers->data(c->ctx, lines);
    if (!news && sim_operator_wakes(o) != wakes)
        sim_fail(s,
            "promise 3, wake: %s is woken by an event that says nothing new: %.*s",
            o->name,
            (int)(lines.len < EVENT_SHOWN ? lines.len : EVENT_SHOWN),
            lines.ptr);
}

static void deliver(void *ctx)
{
    struct call *c = ctx;
    struct piece *p = c->first;
    c->first = p->next;
    if (!c->first)
        c->last = &c->first;
    const struct kube_handlers *handlers = c->handlers;
    void *to = c->ctx;
    switch (p->kind) {
    case PIECE_BREAK:
        break_off(c, ERR_UNAVAILABLE, "the connection was lost");
        break;
    case PIECE_END:
        if (c->answer)
            hear(c);
        hang_up(c);
        handlers->end(to, NULL, true);
        break;
    case PIECE_HEAD:
    case PIECE_DATA:
        set_limit(c);
        deliver_next(c);
        if (p->kind == PIECE_HEAD)
            c->status = p->status;
        if (c->watch && p->kind == PIECE_HEAD && c->status == 200 &&
            strstr(c->request.path, "sendInitialEvents=true"))
            sim_wakes_list(c->sim->wakes, c->network->op, c->request.path);
        if (p->kind == PIECE_HEAD && (c->status == 200 || c->status == 403) &&
            (c->watch || strstr(c->request.path, "?limit=")))
            sim_wakes_forbid(c->sim->wakes, c->network->op, c->request.path, c->status == 403);
        if (c->watch && c->status == 404)
            sim_wakes_forget(c->sim->wakes, c->network->op, c->request.path);
        if (p->kind == PIECE_DATA && !c->watch)
            c->answer = arena_printf(
                &c->arena, "%s%.*s", c->answer ? c->answer : "", (int)p->length, p->bytes);
        if (p->kind == PIECE_HEAD)
            handlers->head(
                to, &(struct kube_head){ p->status, p->retry_after_ms, "application/json", NULL });
        else if (c->watch)
            deliver_lines(c, (struct str){ p->bytes, p->length });
        else
            handlers->data(to, (struct str){ p->bytes, p->length });
        break;
    }
    free(p);
}

/* ---- the server's side ---- */

static bool faulty(struct call *c, uint16_t rate)
{
    struct sim *s = c->sim;
    if (s->quiet || !sim_chance(s, SIM_FAULTS, rate))
        return false;
    s->injected++;
    return true;
}

static void api_head(void *ctx, const struct api_head *head)
{
    struct call *c = ctx;
    c->sim->request_status = head->status;
    if (c->headless) {
        if (head->status != 200)
            c->stalled = true; /* too old to continue: it receives nothing more */
    } else if (c->network && !c->lost) {
        struct piece *p = piece_add(c, PIECE_HEAD, (struct str){ 0 });
        p->status = head->status;
        p->retry_after_ms = head->retry_after_s * 1000;
    }
}

/* Events that the server loses; its next event is newer. */
static bool is_skipped(struct call *c, struct str bytes)
{
    if (!c->watch || memmem(bytes.ptr, bytes.len, "\"BOOKMARK\"", 10)) {
        c->listed = true;
        c->skips = 0;
    }
    if (!c->listed)
        c->listed = !strstr(c->request.path, "sendInitialEvents=true");
    if (c->listed && !c->skips && c->watch && faulty(c, c->sim->options.rates.stream_skip)) {
        c->skips = 1 + sim_below(c->sim, SIM_FAULTS, SKIPS_MAX);
        sim_history_add(c->sim->history, c->actor.name, "  ~ stream skips: %s", c->request.path);
    }
    if (!c->skips)
        return false;
    c->skips--;
    return true;
}

static bool api_data(void *ctx, struct str bytes)
{
    struct call *c = ctx;
    if (!c->network || c->lost || c->stalled || is_skipped(c, bytes))
        return true;
    if (c->watch && faulty(c, c->sim->options.rates.stream_stall)) {
        c->stalled = true;
        sim_history_add(c->sim->history, c->actor.name, "  ~ stream stalls: %s", c->request.path);
        return true;
    }
    piece_add(c, PIECE_DATA, bytes);
    if (c->watch && faulty(c, c->sim->options.rates.stream_twice))
        piece_add(c, PIECE_DATA, bytes);
    if (c->watch && faulty(c, c->sim->options.rates.stream_cut)) {
        sim_history_add(c->sim->history, c->actor.name, "  ~ stream is cut: %s", c->request.path);
        piece_add(c, PIECE_BREAK, (struct str){ 0 });
        c->lost = true;
    }
    return true;
}

static void api_end(void *ctx)
{
    struct call *c = ctx;
    c->api = NULL;
    if (c->network && !c->lost && !c->stalled)
        piece_add(c, PIECE_END, (struct str){ 0 });
    maybe_free(c);
}

static const struct api_handlers api_handlers = { api_head, api_data, api_end };

static const struct api_user user = {
    .name = "system:serviceaccount:leeboard-system:leeboard",
    .uid = "",
    .groups = (const char *const[]){ "system:serviceaccounts", "system:authenticated", NULL },
};

/* The server's changes are checked before another client acts. */
static void serve(struct call *c, const struct api_handlers *handlers, bool again)
{
    struct sim *s = c->sim;
    struct str target = str_of(c->request.path), plain = str_cut(&target, '?');
    bool watch = c->watch, overtaken = c->overtaken, heard = c->network;
    cleanup(arena_done) struct arena a = ARENA_INIT; /* the call may be gone after the flush */
    sim_flush(s);
    s->request = (struct sim_request){ c->actor,
        arena_strdup(&a, c->request.method),
        arena_strdup(&a, c->request.path),
        str_of(arena_strdup(&a, c->request.body.ptr)),
        .led_ms = c->led_ms };
    s->request_changes = 0;
    s->request_status = 0;
    s->requests++;
    struct api_call *api = apiserver_open(s->server,
        &(struct api_request){
            .method = s->request.method,
            .path = plain,
            .query = target,
            .content_type = c->request.content_type,
            .accept = c->request.accept,
            .user_agent = "leeboard",
            .body = c->request.body,
            .user = &user,
        },
        handlers,
        c);
    if (handlers == &api_handlers)
        c->api = api;
    apiserver_flush(s->server);
    if (!watch) {
        bool skip = s->request_status < 300 && sim_history_skips(s->request.path);
        if (!skip)
            sim_history_add(s->history,
                s->request.actor.name,
                "%s %.*s -> %d",
                s->request.method,
                (int)strcspn(s->request.path, "?"),
                s->request.path,
                s->request_status);
        bool misled = again || sim_check_request(
                                   s->checks, &s->request, s->request_status, s->request_changes);
        if (heard) /* else it may be gone */
            c->misled = misled;
    }
    if (overtaken)
        sim_ask(s,
            "person",
            "DELETE",
            arena_strndup(&a, s->request.path, strcspn(s->request.path, "?")),
            NULL,
            json_none,
            NULL,
            NULL);
    s->request = (struct sim_request){ .actor.name = "server" };
}

static void unheard_head(void *ctx, const struct api_head *head)
{
    ((struct call *)ctx)->sim->request_status = head->status;
}

static bool unheard_data(void *ctx, struct str bytes)
{
    (void)ctx, (void)bytes;
    return true;
}

static void unheard_end(void *ctx)
{
    (void)ctx;
}

static const struct api_handlers unheard_handlers = { unheard_head, unheard_data, unheard_end };

/* An answer from a proxy in front of the server. */
static void answer(
    struct call *c, int status, const char *reason, const char *message, int64_t retry_after_ms)
{
    sim_history_add(
        c->sim->history, c->actor.name, "%s %s ~> %d", c->request.method, c->request.path, status);
    if (!c->network)
        return;
    struct piece *p = piece_add(c, PIECE_HEAD, (struct str){ 0 });
    p->status = status;
    p->retry_after_ms = retry_after_ms;
    struct json body = json_fields(&c->arena,
        { "kind", json_str("Status") },
        { "apiVersion", json_str("v1") },
        { "status", json_str("Failure") },
        { "reason", json_str(reason) },
        { "message", json_str_or_absent(message) },
        { "code", json_int(status) });
    piece_add(c, PIECE_DATA, str_of(json_to_text(&c->arena, body)));
    piece_add(c, PIECE_END, (struct str){ 0 });
}

/* A permission that is withdrawn for good, in worlds whose end state need not match a calm one. */
static bool is_withheld(const struct call *c)
{
    static const char *const plurals[] = { "/deployments/",
        "/services/",
        "/configmaps/",
        "/jobs/",
        "/horizontalpodautoscalers/",
        "/roles/",
        "/serviceaccounts/" };
    const struct sim_options *o = &c->sim->options;
    return o->rates.withheld && !o->heals && c->sim->now_ms > o->faults_ms / 2 &&
           !text_eq(c->request.method, "GET") &&
           strstr(c->request.path, plurals[o->rates.withheld % lengthof(plurals)]);
}

/* Permissions for one resource are withdrawn, for up to a minute, in one namespace or in all. */
static bool is_forbidden(struct call *c)
{
    static const char *const plurals[] = { "/deployments",
        "/services",
        "/models",
        "/modelservices",
        "/modelartifacts",
        "/inferenceservices",
        "/secrets",
        "/configmaps",
        "/persistentvolumeclaims",
        "/jobs",
        "/customresourcedefinitions",
        "/events",
        "/leases",
        "/clusterrole" };
    static const char *const places[] = { "", "", "/sim-a/", "/sim-b/" };
    struct sim *s = c->sim;
    if (faulty(c, s->options.rates.forbidden) && s->forbidden_until_ms < s->now_ms) {
        s->forbidden = plurals[sim_below(s, SIM_FAULTS, lengthof(plurals))];
        s->forbidden_in = places[sim_below(s, SIM_FAULTS, lengthof(places))];
        s->forbidden_until_ms = s->now_ms + sim_below(s, SIM_FAULTS, 60000);
    }
    return is_withheld(c) ||
           (!s->quiet && s->forbidden && s->now_ms < s->forbidden_until_ms &&
               strstr(c->request.path, s->forbidden) && strstr(c->request.path, s->forbidden_in));
}

/* A watch that would continue after lost events. */
static bool is_expired(const struct call *c)
{
    return c->network && c->sim->now_ms < c->network->expired_ms &&
           !strstr(c->request.path, "sendInitialEvents=true");
}

/* An old list now, and the events since then some seconds later. */
static void answer_stale(struct call *c)
{
    struct sim *s = c->sim;
    struct str list;
    const char *path;
    if (!c->network || s->now_ms >= c->actor.op->stale_until_ms ||
        !sim_stale_use(s->stale, c->request.path, &c->arena, &list, &path))
        return;
    sim_history_add(s->history, c->actor.name, "  ~ an old list: %s", c->request.path);
    piece_add(c, PIECE_HEAD, (struct str){ 0 })->status = 200;
    piece_add(c, PIECE_DATA, list);
    c->request.path = path;
    c->headless = true;
    c->last_at_ms = c->actor.op->stale_until_ms;
}

static void forbid(struct call *c)
{
    c->sim->forbade = true;
    answer(c, 403, "Forbidden", "forbidden: rights were withdrawn", 0);
}

static enum sim_mishap mishap(struct call *c)
{
    struct sim_request request = { c->actor, c->request.method, c->request.path, c->request.body };
    enum sim_mishap what = sim_mishap_at(c->sim, &request);
    if (what == SIM_MISHAP_LATE)
        timer_set(&c->sim->env, &c->arrive, LATE_REQUEST_MS_MAX);
    c->overtaken |= what == SIM_MISHAP_DELETED;
    c->late |= what == SIM_MISHAP_DELETED || what == SIM_MISHAP_END;
    if (what == SIM_MISHAP_END)
        sim_operator_end(c->actor.op, LATE_MS / 2);
    return what;
}

static void arrive(void *ctx)
{
    struct call *c = ctx;
    struct sim *s = c->sim;
    const struct sim_rates *r = &s->options.rates;
    if (s->now_ms < s->server_wakes_ms) {
        timer_set(&s->env, &c->arrive, s->server_wakes_ms - s->now_ms);
        return;
    }
    if (faulty(c, r->server_crash))
        timer_set(&s->env, &s->server_crash, 0);
    if (c->watch && faulty(c, r->stream_lag))
        c->lag_ms = sim_below(s, SIM_FAULTS, 60000);
    if (faulty(c, r->request_lost)) {
        sim_history_add(
            s->history, c->actor.name, "%s %s ~> lost", c->request.method, c->request.path);
        if (c->network)
            piece_add(c, PIECE_BREAK, (struct str){ 0 });
    } else if (faulty(c, r->busy)) {
        answer(c, 429, "TooManyRequests", NULL, 1000 * (1 + sim_below(s, SIM_FAULTS, 5)));
    } else if (faulty(c, r->failing)) {
        answer(c, sim_below(s, SIM_FAULTS, 2) ? 500 : 503, "InternalError", NULL, 0);
    } else if (faulty(c, r->astray)) {
        answer(c, 404, "NotFound", "the server could not find the requested resource", 0);
    } else if (is_forbidden(c)) {
        forbid(c);
    } else if (c->watch && (faulty(c, r->stream_gone) || is_expired(c))) {
        answer(c, 410, "Expired", NULL, 0);
    } else {
        enum sim_mishap what = mishap(c);
        bool lose = what == SIM_MISHAP_LOST ||
                    (c->actor.op->sent == s->options.at[SIM_LOSE_AT] && s->options.at[SIM_LOSE_AT]);
        if (what == SIM_MISHAP_LATE)
            return;
        if (what == SIM_MISHAP_FORBIDDEN) {
            forbid(c);
            maybe_free(c);
            return;
        }
        if (!c->watch && (lose || faulty(c, r->answer_lost))) {
            sim_history_add(s->history, c->actor.name, "~ the next answer is lost");
            c->lost = true;
            if (c->network)
                piece_add(c, PIECE_BREAK, (struct str){ 0 });
        }
        if (c->watch)
            answer_stale(c);
        if (c->late)
            c->last_at_ms = s->now_ms + LATE_MS;
        bool again = !c->watch && faulty(c, r->repeated);
        if (again)
            serve(c, &unheard_handlers, false);
        serve(c, &api_handlers, again);
        return; /* the call may be gone */
    }
    maybe_free(c);
}

/* ---- the operator's side ---- */

static struct kube_call *network_open(
    void *self, const struct kube_request *request, const struct kube_handlers *handlers, void *ctx)
{
    struct sim_network *n = self;
    struct sim_operator *o = n->op;
    struct sim *s = o->sim;
    struct call *c = mem_new_of(struct call);
    arena_init(&c->arena, PIECE_BYTES_MAX);
    c->sim = s;
    c->network = n;
    c->handlers = handlers;
    c->ctx = ctx;
    c->actor = (struct sim_actor){ o->name, o };
    c->led_ms = o->led_ms;
    c->last = &c->first;
    c->request = (struct kube_request){
        .method = arena_strdup(&c->arena, request->method),
        .path = arena_strdup(&c->arena, request->path),
        .content_type = arena_strdup(&c->arena, request->content_type),
        .accept = arena_strdup(&c->arena, request->accept),
        .body = str_of(request->body.ptr
                           ? arena_strndup(&c->arena, request->body.ptr, request->body.len)
                           : NULL),
        .idle_ms = request->idle_ms,
    };
    c->deadline_ms = request->timeout_ms ? s->now_ms + request->timeout_ms : INT64_MAX;
    c->watch = strstr(request->path, "watch=true") || strstr(request->path, "watch=1");
    link_call(c, &n->calls);
    timer_init(&c->arrive, arrive, c);
    timer_init(&c->deliver, deliver, c);
    timer_init(&c->limit, limit, c);
    set_limit(c);
    if (o->dying)
        return (struct kube_call *)c;
    int64_t way_ms = 1 + sim_below(s, SIM_NETWORK, 20);
    if (!c->watch && faulty(c, s->options.rates.slow))
        way_ms += sim_below(s, SIM_FAULTS, LATE_REQUEST_MS_MAX);
    timer_set(&s->env, &c->arrive, way_ms);
    o->sent++;
    sim_check_sent(s->checks, o, c->request.method, c->request.path);
    sim_check_based(s->writes,
        o,
        &(struct sim_request){ c->actor, c->request.method, c->request.path, c->request.body });
    const struct sim_rates *r = &s->options.rates;
    if (faulty(c, r->clock_jump))
        o->skew_ms = sim_operator_skew(s);
    /* Children only, by name; deletions of the person's own objects are up to the person. */
    c->overtaken = o->sent == s->options.at[SIM_DELETE_AT] && text_eq(c->request.method, "PATCH") &&
                   !strstr(c->request.path, "/status") && !strstr(c->request.path, "/events/");
    c->late = c->overtaken || o->sent == s->options.at[SIM_END_AT];
    if (o->sent == s->options.at[SIM_RIVAL_AT])
        timer_set(&s->env, &s->rival, 0);
    if (s->options.at[SIM_STALE_AT] && o->sent + STALE_REQUESTS == s->options.at[SIM_STALE_AT])
        timer_set(&s->env, &n->snapshot, 0);
    if (s->options.at[SIM_STALE_AT] && o->sent == s->options.at[SIM_STALE_AT])
        o->stale_until_ms = s->now_ms + STALE_MS;
    if (o->sent == s->options.at[SIM_END_AT])
        sim_operator_end(o, LATE_MS / 2);
    else if (o->sent == s->options.at[SIM_STALE_AT] || o->sent == s->options.at[SIM_CRASH_AT] ||
             (!s->quiet && sim_chance(s, SIM_FAULTS, r->crash)))
        sim_operator_crash(o, sim_below(s, SIM_FAULTS, 20000));
    else if (!s->quiet &&
             sim_chance(s, SIM_FAULTS, text_eq(c->request.method, "GET") ? r->pause : 3 * r->pause))
        sim_operator_pause(o, sim_below(s, SIM_FAULTS, 60000));
    return (struct kube_call *)c;
}

static void network_cancel(void *self, struct kube_call *call)
{
    struct sim_network *n = self;
    struct call *c = (struct call *)call;
    if (c->watch) /* a reload: it does not need its old data any more */
        sim_wakes_forget(n->op->sim->wakes, n->op, c->request.path);
    hang_up(c);
}

static void snapshot(void *ctx)
{
    struct sim_network *n = ctx;
    for (const struct call *c = n->calls; c; c = c->next)
        if (c->watch && strstr(c->request.path, "sendInitialEvents=true"))
            sim_stale_take(n->op->sim->stale, c->request.path);
}

struct sim_network *sim_network_new(struct sim_operator *o)
{
    struct sim_network *n = mem_new_of(struct sim_network);
    timer_init(&n->snapshot, snapshot, n);
    n->op = o;
    n->transport = (struct kube_transport){ network_open, network_cancel, n };
    return n;
}

const struct kube_transport *sim_network_transport(struct sim_network *n)
{
    return &n->transport;
}

void sim_network_disconnect(struct sim_network *n)
{
    for (struct call *c = n->calls; c; c = c->next)
        if (c->api) {
            apiserver_cancel(c->sim->server, c->api);
            c->api = NULL;
            if (!c->stalled)
                piece_add(c, PIECE_BREAK, (struct str){ 0 });
        }
}

void sim_network_expire(struct sim_network *n)
{
    n->expired_ms = n->op->sim->now_ms + EXPIRED_MS;
    for (struct call *c = n->calls; c; c = c->next)
        if (c->watch && c->api) {
            apiserver_cancel(c->sim->server, c->api);
            c->api = NULL;
            piece_add(c, PIECE_BREAK, (struct str){ 0 });
        }
}

void sim_network_lag(struct sim_network *n, const char *part, int64_t lag_ms)
{
    for (struct call *c = n->calls; c; c = c->next)
        if (c->watch && strstr(c->request.path, part))
            c->lag_ms = lag_ms;
}

void sim_network_end(struct sim *s)
{
    while (s->adrift) {
        struct call *c = s->adrift;
        timer_stop(&s->env, &c->arrive);
        c->api = NULL; /* the server is down */
        maybe_free(c);
    }
}

void sim_network_free(struct sim_network *n)
{
    timer_stop(&n->op->sim->env, &n->snapshot);
    while (n->calls)
        hang_up(n->calls);
    free(n);
}
