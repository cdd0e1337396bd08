#include "kube/events.h"

#include "base/buf.h"
#include "kube/client.h"
#include "tests/kube/world.h"

struct bench {
    struct world w;
    struct kube_client *client;
    struct event_recorder *r;
};

static void bench_init(struct bench *b)
{
    world_init(&b->w);
    b->client = kube_client_new(&b->w.transport, &b->w.env);
    b->r = event_recorder_new(b->client,
        &b->w.env,
        &(struct event_recorder_options){ .controller = "leeboard", .instance = "pod-1" });
}

static void bench_done(struct bench *b)
{
    event_recorder_free(b->r);
    kube_client_free(b->client);
    world_done(&b->w);
}

static struct json model(const char *name)
{
    return json_fields(test_arena(),
        { "apiVersion", json_str("inference.llmkube.dev/v1alpha1") },
        { "kind", json_str("Model") },
        { "metadata.name", json_str(name) },
        { "metadata.namespace", json_str("ns") },
        { "metadata.uid", json_str("u") },
        { "spec.source", json_str("https://x") });
}

static void say(struct bench *b, const char *name, const char *note)
{
    event_record(b->r,
        &(struct event){
            .regarding = model(name),
            .reason = "Created",
            .action = "Reconcile",
            .note = note,
        });
    world_advance(&b->w, 0);
}

static void accept(struct bench *b)
{
    world_answer(world_only(&b->w), 201, "{}");
}

TEST(an_event_is_written_as_the_api_wants_it)
{
    struct bench b;
    bench_init(&b);
    event_record(b.r,
        &(struct event){ model("m"), .reason = "Created", .action = "Reconcile", .note = "done" });
    check_int(world_open_calls(&b.w), 0); /* never inside the caller's own work */
    world_advance(&b.w, 0);
    struct world_call *c = world_only(&b.w);
    check(text_starts(c->path, "/apis/events.k8s.io/v1/namespaces/ns/events?"));
    struct json e = test_json(c->body);
    const char *name = json_get_text(e, "metadata.name");
    check(text_starts(name, "m.") && strlen(name) == 2 + 16);
    check_int(strspn(name + 2, "0123456789abcdef"), 16);
    check_json(json_with(test_arena(), e, "metadata.name", json_str("x")),
        "{'apiVersion': 'events.k8s.io/v1', 'kind': 'Event', 'metadata': {'name': 'x',"
        " 'namespace': 'ns'}, 'eventTime': '2026-11-15T00:16:40.000000Z', 'type': 'Normal',"
        " 'reason': 'Created', 'action': 'Reconcile', 'note': 'done',"
        " 'reportingController': 'leeboard', 'reportingInstance': 'pod-1',"
        " 'regarding': {'apiVersion': 'inference.llmkube.dev/v1alpha1', 'kind': 'Model',"
        " 'namespace': 'ns', 'name': 'm', 'uid': 'u'}}");
    check_int(event_recorder_pending(b.r), 1);
    accept(&b);
    check_int(event_recorder_pending(b.r), 0);
    check_int(event_recorder_stats(b.r).written, 1);
    bench_done(&b);
}

TEST(events_about_cluster_scoped_objects_go_to_the_default_namespace)
{
    struct bench b;
    bench_init(&b);
    event_record(b.r,
        &(struct event){
            .regarding = test_json("{'kind': 'ClusterRole', 'metadata': {'name': 'system:x'}}"),
            .warning = true,
            .reason = "R",
            .action = "A",
        });
    world_advance(&b.w, 0);
    struct json e = test_json(world_only(&b.w)->body);
    check(strstr(world_only(&b.w)->path, "/namespaces/default/events"));
    check_text(json_get_text(e, "type"), "Warning");
    check(text_starts(json_get_text(e, "metadata.name"), "object."));
    accept(&b);
    bench_done(&b);
}

TEST(equal_events_become_a_series)
{
    struct bench b;
    bench_init(&b);
    say(&b, "m", "again");
    accept(&b);
    say(&b, "m", "again");
    struct world_call *c = world_only(&b.w);
    check_text(c->method, "PATCH");
    check_text(c->content_type, "application/merge-patch+json");
    check_text(
        c->body, "{\"series\":{\"count\":2,\"lastObservedTime\":\"2026-11-15T00:16:40.000000Z\"}}");
    accept(&b);
    /* The next thousand cost one write every half hour, and one when it is over. */
    unsigned before = b.w.opened;
    for (int i = 0; i < 1000; i++) {
        say(&b, "m", "again");
        world_advance(&b.w, 4000);
        if (world_open_calls(&b.w))
            accept(&b);
    }
    check_int(b.w.opened - before, 2); /* 66 minutes */
    world_advance(&b.w, 6 * 60000);
    check(strstr(world_only(&b.w)->body, "\"count\":1002"));
    accept(&b);
    world_advance(&b.w, 60 * 60000);
    check_int(world_open_calls(&b.w), 0);
    /* Over: the same words are a new event. */
    say(&b, "m", "again");
    check_text(world_only(&b.w)->method, "POST");
    accept(&b);
    bench_done(&b);
}

