#include "kube/lease.h"

#include "base/buf.h"
#include "kube/client.h"
#include "tests/kube/world.h"

/* A server that knows one Lease and compares and swaps, and processes that want it. Each process
 * has a world (a clock, a wire) of its own; all clocks are moved together. */

struct server {
    struct json lease; /* absent: none */
    int version;
    int writes;
};

struct process {
    struct world w;
    struct server *server;
    struct kube_client *client;
    struct lease *lease;
    struct buf told;
    struct error err;
    int64_t latency_ms; /* of a request; as much again of its answer */
    bool cut;           /* no request arrives */
    bool deaf;          /* requests arrive, answers do not */
};

static void on_gained(void *ctx)
{
    struct process *p = ctx;
    buf_add_text(&p->told, "gained ");
    check(lease_may_write(p->lease));
}

static void on_lost(void *ctx, const struct error *why)
{
    struct process *p = ctx;
    buf_add_text(&p->told, "lost ");
    p->err = *why;
    check(!lease_may_write(p->lease));
}

static void on_holder(void *ctx, const char *holder)
{
    buf_printf(&((struct process *)ctx)->told, "holder:%s ", holder);
}

static void on_trouble(void *ctx, const struct error *err)
{
    ((struct process *)ctx)->err = *err;
}

static void on_released(void *ctx)
{
    buf_add_text(&((struct process *)ctx)->told, "released ");
}

static const struct lease_handlers handlers = {
    on_gained, on_lost, on_holder, on_trouble, on_released
};

static void process_init(struct process *p, struct server *s, const char *identity)
{
    *p = (struct process){ .server = s, .told = BUF_INIT(100000), .latency_ms = 5 };
    world_init(&p->w);
    p->w.seed = (uint64_t)identity[0];
    p->client = kube_client_new(&p->w.transport, &p->w.env);
    p->lease = lease_new(p->client,
        &p->w.env,
        &(struct lease_options){ .ns = "ns", .identity = identity },
        &handlers,
        p);
    lease_start(p->lease);
}

static void process_done(struct process *p)
{
    lease_free(p->lease);
    kube_client_free(p->client);
    world_done(&p->w);
    buf_done(&p->told);
}

static void answer(struct world_call *c, int status, struct json body)
{
    struct json none = test_json("{'kind': 'Status', 'status': 'Failure'}");
    world_answer(c, status, json_to_text(test_arena(), json_present(body) ? body : none));
}

static void store(struct server *s, struct json lease)
{
    struct arena *a = test_arena();
    s->version++;
    s->writes++;
    s->lease = json_with(
        a, json_copy(a, lease), "metadata.resourceVersion", json_strf(a, "%d", s->version));
}

/* What the server does with a request; its answer waits in the call. */
static void serve(struct server *s, struct world_call *c, bool deliver)
{
    struct json body = { 0 }, result = { 0 };
    int status = 200;
    if (*c->body)
        body = test_json(c->body);
    const char *version = json_get_text(body, "metadata.resourceVersion");
    if (text_eq(c->method, "GET")) {
        status = json_present(s->lease) ? 200 : 404;
        result = s->lease;
    } else if (text_eq(c->method, "POST")) {
        check_text(c->path,
            "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
            "?fieldManager=leeboard&fieldValidation=Warn");
        status = json_present(s->lease) ? 409 : 201;
        if (status == 201)
            store(s, body);
        result = status == 201 ? s->lease : result;
    } else {
        check_text(c->method, "PUT");
        bool same = text_eq(version, json_get_text(s->lease, "metadata.resourceVersion"));
        status = !json_present(s->lease) ? 404 : same ? 200 : 409;
        if (status == 200)
            store(s, body);
        result = status == 200 ? s->lease : result;
    }
    if (deliver)
        answer(c, status, result);
    else
        c->seen = true;
}

/* One tick of 5 ms for a process that runs. */
static void tick(struct process *p)
{
    world_advance(&p->w, 5);
    for (struct world_call *c = p->w.calls; c; c = c->next) {
        if (c->seen || p->cut || p->w.now_ms - c->opened_at_ms < p->latency_ms)
            continue;
        serve(p->server, c, !p->deaf);
        break; /* the list has changed; the next tick goes on */
    }
}

