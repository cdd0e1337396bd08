#include "kube/rivals.h"

#include "base/buf.h"
#include "base/time.h"
#include "kube/client.h"
#include "tests/kube/world.h"

struct watcher {
    struct world w;
    struct kube_client *client;
    struct rivals *rivals;
    struct buf told;
};

static void on_clear(void *ctx)
{
    buf_add_text(&((struct watcher *)ctx)->told, "clear ");
}

static void on_waiting(void *ctx, const char *who)
{
    buf_printf(&((struct watcher *)ctx)->told, "waiting:%s ", who);
}

static void on_appeared(void *ctx, const char *who)
{
    buf_printf(&((struct watcher *)ctx)->told, "appeared:%s ", who);
}

static void on_trouble(void *ctx, const struct error *err)
{
    (void)err;
    buf_add_text(&((struct watcher *)ctx)->told, "trouble ");
}

static void watcher_init(struct watcher *p)
{
    static const struct rivals_handlers handlers = {
        on_clear, on_waiting, on_appeared, on_trouble
    };
    *p = (struct watcher){ .told = BUF_INIT(100000) };
    world_init(&p->w);
    p->client = kube_client_new(&p->w.transport, &p->w.env);
    p->rivals = rivals_new(p->client,
        &p->w.env,
        &(struct rivals_options){
            .names = { "upstream", "other" },
            .own_namespace = "here",
            .own_name = "upstream",
        },
        &handlers,
        p);
    rivals_start(p->rivals);
}

static void watcher_done(struct watcher *p)
{
    rivals_free(p->rivals);
    kube_client_free(p->client);
    world_done(&p->w);
    buf_done(&p->told);
}

static const char *told(struct watcher *p)
{
    buf_add(&p->told, "", 1);
    p->told.len--;
    return p->told.ptr;
}

/* A round of looks: `upstream` has this Lease, or none; `other` has none. seconds_ago is of the
 * wall clock of the world. */
static void answer_round(struct watcher *p, const char *ns, int64_t seconds_ago)
{
    struct world_call *c = world_find(&p->w, "metadata.name%3Dupstream");
    check(c);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    int64_t at = p->w.env.wall_ms(p->w.env.ctx) / 1000 - seconds_ago;
    world_answer(c,
        200,
        ns ? arena_printf(&a,
                 "{ 'items': [ { 'metadata': { 'name': 'upstream', 'namespace': '%s' }, "
                 "'spec': { 'holderIdentity': 'pod-1', 'leaseDurationSeconds': 15, "
                 "'renewTime': '%s' } } ] }",
                 ns,
                 time_format_micro(&a, at * 1000000))
           : "{ 'items': [] }");
    c = world_find(&p->w, "metadata.name%3Dother");
    check(c);
    world_answer(c, 200, "{ 'items': [] }");
}

TEST(without_a_lease_of_upstream_the_way_is_clear_at_once)
{
    struct watcher p;
    watcher_init(&p);
    answer_round(&p, NULL, 0);
    check_text(told(&p), "clear ");
    watcher_done(&p);
}

TEST(our_own_lease_is_no_rival)
{
    struct watcher p;
    watcher_init(&p);
    answer_round(&p, "here", 0);
    check_text(told(&p), "clear ");
    watcher_done(&p);
}

TEST(a_renewed_lease_elsewhere_is_waited_for_and_named)
{
    struct watcher p;
    watcher_init(&p);
    for (int i = 0; i < 20; i++) { /* 40 s, renewed all the time */
        answer_round(&p, "llmkube-system", 1);
        world_advance(&p.w, RIVALS_LOOK_MS);
    }
    check_text(told(&p), "waiting:llmkube-system/upstream, held by pod-1 ");
    /* It ends: the record stays as it was. */
    int64_t fixed = p.w.now_ms;
    answer_round(&p, "llmkube-system", 0);
    for (int i = 0; i < 7; i++) {
        world_advance(&p.w, RIVALS_LOOK_MS);
        answer_round(&p, "llmkube-system", (p.w.now_ms - fixed) / 1000);
    }
    check_text(told(&p), "waiting:llmkube-system/upstream, held by pod-1 ");
    world_advance(&p.w, RIVALS_LOOK_MS);
    answer_round(&p, "llmkube-system", (p.w.now_ms - fixed) / 1000);
    check_text(told(&p), "waiting:llmkube-system/upstream, held by pod-1 clear ");
    watcher_done(&p);
}

TEST(a_lease_that_was_left_behind_long_ago_is_not_waited_for)
{
    struct watcher p;
    watcher_init(&p);
    answer_round(&p, "llmkube-system", 3600);
    check_text(told(&p), "clear ");
    watcher_done(&p);
}

TEST(a_rival_that_begins_later_is_reported)
{
    struct watcher p;
    watcher_init(&p);
    answer_round(&p, "llmkube-system", 3600);
    world_advance(&p.w, RIVALS_REST_MS);
    answer_round(&p, "llmkube-system", 0);
    check_text(told(&p), "clear appeared:llmkube-system/upstream, held by pod-1 ");
    watcher_done(&p);
}

TEST(without_the_right_to_look_the_way_is_clear_and_said_so)
{
    struct watcher p;
    watcher_init(&p);
    world_answer(world_only(&p.w), 403, "{ 'kind': 'Status', 'reason': 'Forbidden' }");
    check_text(told(&p), "trouble clear ");
    watcher_done(&p);
}

TEST(a_server_out_of_reach_is_asked_again)
{
    struct watcher p;
    watcher_init(&p);
    world_break(world_only(&p.w), ERR_UNAVAILABLE, false);
    check_text(told(&p), "trouble ");
    world_advance(&p.w, RIVALS_LOOK_MS);
    answer_round(&p, NULL, 0);
    check_text(told(&p), "trouble clear ");
    watcher_done(&p);
}