TEST(repetitions_before_the_first_write_go_with_it)
{
    struct bench b;
    bench_init(&b);
    say(&b, "m", "x");
    say(&b, "n", "y");
    say(&b, "n", "y");
    say(&b, "n", "y");
    check_int(world_open_calls(&b.w), 1); /* one at a time */
    accept(&b);
    struct json e = test_json(world_only(&b.w)->body);
    check_int(json_get_int(e, "series.count", 0), 3);
    accept(&b);
    check_int(event_recorder_pending(b.r), 0);
    bench_done(&b);
}

TEST(an_object_that_talks_too_much_is_cut_off)
{
    struct bench b;
    bench_init(&b);
    for (int i = 0; i < 40; i++)
        say(&b, "m", arena_printf(test_arena(), "note %d", i));
    say(&b, "n", "others are heard");
    check_int(event_recorder_stats(b.r).spam, 15);
    check_int(event_recorder_pending(b.r), 26);
    while (world_open_calls(&b.w))
        accept(&b);
    check_int(event_recorder_stats(b.r).written, 26);
    world_advance(&b.w, 5 * 60000);
    say(&b, "m", "one more");
    say(&b, "m", "but not two");
    check_int(event_recorder_stats(b.r).spam, 16);
    accept(&b);
    bench_done(&b);
}

TEST(a_full_table_drops_and_counts)
{
    struct bench b;
    bench_init(&b);
    for (int i = 0; i < 1100; i++)
        say(&b, arena_printf(test_arena(), "m%d", i), "x");
    check_int(event_recorder_stats(b.r).overflow, 100);
    /* Written ones make room. */
    for (int i = 0; i < 10; i++)
        accept(&b);
    for (int i = 0; i < 20; i++)
        say(&b, arena_printf(test_arena(), "n%d", i), "x");
    check_int(event_recorder_stats(b.r).overflow, 110);
    bench_done(&b);
}

TEST(a_write_that_fails_is_tried_again_with_the_same_name_and_given_up_in_the_end)
{
    struct bench b;
    bench_init(&b);
    say(&b, "m", "x");
    const char *body = arena_strdup(test_arena(), world_only(&b.w)->body);
    world_break(world_only(&b.w), ERR_TIMEOUT, true);
    check_int(world_open_calls(&b.w), 0);
    world_advance(&b.w, 10000);
    check_text(world_only(&b.w)->body, body);
    /* It was stored the first time: that is fine. */
    world_answer(world_only(&b.w),
        409,
        "{'kind': 'Status', 'status': 'Failure', 'reason': 'AlreadyExists'}");
    check_int(event_recorder_stats(b.r).written, 1);
    say(&b, "n", "x");
    unsigned before = b.w.opened;
    for (int i = 0; i < 100; i++) {
        if (world_open_calls(&b.w))
            world_answer(world_only(&b.w), 503, "{}");
        world_advance(&b.w, 10000);
    }
    check_int(b.w.opened - before, 11);
    check_int(event_recorder_stats(b.r).failed, 1);
    say(&b, "o", "x");
    world_answer(world_only(&b.w), 403, "{}"); /* a namespace that goes */
    check_int(world_open_calls(&b.w), 0);
    check_int(event_recorder_stats(b.r).failed, 2);
    bench_done(&b);
}

TEST(a_series_whose_event_has_expired_goes_on_in_a_new_one)
{
    struct bench b;
    bench_init(&b);
    say(&b, "my.model", "x");
    accept(&b);
    say(&b, "my.model", "x");
    world_answer(world_only(&b.w), 404, "{}");
    struct json e = test_json(world_only(&b.w)->body);
    check_text(world_only(&b.w)->method, "POST");
    check(text_starts(json_get_text(e, "metadata.name"), "my.model."));
    check_int(json_get_int(e, "series.count", 0), 2);
    accept(&b);
    bench_done(&b);
}

TEST(notes_are_cut_between_characters_and_mended)
{
    struct bench b;
    cleanup(buf_done) struct buf note = BUF_INIT(5000);
    bench_init(&b);
    buf_add_text(&note, "\xff\xc3(");
    while (note.len < 2000)
        buf_add_text(&note, "\u00e4\u20ac");
    say(&b, "m", buf_text(&note));
    struct json e = test_json(world_only(&b.w)->body);
    const char *got = json_get_text(e, "note");
    check(text_starts(got,
        "?"
        "?(\u00e4\u20ac"));
    check(strlen(got) <= 1024 && strlen(got) > 1020);
    accept(&b);
    bench_done(&b);
}