/* Runs both (b may be NULL) and checks the promise at every tick. */
static void run(struct process *a, struct process *b, int64_t ms)
{
    for (int64_t t = 0; t < ms; t += 5) {
        tick(a);
        if (b)
            tick(b);
        if (b && lease_may_write(a->lease) && lease_may_write(b->lease))
            test_fail(__FILE__, __LINE__, "both may write");
    }
}

#define check_told(p, want)                                                                        \
    do {                                                                                           \
        check_text(buf_text(&(p)->told), want);                                                    \
        buf_reset(&(p)->told);                                                                     \
    } while (0)

TEST(the_first_one_makes_the_lease_and_leads)
{
    struct server s = { 0 };
    struct process a;
    process_init(&a, &s, "a");
    check(!lease_may_write(a.lease));
    run(&a, NULL, 100);
    check_told(&a, "holder:a gained ");
    check_int(lease_state(a.lease), LEASE_LEADING);
    check_text(json_get_text(s.lease, "metadata.name"), LEASE_NAME_DEFAULT);
    check_text(json_get_text(s.lease, "spec.holderIdentity"), "a");
    check_int(json_get_int(s.lease, "spec.leaseDurationSeconds", 0), 15);
    check_int(json_get_int(s.lease, "spec.leaseTransitions", -1), 0);
    const char *acquired = json_get_text(s.lease, "spec.acquireTime");
    check_int(strlen(acquired), strlen("2026-11-15T00:16:40.005000Z"));
    s.lease = json_with(test_arena(), s.lease, "metadata.labels.mine", json_str("x"));
    run(&a, NULL, 60000);
    check_told(&a, "");
    check(s.writes > 24 && s.writes < 32);
    check_text(json_get_text(s.lease, "spec.acquireTime"), acquired);
    check(!text_eq(json_get_text(s.lease, "spec.renewTime"), acquired));
    process_done(&a);
}

TEST(the_second_one_waits_until_the_lease_has_not_changed_for_its_duration)
{
    struct server s = { 0 };
    struct process a, b;
    process_init(&a, &s, "a");
    process_init(&b, &s, "b");
    b.w.now_ms += 123456789; /* clocks need not agree */
    run(&a, &b, 60000);
    check_told(&a, "holder:a gained ");
    check_told(&b, "holder:a ");
    a.cut = true;
    int64_t from_ms = a.w.now_ms;
    while (lease_state(b.lease) == LEASE_STANDBY)
        run(&a, &b, 5);
    check_told(&a, "lost ");
    check_told(&b, "holder:b gained ");
    int64_t took_ms = a.w.now_ms - from_ms;
    check(took_ms >= 12000 && took_ms <= 18000);
    check_int(lease_transitions(b.lease), 1);
    process_done(&a);
    process_done(&b);
}

TEST(who_hears_nothing_stops_before_another_may_take_over)
{
    struct server s = { 0 };
    struct process a, b;
    process_init(&a, &s, "a");
    process_init(&b, &s, "b");
    run(&a, &b, 20000);
    /* Its renewals arrive (the worst case for the others), but it is never told. */
    a.deaf = true;
    int64_t from_ms = a.w.now_ms;
    while (lease_may_write(a.lease))
        run(&a, &b, 5);
    check(a.w.now_ms - from_ms <= 10000);
    run(&a, &b, 10);
    check(strstr(buf_text(&a.told), "lost"));
    check_text(a.err.text,
        "lease ns/882d6afe.llmkube.dev: no renewal was acknowledged for 10 s: lease "
        "ns/882d6afe.llmkube.dev: no answer for 5000 ms");
    a.cut = true;
    run(&a, &b, 30000);
    check_int(lease_state(b.lease), LEASE_LEADING);
    process_done(&a);
    process_done(&b);
}

