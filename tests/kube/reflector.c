#include "kube/reflector.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/resource.h"
#include "kube/stream.h"
#include "tests/kube/world.h"

/* Everything that the sink was told, as one line: "begin +a +b end@5 ~6 -a". */
struct bench {
    struct world w;
    struct reflector *r;
    struct buf told;
    struct error err; /* of the last state */
    struct error bad; /* of the last bad object */
    struct json rest; /* what could be read of it */
    bool stop_at_put;
    const char *known; /* this object brings nothing new */
};

static void on_begin(void *ctx)
{
    buf_add_text(&((struct bench *)ctx)->told, "begin ");
}

static void on_put(void *ctx, struct json object, bool initial)
{
    struct bench *b = ctx;
    check_text(json_get_text(object, "kind"), "Deployment");
    check_text(json_get_text(object, "apiVersion"), "apps/v1");
    buf_printf(&b->told, "%s%s ", initial ? "+" : "*", json_get_text(object, "metadata.name"));
    if (b->stop_at_put)
        reflector_stop(b->r);
}

static void on_remove(void *ctx, struct json last)
{
    struct bench *b = ctx;
    buf_printf(&b->told, "-%s ", json_get_text(last, "metadata.name"));
}

static void on_replace_end(void *ctx, const char *version)
{
    buf_printf(&((struct bench *)ctx)->told, "end@%s ", version);
}

static void on_bookmark(void *ctx, const char *version)
{
    buf_printf(&((struct bench *)ctx)->told, "~%s ", version);
}

static void on_bad(void *ctx, const struct reflector_bad *bad)
{
    struct bench *b = ctx;
    buf_printf(&b->told, "bad:%s ", bad->name ? bad->name : "?");
    b->bad = *bad->err;
    b->rest = json_copy(test_arena(), bad->object);
}

static void on_state(void *ctx, enum reflector_state state, const struct error *err)
{
    static const char *const names[] = {
        "LOADING", "WATCHING", "TROUBLED", "MISSING", "FORBIDDEN"
    };
    struct bench *b = ctx;
    buf_printf(&b->told, "%s ", names[state]);
    if (err)
        b->err = *err;
}

static bool is_known(void *ctx, const struct stream_identity *id)
{
    struct bench *b = ctx;
    check(!b->known || text_eq(id->ns, "ns"));
    return text_eq(id->name, b->known);
}

static const struct reflector_sink sink = {
    on_begin, on_put, on_remove, on_replace_end, on_bookmark, on_bad, on_state, is_known
};

static void bench_init_with(struct bench *b, struct reflector_options options)
{
    *b = (struct bench){ .told = BUF_INIT(1 << 20) };
    options.resource = &RESOURCE_DEPLOYMENT;
    world_init(&b->w);
    b->r = reflector_new(&b->w.transport, &b->w.env, &options, &sink, b);
    reflector_start(b->r);
}

static void bench_init(struct bench *b)
{
    bench_init_with(b, (struct reflector_options){ 0 });
}

static void bench_done(struct bench *b)
{
    reflector_free(b->r);
    world_done(&b->w);
    buf_done(&b->told);
}

/* Since the last time this was asked. */
#define check_told(b, want)                                                                        \
    do {                                                                                           \
        check_text(buf_text(&(b)->told), want);                                                    \
        buf_reset(&(b)->told);                                                                     \
    } while (0)

static const char *event(const char *type, const char *name, int version)
{
    return arena_printf(test_arena(),
        "{'type': '%s', 'object': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata':"
        " {'name': '%s', 'namespace': 'ns', 'resourceVersion': '%d'}}}\n",
        type,
        name,
        version);
}

static const char *bookmark(int version, bool end_of_list)
{
    return arena_printf(test_arena(),
        "{'type': 'BOOKMARK', 'object': {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata':"
        " {'resourceVersion': '%d'%s}}}\n",
        version,
        end_of_list ? ", 'annotations': {'k8s.io/initial-events-end': 'true'}" : "");
}