TEST(answers_that_take_long_shorten_the_time_to_write)
{
    struct server s = { 0 };
    struct process a;
    process_init(&a, &s, "a");
    a.latency_ms = 4000;
    run(&a, NULL, 13000);
    check_told(&a, "holder:a gained ");
    /* Acknowledged now, but sent four seconds ago: six are left. */
    a.cut = true;
    int64_t writes_ms = 0;
    check(lease_left_ms(a.lease) > 0 && lease_left_ms(a.lease) <= 6000);
    while (lease_may_write(a.lease)) {
        run(&a, NULL, 5);
        writes_ms += 5;
    }
    check(writes_ms <= 6000);
    process_done(&a);
}

TEST(a_process_that_was_stopped_past_its_lease_sends_nothing_more)
{
    struct server s = { 0 };
    struct process a, b;
    process_init(&a, &s, "a");
    process_init(&b, &s, "b");
    run(&a, &b, 30000);
    buf_reset(&a.told);
    /* Stopped, for longer than the lease or just longer than the deadline. */
    for (int64_t t = 0; t < 40000; t += 5) {
        world_stop(&a.w, 5);
        tick(&b);
    }
    check_int(lease_state(b.lease), LEASE_LEADING);
    unsigned opened = a.w.opened;
    check(!lease_may_write(a.lease)); /* before any of its timers has run */
    world_advance(&a.w, 0);
    check_told(&a, "lost ");
    run(&a, &b, 10000);
    check_int(a.w.opened, opened);
    check(lease_may_write(b.lease));
    process_done(&a);
    process_done(&b);
}

TEST(an_acknowledgement_that_was_read_too_late_does_not_count)
{
    struct server s = { 0 };
    struct process a;
    process_init(&a, &s, "a");
    run(&a, NULL, 30000);
    while (!a.w.calls)
        tick(&a);
    world_stop(&a.w, 11000); /* the answer lies in the socket all the while */
    serve(&s, a.w.calls, true);
    check(!lease_may_write(a.lease));
    check_int(lease_state(a.lease), LEASE_LOST);
    process_done(&a);
}

TEST(a_lease_taken_by_force_is_lost_at_once)
{
    struct server s = { 0 };
    struct process a;
    process_init(&a, &s, "a");
    run(&a, NULL, 1000);
    store(&s, json_with(test_arena(), s.lease, "spec.holderIdentity", json_str("thief")));
    buf_reset(&a.told);
    run(&a, NULL, 3000);
    check_told(&a, "holder:thief lost ");
    check_text(a.err.text, "lease ns/882d6afe.llmkube.dev was taken by thief");
    check_text(json_get_text(s.lease, "spec.holderIdentity"), "thief");
    process_done(&a);
}

TEST(a_label_that_somebody_adds_costs_one_look_and_stays)
{
    struct server s = { 0 };
    struct process a;
    process_init(&a, &s, "a");
    run(&a, NULL, 1000);
    store(&s, json_with(test_arena(), s.lease, "metadata.labels.x", json_str("y")));
    buf_reset(&a.told);
    run(&a, NULL, 20000);
    check_told(&a, "");
    check(lease_may_write(a.lease));
    check_text(json_get_text(s.lease, "metadata.labels.x"), "y");
    process_done(&a);
}

TEST(a_lease_that_was_deleted_comes_back)
{
    struct server s = { 0 };
    struct process a;
    process_init(&a, &s, "a");
    run(&a, NULL, 1000);
    s.lease = json_none;
    run(&a, NULL, 5000);
    check(lease_may_write(a.lease));
    check_text(json_get_text(s.lease, "spec.holderIdentity"), "a");
    process_done(&a);
}

TEST(a_released_lease_is_taken_within_a_retry)
{
    struct server s = { 0 };
    struct process a, b;
    process_init(&a, &s, "a");
    process_init(&b, &s, "b");
    run(&a, &b, 10000);
    buf_reset(&a.told);
    buf_reset(&b.told);
    lease_release(a.lease);
    check(!lease_may_write(a.lease));
    check_told(&a, ""); /* not inside the call */
    run(&a, NULL, 50);
    check_told(&a, "holder: released ");
    check_text(json_get_text(s.lease, "spec.holderIdentity"), "");
    check_int(json_get_int(s.lease, "spec.leaseDurationSeconds", 0), 1);
    run(&a, &b, 2500);
    check(strstr(buf_text(&b.told), "gained"));
    check_int(lease_transitions(b.lease), 1);
    process_done(&a);
    process_done(&b);
}

TEST(a_release_with_a_renewal_under_way_looks_first)
{
    struct server s = { 0 };
    struct process a;
    process_init(&a, &s, "a");
    run(&a, NULL, 1000);
    while (!a.w.calls)
        tick(&a);
    serve(&s, a.w.calls, false); /* the server took it, the answer is on its way */
    lease_release(a.lease);
    run(&a, NULL, 100);
    check_text(json_get_text(s.lease, "spec.holderIdentity"), "");
    check_int(lease_state(a.lease), LEASE_RELEASED);
    process_done(&a);
}

TEST(a_release_before_the_first_answer_gives_back_what_was_taken_meanwhile)
{
    struct server s = { 0 };
    struct process a;
    process_init(&a, &s, "a");
    while (!a.w.calls || text_eq(a.w.calls->method, "GET"))
        tick(&a);
    serve(&s, a.w.calls, false);
    check_text(json_get_text(s.lease, "spec.holderIdentity"), "a");
    lease_release(a.lease);
    run(&a, NULL, 100);
    check_text(json_get_text(s.lease, "spec.holderIdentity"), "");
    check_told(&a, "holder:a holder: released ");
    process_done(&a);
}

TEST(a_release_ends_even_if_the_server_is_gone)
{
    struct server s = { 0 };
    struct process a, b;
    process_init(&a, &s, "a");
    run(&a, NULL, 1000);
    a.cut = true;
    lease_release(a.lease);
    run(&a, NULL, 10100);
    check(strstr(buf_text(&a.told), "released"));
    process_done(&a);
    process_init(&b, &s, "b"); /* one that never led has nothing to give up */
    lease_release(b.lease);
    run(&b, NULL, 10);
    check_told(&b, "released ");
    process_done(&b);
}

TEST(trouble_while_standing_by_is_reported_and_tried_again)
{
    struct server s = { 0 };
    struct process a;
    process_init(&a, &s, "a");
    world_answer(world_only(&a.w),
        403,
        "{'kind': 'Status', 'status': 'Failure', 'reason': 'Forbidden', 'message': 'no'}");
    check_text(a.err.text, "get leases ns/882d6afe.llmkube.dev: no");
    run(&a, NULL, 3000);
    check(lease_may_write(a.lease));
    process_done(&a);
}

TEST(many_contenders_and_faults_never_make_two_writers)
{
    struct server s = { 0 };
    struct process p[3];
    uint64_t seed = 7;
    int gained = 0;
    for (size_t i = 0; i < lengthof(p); i++)
        process_init(&p[i], &s, (const char *[]){ "a", "b", "c" }[i]);
    for (int round = 0; round < 400; round++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        struct process *victim = &p[(seed >> 33) % 3];
        victim->cut = (seed >> 40) % 4 == 0;
        victim->deaf = (seed >> 44) % 4 == 0;
        victim->latency_ms = 5 + (int64_t)((seed >> 48) % 6000);
        bool stopped = (seed >> 52) % 4 == 0;
        for (int t = 0; t < 1000; t++) {
            int writers = 0;
            for (size_t i = 0; i < lengthof(p); i++) {
                if (&p[i] == victim && stopped)
                    world_stop(&p[i].w, 5);
                else
                    tick(&p[i]);
                writers += lease_may_write(p[i].lease);
            }
            check(writers <= 1);
        }
        for (size_t i = 0; i < lengthof(p); i++) {
            if (lease_state(p[i].lease) != LEASE_LOST)
                continue;
            int64_t now_ms = p[i].w.now_ms;
            gained++;
            process_done(&p[i]);
            process_init(&p[i], &s, (const char *[]){ "a", "b", "c" }[i]);
            p[i].w.now_ms = now_ms;
        }
    }
    check(gained > 10);
    for (size_t i = 0; i < lengthof(p); i++)
        process_done(&p[i]);
}