static const char *page(const char *names, int version, const char *token)
{
    cleanup(buf_done) struct buf b = BUF_INIT(10000);
    buf_printf(&b,
        "{'kind': 'DeploymentList', 'apiVersion': 'apps/v1', 'metadata': {'resourceVersion': '%d',"
        " 'continue': '%s'}, 'items': [",
        version,
        token);
    for (const char *n = names; *n; n++)
        buf_printf(&b, "%s{'metadata': {'name': '%c'}}", n == names ? "" : ", ", *n);
    buf_add_text(&b, "]}");
    return arena_strdup(test_arena(), buf_text(&b));
}

static const char *status(int code, const char *reason)
{
    return arena_printf(test_arena(),
        "{'kind': 'Status', 'status': 'Failure', 'code': %d, 'reason': '%s', 'message': 'said so'}",
        code,
        reason);
}

/* Loads one object "a" at version 5 by streaming; the watch goes on. */
static struct world_call *load(struct bench *b)
{
    struct world_call *c = world_only(&b->w);
    world_head(c, 200);
    world_data(c, event("ADDED", "a", 3));
    world_data(c, bookmark(5, true));
    check_told(b, "begin +a end@5 WATCHING ");
    return c;
}

TEST(metadata_alone_is_taken_in_either_form_where_it_is_enough)
{
    struct bench b;
    bench_init_with(&b, (struct reflector_options){ .paged = true, .metadata_only = true });
    world_answer(world_only(&b.w),
        200,
        "{'kind': 'PartialObjectMetadataList', 'apiVersion': 'meta.k8s.io/v1', 'metadata':"
        " {'resourceVersion': '5'}, 'items': [{'metadata': {'name': 'a'}}]}");
    world_head(world_only(&b.w), 200);
    world_data(world_only(&b.w), event("ADDED", "whole", 6));
    check_told(&b, "begin +a end@5 WATCHING *whole ");
    world_data(world_only(&b.w),
        "{'type': 'ADDED', 'object': {'kind': 'Table', 'metadata': {'name': 'x'}}}\n");
    check_told(&b, "bad:? ");
    bench_done(&b);
}

TEST(a_streamed_list_ends_at_its_bookmark_and_goes_on_as_a_watch)
{
    struct bench b;
    bench_init(&b);
    struct world_call *c = world_only(&b.w);
    check(text_starts(
        c->path, "/apis/apps/v1/deployments?watch=true&allowWatchBookmarks=true&timeoutSeconds="));
    check(strstr(c->path, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"));
    check(!strstr(c->path, "resourceVersion="));
    world_head(c, 200);
    world_data(c, event("ADDED", "a", 9));
    world_data(c, bookmark(2, false)); /* a plain one ends nothing */
    world_data(c, event("ADDED", "b", 3));
    check_told(&b, "begin +a +b ");
    check(!reflector_synced(b.r));
    check_text(reflector_version(b.r), ""); /* never from synthetic events */
    world_data(c, bookmark(12, true));
    check_told(&b, "end@12 WATCHING ");
    check(reflector_synced(b.r));
    world_data(c, event("MODIFIED", "a", 13));
    world_data(c, event("DELETED", "b", 14));
    world_data(c, bookmark(20, false));
    check_told(&b, "*a -b ~20 ");
    check_text(reflector_version(b.r), "20");
    bench_done(&b);
}

TEST(an_event_that_says_nothing_new_is_not_read_and_yet_counts)
{
    struct bench b;
    bench_init(&b);
    b.known = "a";
    struct world_call *c = load(&b); /* a list is read whatever is known */
    world_data(c, event("MODIFIED", "a", 6));
    check_told(&b, "");
    check_text(reflector_version(b.r), "6");
    check_int(reflector_stats(b.r).events, 2);
    world_data(c, event("MODIFIED", "b", 7));
    world_data(c, event("DELETED", "a", 8));
    check_told(&b, "*b -a ");
    bench_done(&b);
}

TEST(what_goes_while_a_list_is_streamed_is_removed)
{
    struct bench b;
    bench_init(&b);
    struct world_call *c = world_only(&b.w);
    world_head(c, 200);
    world_data(c, event("ADDED", "a", 1));
    world_data(c, event("DELETED", "a", 4));
    world_data(c, bookmark(5, true));
    check_told(&b, "begin +a -a end@5 WATCHING ");
    bench_done(&b);
}

TEST(a_server_that_cannot_stream_lists_is_asked_for_pages)
{
    struct bench b;
    bench_init_with(
        &b, (struct reflector_options){ .ns = "ns", .label_selector = "a=b", .page_items = 2 });
    world_answer(world_only(&b.w), 422, status(422, "Invalid"));
    struct world_call *c = world_only(&b.w);
    check_text(c->path, "/apis/apps/v1/namespaces/ns/deployments?limit=2&labelSelector=a%3Db");
    world_answer(c, 200, page("ab", 7, "more"));
    check(!reflector_synced(b.r));
    c = world_only(&b.w);
    check_text(c->path,
        "/apis/apps/v1/namespaces/ns/deployments?limit=2&continue=more&labelSelector=a%3Db");
    world_answer(c, 200, page("", 7, "evenmore")); /* an empty page is no end */
    world_answer(world_only(&b.w), 200, page("c", 7, ""));
    check_told(&b, "begin +a +b +c end@7 ");
    c = world_only(&b.w);
    check(strstr(c->path, "&resourceVersion=7&labelSelector="));
    check(!strstr(c->path, "sendInitialEvents"));
    world_head(c, 200);
    check_told(&b, "WATCHING ");
    /* Found out once: a relist does not try again. */
    world_data(
        c, arena_printf(test_arena(), "{'type': 'ERROR', 'object': %s}\n", status(410, "Expired")));
    world_advance(&b.w, 1000);
    check(strstr(world_only(&b.w)->path, "limit=2"));
    bench_done(&b);
}

TEST(a_streamed_list_without_an_end_falls_back_to_pages)
{
    struct bench b;
    bench_init(&b);
    world_head(world_only(&b.w), 200);
    world_data(world_only(&b.w), event("ADDED", "a", 3));
    world_advance(&b.w, 29000);
    world_data(world_only(&b.w), event("ADDED", "b", 4));
    world_advance(&b.w, 29000);
    check(strstr(world_only(&b.w)->path, "sendInitialEvents"));
    world_advance(&b.w, 1001);
    world_answer(world_only(&b.w), 200, page("a", 7, ""));
    check_told(&b, "begin +a +b begin +a end@7 ");
    bench_done(&b);
}

TEST(a_streamed_list_that_breaks_twice_falls_back_to_pages)
{
    struct bench b;
    bench_init(&b);
    for (int i = 0; i < 2; i++) {
        struct world_call *c = world_only(&b.w);
        check(strstr(c->path, "sendInitialEvents"));
        world_head(c, 200);
        if (i)
            world_end(c);
        else
            world_break(c, ERR_UNAVAILABLE, true);
        world_advance(&b.w, 2000);
    }
    check(strstr(world_only(&b.w)->path, "limit=500"));
    check_told(&b, "begin TROUBLED begin TROUBLED ");
    bench_done(&b);
}

TEST(a_server_that_fails_whenever_it_should_stream_is_asked_for_pages)
{
    struct bench b;
    bench_init(&b);
    for (int i = 0; i < 3; i++) {
        check(strstr(world_only(&b.w)->path, "sendInitialEvents"));
        world_answer(world_only(&b.w), 500, "{}");
        while (!world_open_calls(&b.w))
            world_advance(&b.w, 100);
    }
    check(strstr(world_only(&b.w)->path, "limit=500"));
    world_answer(world_only(&b.w), 503, "{}"); /* still the plain question */
    while (!world_open_calls(&b.w))
        world_advance(&b.w, 100);
    world_answer(world_only(&b.w), 200, page("a", 7, ""));
    check_told(&b, "TROUBLED TROUBLED TROUBLED TROUBLED begin +a end@7 ");
    bench_done(&b);
}

TEST(pages_that_expire_start_the_list_again_in_one_piece)
{
    struct bench b;
    bench_init_with(&b, (struct reflector_options){ .paged = true });
    world_answer(world_only(&b.w), 200, page("ab", 7, "more"));
    world_answer(world_only(&b.w), 410, status(410, "Expired"));
    check_told(&b, "begin +a +b TROUBLED ");
    world_advance(&b.w, 1000);
    check_text(world_only(&b.w)->path, "/apis/apps/v1/deployments");
    world_answer(world_only(&b.w), 200, page("bc", 9, ""));
    check_told(&b, "begin +b +c end@9 ");
    bench_done(&b);
}

TEST(an_expired_version_lists_anew_whichever_way_it_is_said)
{
    for (int way = 0; way < 4; way++) {
        struct bench b;
        bench_init(&b);
        struct world_call *c = load(&b);
        world_advance(&b.w, 5000);
        if (way == 0) {
            world_data(c,
                arena_printf(
                    test_arena(), "{'type': 'ERROR', 'object': %s}\n", status(410, "Gone")));
        } else {
            world_end(c);
            c = world_only(&b.w);
            check(strstr(c->path, "resourceVersion=5"));
            if (way == 1)
                world_answer(c, 410, status(410, "Expired"));
            else if (way == 2)
                world_answer(c,
                    504,
                    "{'kind': 'Status', 'status': 'Failure', 'reason': 'Timeout', 'message': 'Too "
                    "large"
                    " resource version: 9, current: 5', 'details': {'causes': [{'reason':"
                    " 'ResourceVersionTooLarge'}]}}");
            else
                world_answer(c, 400, status(400, "BadRequest"));
        }
        check_told(&b, "TROUBLED ");
        check_text(reflector_version(b.r), "");
        check(reflector_synced(b.r)); /* what was loaded stays */
        check_int(world_open_calls(&b.w), 0);
        world_advance(&b.w, 1000);
        c = world_only(&b.w);
        check(strstr(c->path, "sendInitialEvents"));
        world_head(c, 200);
        world_data(c, bookmark(9, true));
        check_told(&b, "begin end@9 WATCHING "); /* "a" is gone */
        bench_done(&b);
    }
}

TEST(a_server_that_went_back_in_time_is_listed_anew)
{
    struct bench b;
    bench_init(&b);
    struct world_call *c = load(&b);
    world_data(c, bookmark(4, false));
    check_told(&b, "TROUBLED ");
    check_text(b.err.text, "watch deployments: the server went back from version 5 to 4");
    world_advance(&b.w, 1000);
    check(strstr(world_only(&b.w)->path, "sendInitialEvents"));
    bench_done(&b);
}

TEST(a_watch_that_ends_in_time_resumes_at_once_from_the_last_version)
{
    struct bench b;
    bench_init(&b);
    struct world_call *c = load(&b);
    world_data(c, event("MODIFIED", "a", 8));
    world_advance(&b.w, 400000 - 300000);
    world_end(c);
    c = world_only(&b.w);
    check(strstr(c->path, "&resourceVersion=8"));
    world_head(c, 200);
    check_told(&b, "*a ");
    bench_done(&b);
}

TEST(timeouts_of_watches_differ)
{
    int64_t least = 1000, most = 0;
    struct bench b;
    bench_init(&b);
    struct world_call *c = load(&b);
    for (int i = 0; i < 200; i++) {
        world_advance(&b.w, 2000);
        world_end(c);
        c = world_only(&b.w);
        world_head(c, 200);
        int64_t seconds = strtoll(strstr(c->path, "timeoutSeconds=") + 15, NULL, 10);
        least = seconds < least ? seconds : least;
        most = seconds > most ? seconds : most;
    }
    check(least >= 300 && least < 320 && most <= 600 && most > 580);
    bench_done(&b);
}

TEST(a_stream_that_closes_at_once_is_no_busy_loop_and_ends_in_a_list)
{
    struct bench b;
    bench_init(&b);
    struct world_call *c = load(&b);
    world_advance(&b.w, 5000);
    world_end(c);
    unsigned before = b.w.opened;
    for (int lists = 0; !lists;) {
        c = world_only(&b.w);
        lists = strstr(c->path, "sendInitialEvents") != NULL;
        if (lists)
            break;
        world_head(c, 200);
        world_end(c);
        check_int(world_open_calls(&b.w), 0);
        while (!world_open_calls(&b.w))
            world_advance(&b.w, 100);
    }
    check_int(b.w.opened - before, 2); /* the second empty one, and the list */
    check_told(&b, "TROUBLED WATCHING TROUBLED ");
    check_text(b.err.text, "watch deployments: the stream closed at once without an event");
    bench_done(&b);
}

TEST(a_stream_that_sends_a_bookmark_and_closes_is_no_busy_loop)
{
    struct bench b;
    bench_init(&b);
    struct world_call *c = load(&b);
    int64_t start = b.w.now_ms;
    unsigned before = b.w.opened;
    while (b.w.now_ms < start + 600000) {
        if (world_open_calls(&b.w)) {
            c = world_only(&b.w);
            if (!c->seen)
                world_head(c, 200);
            world_data(c, bookmark(6, false));
            world_end(c);
        }
        world_advance(&b.w, 100);
    }
    check(b.w.opened - before < 60); /* ten minutes */
    bench_done(&b);
}

TEST(a_broken_watch_backs_off_and_resumes_without_a_list)
{
    static const struct {
        enum error_code code;
        int status;
    } ways[] = { { ERR_UNAVAILABLE, 0 }, { ERR_TIMEOUT, 0 }, { 0, 429 }, { 0, 500 }, { 0, 503 } };
    for (size_t i = 0; i < lengthof(ways); i++) {
        struct bench b;
        int64_t last_ms = 0;
        bench_init(&b);
        struct world_call *c = load(&b);
        for (int n = 0; n < 8; n++) {
            if (ways[i].status && n)
                world_answer(c, ways[i].status, "{}");
            else
                world_break(c, n && ways[i].code ? ways[i].code : ERR_UNAVAILABLE, n > 0);
            check_int(world_open_calls(&b.w), 0);
            int64_t from_ms = b.w.now_ms;
            while (!world_open_calls(&b.w))
                world_advance(&b.w, 100);
            last_ms = b.w.now_ms - from_ms;
            check(last_ms <= 30100 && last_ms >= (n < 6 ? 400 << n : 15000));
            c = world_only(&b.w);
            check(strstr(c->path, "&resourceVersion=5"));
        }
        /* It holds for more than two minutes: the next failure starts small. */
        world_head(c, 200);
        world_advance(&b.w, 130000);
        world_break(c, ERR_UNAVAILABLE, true);
        world_advance(&b.w, 801);
        check_int(world_open_calls(&b.w), 1);
        bench_done(&b);
    }
}

TEST(the_server_may_ask_for_more_patience)
{
    struct bench b;
    bench_init(&b);
    struct world_call *c = world_only(&b.w);
    world_head_of(
        c, &(struct kube_head){ 429, .retry_after_ms = 20000, .content_type = "text/plain" });
    world_end(c);
    world_advance(&b.w, 19999);
    check_int(world_open_calls(&b.w), 0);
    world_advance(&b.w, 1);
    check(strstr(world_only(&b.w)->path, "sendInitialEvents")); /* busy is not "cannot" */
    bench_done(&b);
}

TEST(a_silent_stream_is_closed_and_resumed)
{
    struct bench b;
    bench_init(&b);
    struct world_call *c = load(&b);
    world_advance(&b.w, 60000);
    world_data(c, bookmark(6, false));
    world_advance(&b.w, 189000);
    check(world_only(&b.w) == c);
    world_advance(&b.w, 1000);
    check(strstr(world_only(&b.w)->path, "&resourceVersion=6"));
    check_told(&b, "~6 "); /* no trouble */
    bench_done(&b);
}

TEST(an_api_that_is_not_installed_is_looked_for_slowly_and_at_once_when_poked)
{
    struct bench b;
    bench_init(&b);
    struct world_call *c = world_only(&b.w);
    world_head_of(c, &(struct kube_head){ 404, .content_type = "text/plain" });
    world_bytes(c, STR("404 page not found"));
    world_end(c);
    check_told(&b, "MISSING ");
    check_text(b.err.text, "watch deployments: HTTP status 404: 404 page not found");
    world_advance(&b.w, 4999);
    check_int(world_open_calls(&b.w), 0);
    world_advance(&b.w, 5001);
    world_answer(world_only(&b.w), 404, "{}");
    unsigned before = b.w.opened;
    for (int i = 0; i < 600; i++) {
        world_advance(&b.w, 1000);
        if (world_open_calls(&b.w))
            world_answer(world_only(&b.w), 404, "{}");
    }
    check(b.w.opened - before >= 9 && b.w.opened - before <= 22);
    check_told(&b, ""); /* said once */
    reflector_poke(b.r);
    world_advance(&b.w, 0);
    load(&b);
    reflector_poke(b.r); /* no harm */
    world_advance(&b.w, 0);
    world_only(&b.w);
    bench_done(&b);
}

TEST(what_was_there_must_be_missing_twice)
{
    struct bench b;
    bench_init(&b);
    struct world_call *c = load(&b);
    world_advance(&b.w, 5000);
    world_end(c);
    world_answer(world_only(&b.w), 404, "{}");
    check_told(&b, "TROUBLED ");
    world_advance(&b.w, 1000);
    world_head(world_only(&b.w), 200); /* a proxy's whim */
    world_data(world_only(&b.w), bookmark(9, true));
    check_told(&b, "begin end@9 WATCHING ");
    world_break(world_only(&b.w), ERR_UNAVAILABLE, true);
    world_advance(&b.w, 2000);
    world_answer(world_only(&b.w), 404, "{}");
    world_advance(&b.w, 5000);
    world_answer(world_only(&b.w), 404, "{}");
    check_told(&b, "TROUBLED TROUBLED MISSING ");
    bench_done(&b);
}

TEST(missing_rights_are_named_exactly)
{
    static const struct {
        const struct resource *resource;
        const char *ns, *sentence;
    } cases[] = {
        { &RESOURCE_DEPLOYMENT, NULL, "cannot list deployments in apps at cluster scope" },
        { &RESOURCE_DEPLOYMENT, "x", "cannot list deployments in apps in namespace x" },
        { &RESOURCE_POD, NULL, "cannot list pods at cluster scope" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct bench b = { .told = BUF_INIT(1000) };
        struct reflector_options options = { .resource = cases[i].resource, .ns = cases[i].ns };
        world_init(&b.w);
        b.r = reflector_new(&b.w.transport, &b.w.env, &options, &sink, &b);
        reflector_start(b.r);
        world_answer(world_only(&b.w), 403, status(403, "Forbidden"));
        world_answer(world_only(&b.w), 403, status(403, "Forbidden"));
        check_told(&b, "FORBIDDEN ");
        check_text(b.err.text, cases[i].sentence);
        check_int(world_open_calls(&b.w), 0);
        reflector_poke(b.r);
        world_advance(&b.w, 0);
        check(strstr(world_only(&b.w)->path, "sendInitialEvents"));
        bench_done(&b);
    }
}

TEST(who_may_list_but_not_watch_gets_lists_and_a_word)
{
    struct bench b;
    bench_init(&b);
    world_answer(world_only(&b.w), 403, status(403, "Forbidden"));
    world_answer(world_only(&b.w), 200, page("a", 7, ""));
    world_answer(world_only(&b.w), 403, status(403, "Forbidden"));
    check_told(&b, "begin +a end@7 FORBIDDEN ");
    check_text(b.err.text, "cannot watch deployments in apps at cluster scope");
    bench_done(&b);
}

TEST(an_object_that_cannot_be_read_harms_no_other)
{
    struct bench b;
    bench_init(&b);
    struct world_call *c = load(&b);
    cleanup(buf_done) struct buf deep = BUF_INIT(10000);
    buf_add_text(&deep,
        "{'type': 'MODIFIED', 'object': {'metadata': {'name': 'deep', 'resourceVersion': '6'}, "
        "'x': ");
    for (int i = 0; i < 300; i++)
        buf_add_char(&deep, '[');
    for (int i = 0; i < 300; i++)
        buf_add_char(&deep, ']');
    buf_add_text(&deep, "}}\n");
    world_data(c, buf_text(&deep));
    check_told(&b, "bad:deep ");
    check_text(reflector_version(b.r), "6");
    check(!json_present(b.rest)); /* it does not say what it is */
    world_data(c, "this is no JSON\n");
    world_data(
        c, "{'type': 'ADDED', 'object': {'apiVersion': 'meta.k8s.io/v1', 'kind': 'Table'}}\n");
    check_text(b.bad.text, "expected apps/v1 Deployment, got meta.k8s.io/v1 Table");
    world_data(c, "{'type': 'ADDED', 'object': {'apiVersion': 'apps/v1', 'kind': 'Deployment'}}\n");
    check_text(b.bad.text, "metadata.name: required");
    world_data(c, "{'type': 'SURPRISE', 'object': {}}\n");
    world_data(c, "[1]\n{}\nnull\n");
    world_data(c, "{'type': 'DELETED', 'object': {'metadata': {'name': 'gone'}, broken\n");
    world_data(c,
        "{'type': 'ADDED', 'object': {'apiVersion': 'apps/v1', 'kind': 'Deployment',"
        " 'metadata': {'name': 'nul', 'annotations': {'a': 'x\\u0000y\\\\u0000'}}}}\n");
    world_data(c, event("ADDED", "b", 9));
    check_told(&b, "bad:? bad:? bad:? bad:? bad:? bad:? bad:? -gone bad:gone *nul *b ");
    check_int(reflector_stats(b.r).bad, 9);
    check_int(reflector_state(b.r), REFLECTOR_WATCHING);
    bench_done(&b);
}

TEST(of_an_object_that_is_nested_too_deep_the_rest_is_told)
{
    struct bench b;
    bench_init(&b);
    struct world_call *c = load(&b);
    static const char object[] =
        "'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'deep', "
        "'resourceVersion': '%d'}, 'spec': {'x': %s1%s, 'y': 2}";
    cleanup(buf_done) struct buf open = BUF_INIT(10000), close = BUF_INIT(10000);
    for (int i = 0; i < 300; i++) {
        buf_add_char(&open, '[');
        buf_add_char(&close, ']');
    }
    const char *text = arena_printf(test_arena(), object, 6, buf_text(&open), buf_text(&close));
    world_data(c, arena_printf(test_arena(), "{'type': 'MODIFIED', 'object': {%s}}\n", text));
    check_told(&b, "bad:deep ");
    check_text(b.bad.text, "nested deeper than 200 levels");
    check_int(json_get_int(b.rest, "spec.y", 0), 2);
    check_text(json_get_text(b.rest, "metadata.resourceVersion"), "6");
    /* What is gone is not told of again. */
    world_data(c, arena_printf(test_arena(), "{'type': 'DELETED', 'object': {%s}}\n", text));
    check_told(&b, "-deep bad:deep ");
    check(!json_present(b.rest));
    bench_done(&b);
}

TEST(an_object_of_a_list_that_cannot_be_read_counts_as_there)
{
    struct bench b;
    bench_init_with(&b, (struct reflector_options){ .paged = true });
    world_answer(world_only(&b.w),
        200,
        "{'kind': 'DeploymentList', 'items': [{'metadata': {'name': 'a'}},"
        "{'metadata': {'name': 'b', 'uid': 'u'}, 'x': tru}, {'kind': 'Row', 'metadata': {'name':"
        " 'c'}}, {'metadata': {'name': 'd'}}], 'metadata': {'resourceVersion': '4'}}");
    check_told(&b, "begin +a bad:b bad:? +d end@4 ");
    bench_done(&b);
}

TEST(a_line_too_large_is_passed_over)
{
    struct bench b;
    bench_init(&b);
    struct world_call *c = load(&b);
    world_data(c, "{'type': 'MODIFIED', 'object': {'metadata': {'name': 'big'}, 'x': '");
    static char mebibyte[1 << 20];
    memset(mebibyte, 'x', sizeof(mebibyte));
    for (int i = 0; i < 9; i++)
        world_bytes(c, (struct str){ mebibyte, sizeof(mebibyte) });
    world_data(c, "'}}\n");
    check_told(&b, "bad:big ");
    check_int(b.bad.code, ERR_TOO_LARGE);
    world_data(c, event("ADDED", "b", 9));
    check_told(&b, "*b ");
    bench_done(&b);
}

TEST(what_is_no_list_replaces_nothing)
{
    static const char *const answers[] = {
        "{'kind': 'Table', 'rows': [], 'metadata': {'resourceVersion': '4'}}",
        "{'kind': 'PodList', 'items': [], 'metadata': {'resourceVersion': '4'}}",
        "{'kind': 'DeploymentList', 'items': []}",
        "{'kind': 'DeploymentList', 'items': [",
        "",
    };
    for (size_t i = 0; i < lengthof(answers); i++) {
        struct bench b;
        bench_init_with(&b, (struct reflector_options){ .paged = true });
        world_answer(world_only(&b.w), 200, answers[i]);
        check_told(&b, "begin TROUBLED ");
        check(!reflector_synced(b.r));
        bench_done(&b);
    }
    struct bench b;
    bench_init(&b);
    world_head_of(world_only(&b.w), &(struct kube_head){ 200, .content_type = "text/html" });
    check_told(&b, "TROUBLED ");
    check_int(world_open_calls(&b.w), 0);
    bench_done(&b);
}

TEST(a_sink_may_stop_the_reflector_in_the_middle)
{
    struct bench b;
    bench_init(&b);
    struct world_call *c = world_only(&b.w);
    b.stop_at_put = true;
    world_head(c, 200);
    world_data(
        c, arena_printf(test_arena(), "%s%s", event("ADDED", "a", 3), event("ADDED", "b", 4)));
    check_told(&b, "begin +a ");
    check_int(world_open_calls(&b.w), 0);
    b.stop_at_put = false;
    reflector_start(b.r);
    load(&b);
    bench_done(&b);
}

TEST(versions_compare_as_numbers)
{
    check_int(kube_version_compare("9", "10"), -1);
    check_int(kube_version_compare("10", "9"), 1);
    check_int(kube_version_compare("10", "10"), 0);
    check_int(kube_version_compare("18446744073709551617", "18446744073709551616"), 1);
    check_int(kube_version_compare("abc", "10"), 0);
    check_int(kube_version_compare("", "10"), 0);
}
