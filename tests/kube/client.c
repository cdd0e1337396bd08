#include "kube/client.h"

#include "base/resource.h"
#include "kube/stream.h"
#include "tests/kube/world.h"

/* What the last answer was; copied, because a reply ends with its callback. */
struct got {
    int count;
    struct error error;
    int status;
    bool outcome_unknown;
    struct json body, causes;
    const char *reason, *text;
};

static void keep(void *ctx, const struct kube_reply *reply)
{
    struct got *g = ctx;
    struct arena *a = test_arena();
    *g = (struct got){
        .count = g->count + 1,
        .error = reply->error,
        .status = reply->status,
        .outcome_unknown = reply->outcome_unknown,
        .body = json_copy(a, reply->body),
        .causes = json_copy(a, reply->causes),
        .reason = arena_strdup(a, reply->reason),
        .text = str_dup(a, reply->text),
    };
}

struct bench {
    struct world w;
    struct kube_client *client;
    struct got got;
};

static void bench_init(struct bench *b)
{
    *b = (struct bench){ 0 };
    world_init(&b->w);
    b->client = kube_client_new(&b->w.transport, &b->w.env);
}

static void bench_done(struct bench *b)
{
    check_int(kube_client_pending(b->client), 0);
    kube_client_free(b->client);
    world_done(&b->w);
}

static const struct kube_target POD = { &RESOURCE_POD, "ns", "p" };
static const struct kube_target PODS = { &RESOURCE_POD, "ns" };

static void create(struct bench *b)
{
    struct json pod = test_json("{'metadata': {'name': 'p'}}");
    kube_create(b->client,
        PODS,
        pod,
        (struct kube_write){ .field_manager = "leeboard" },
        (struct kube_then){ keep, &b->got });
}

static void get(struct bench *b)
{
    kube_get(b->client, POD, (struct kube_then){ keep, &b->got });
}

TEST(a_get_brings_the_object)
{
    struct bench b;
    bench_init(&b);
    get(&b);
    struct world_call *c = world_only(&b.w);
    check_text(c->method, "GET");
    check_text(c->path, "/api/v1/namespaces/ns/pods/p");
    check_int(b.got.count, 0);
    world_answer(c, 200, "{'kind': 'Pod'}");
    check_int(b.got.count, 1);
    check_int(b.got.error.code, ERR_NONE);
    check_json(b.got.body, "{'kind': 'Pod'}");
    bench_done(&b);
}

static bool is_seven(void *ctx, const struct stream_identity *id)
{
    (void)ctx;
    return text_eq(id->name, "p") && text_eq(id->version, "7");
}

TEST(an_answer_that_is_known_is_not_read)
{
    static const struct {
        int status;
        const char *answer;
        bool read;
    } rows[] = {
        { 200, "{'metadata': {'name': 'p', 'resourceVersion': '7'}}", false },
        { 200, "{'metadata': {'name': 'p', 'resourceVersion': '8'}}", true },
        { 200, "{'metadata': {'resourceVersion': '7'}}", true },
        { 409, "{'metadata': {'name': 'p', 'resourceVersion': '7'}}", true },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct bench b;
        bench_init(&b);
        kube_get(b.client, POD, (struct kube_then){ keep, &b.got, is_seven });
        world_answer(world_only(&b.w), rows[i].status, rows[i].answer);
        check_int(b.got.status, rows[i].status);
        check_int(b.got.error.code == ERR_NONE, rows[i].status == 200);
        check_int(json_present(b.got.body), rows[i].read);
        check(b.got.text[0] == '{');
        bench_done(&b);
    }
}

TEST(paths_and_queries_are_encoded)
{
    struct bench b;
    bench_init(&b);
    struct kube_then then = { keep, &b.got };
    kube_list(b.client,
        &(struct kube_list){
            .what = PODS,
            .label_selector = "a in (x,y),!b=c%&+d",
            .limit = 500,
            .continue_token = "tok/en==",
        },
        then);
    check_text(world_only(&b.w)->path,
        "/api/v1/namespaces/ns/pods?limit=500&continue=tok%2Fen%3D%3D"
        "&labelSelector=a%20in%20%28x%2Cy%29%2C%21b%3Dc%25%26%2Bd");
    world_answer(world_only(&b.w), 200, "{}");
    kube_pod_log(b.client,
        &(struct kube_log){ "ns", "p", "main", .tail_lines = 7, .limit_bytes = 100 },
        then);
    check_text(world_only(&b.w)->path,
        "/api/v1/namespaces/ns/pods/p/log?container=main&tailLines=7&limitBytes=100");
    world_head_of(world_only(&b.w), &(struct kube_head){ .status = 200, .content_type = "" });
    world_bytes(world_only(&b.w), STR("line\n"));
    world_end(world_only(&b.w));
    check_text(b.got.text, "line\n");
    check_int(b.got.error.code, ERR_NONE);
    bench_done(&b);
}

TEST(apply_names_manager_and_validation)
{
    struct bench b;
    bench_init(&b);
    struct kube_target status = { &RESOURCE_DEPLOYMENT, "ns", "d", "status" };
    kube_apply(b.client,
        status,
        test_json("{'a': 1}"),
        (struct kube_write){
            .field_manager = "leeboard", .force = true, .strict = true, .dry_run = true },
        (struct kube_then){ keep, &b.got });
    struct world_call *c = world_only(&b.w);
    check_text(c->method, "PATCH");
    check_text(c->content_type, "application/apply-patch+yaml");
    check_text(c->body, "{\"a\":1}");
    check_text(c->path,
        "/apis/apps/v1/namespaces/ns/deployments/d/status"
        "?fieldManager=leeboard&fieldValidation=Strict&force=true&dryRun=All");
    world_answer(c, 200, "{}");
    bench_done(&b);
}

TEST(a_delete_carries_its_preconditions)
{
    struct bench b;
    bench_init(&b);
    struct kube_delete how = { "u", "5", "Background", -1 };
    kube_delete(b.client, POD, &how, (struct kube_then){ keep, &b.got });
    check_json(test_json(world_only(&b.w)->body),
        "{'apiVersion': 'v1', 'kind': 'DeleteOptions', 'propagationPolicy': 'Background',"
        " 'preconditions': {'uid': 'u', 'resourceVersion': '5'}}");
    check_text(world_only(&b.w)->method, "DELETE");
    world_answer(world_only(&b.w), 200, "{'kind': 'Status', 'status': 'Success'}");
    check_int(b.got.error.code, ERR_NONE);
    kube_evict(b.client,
        "ns",
        "p",
        &(struct kube_delete){ .grace_seconds = 0, .dry_run = true },
        (struct kube_then){ keep, &b.got });
    check_text(world_only(&b.w)->path, "/api/v1/namespaces/ns/pods/p/eviction");
    check_json(test_json(world_only(&b.w)->body),
        "{'apiVersion': 'policy/v1', 'kind': 'Eviction', 'metadata': {'name': 'p',"
        " 'namespace': 'ns'}, 'deleteOptions': {'apiVersion': 'v1', 'kind': 'DeleteOptions',"
        " 'gracePeriodSeconds': 0, 'dryRun': ['All']}}");
    world_answer(world_only(&b.w), 201, "{}");
    bench_done(&b);
}

TEST(reasons_decide_what_a_status_means)
{
    static const struct {
        int status;
        const char *body;
        enum error_code code;
    } cases[] = {
        { 409, "{'kind': 'Status', 'status': 'Failure', 'reason': 'AlreadyExists'}", ERR_EXISTS },
        { 409, "{'kind': 'Status', 'status': 'Failure', 'reason': 'Conflict'}", ERR_CONFLICT },
        { 422, "{'kind': 'Status', 'status': 'Failure', 'reason': 'Invalid'}", ERR_INVALID },
        { 500, "{'kind': 'Status', 'status': 'Failure', 'reason': 'ServerTimeout'}", ERR_TIMEOUT },
        { 410, "{'kind': 'Status', 'status': 'Failure', 'reason': 'Expired'}", ERR_GONE },
        { 404, "{'kind': 'Status', 'status': 'Failure'}", ERR_NOT_FOUND },
        { 418, "{'kind': 'Status', 'status': 'Failure', 'reason': 'NewOne'}", ERR_INVALID },
        { 403, "Access denied", ERR_FORBIDDEN },
        { 502, "", ERR_UNAVAILABLE },
        { 500,
            "{'kind': 'Status', 'status': 'Failure', 'message': 'failed to create typed patch"
            " object (/a; /v1, Kind=ConfigMap): .dota: field not declared in schema'}",
            ERR_INVALID },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct bench b;
        bench_init(&b);
        get(&b);
        world_answer(world_only(&b.w), cases[i].status, cases[i].body);
        check_int(b.got.error.code, cases[i].code);
        check_int(b.got.status, cases[i].status);
        check(!b.got.outcome_unknown); /* a read */
        bench_done(&b);
    }
}

TEST(an_apply_conflict_keeps_its_causes_and_the_servers_words)
{
    struct bench b;
    bench_init(&b);
    kube_apply(b.client,
        POD,
        test_json("{}"),
        (struct kube_write){ .field_manager = "leeboard" },
        (struct kube_then){ keep, &b.got });
    world_answer(world_only(&b.w),
        409,
        "{'kind': 'Status', 'status': 'Failure', 'reason': 'Conflict', 'message': 'Apply failed',"
        " 'details': {'causes': [{'reason': 'FieldManagerConflict', 'message': 'conflict with x',"
        " 'field': '.spec.replicas'}]}}");
    check_int(b.got.error.code, ERR_CONFLICT);
    check_text(b.got.error.text, "apply pods ns/p: Apply failed");
    check_text(json_get_text(b.got.causes, "0.field"), ".spec.replicas");
    check(!b.got.outcome_unknown);
    bench_done(&b);
}

TEST(the_time_to_wait_comes_from_header_or_status)
{
    struct bench b;
    bench_init(&b);
    get(&b);
    struct world_call *c = world_only(&b.w);
    world_head_of(c, &(struct kube_head){ 429, .retry_after_ms = 7000, .content_type = "" });
    world_end(c);
    check_int(b.got.error.code, ERR_BUSY);
    check_int(b.got.error.retry_after_ms, 7000);
    get(&b);
    world_answer(world_only(&b.w),
        503,
        "{'kind': 'Status', 'status': 'Failure', 'details': {'retryAfterSeconds': 3}}");
    check_int(b.got.error.retry_after_ms, 3000);
    bench_done(&b);
}

TEST(a_change_whose_end_was_not_seen_has_an_unknown_outcome)
{
    struct bench b;
    bench_init(&b);
    create(&b);
    world_break(world_only(&b.w), ERR_UNAVAILABLE, true);
    check(b.got.outcome_unknown);
    create(&b);
    world_break(world_only(&b.w), ERR_UNAVAILABLE, false);
    check(!b.got.outcome_unknown);
    create(&b);
    world_advance(&b.w, 60000);
    check_int(b.got.error.code, ERR_TIMEOUT);
    check(b.got.outcome_unknown);
    /* An answer that breaks off after its head: the object is there, but which? */
    create(&b);
    world_head(world_only(&b.w), 201);
    world_break(world_only(&b.w), ERR_UNAVAILABLE, true);
    check(b.got.outcome_unknown);
    check_int(b.got.status, 201);
    /* etcd may have committed before the server ran out of time; a proxy knows nothing at all */
    create(&b);
    world_answer(
        world_only(&b.w), 504, "{'kind': 'Status', 'status': 'Failure', 'reason': 'Timeout'}");
    check(b.got.outcome_unknown);
    create(&b);
    world_answer(world_only(&b.w), 503, "<html>");
    check(b.got.outcome_unknown);
    create(&b);
    world_answer(world_only(&b.w),
        503,
        "{'kind': 'Status', 'status': 'Failure', 'reason': 'ServiceUnavailable'}");
    check(!b.got.outcome_unknown);
    create(&b);
    world_answer(world_only(&b.w), 201, "{'half': ");
    check(b.got.outcome_unknown);
    check_int(b.got.count, 8);
    check_int(b.w.opened, 8); /* nothing was ever sent twice */
    bench_done(&b);
}

TEST(a_page_of_html_is_no_answer)
{
    struct bench b;
    bench_init(&b);
    get(&b);
    struct world_call *c = world_only(&b.w);
    world_head_of(c, &(struct kube_head){ 200, .content_type = "text/html" });
    world_bytes(c, STR("<html>\n<b>Sign in</b>"));
    world_end(c);
    check_int(b.got.error.code, ERR_INTERNAL);
    check_text(b.got.error.text,
        "get pods ns/p: the answer is text/html, not JSON; is this a Kubernetes API server? It "
        "says: <html> <b>Sign in</b>");
    bench_done(&b);
}

TEST(an_answer_above_the_limit_is_cut_off)
{
    struct bench b;
    bench_init(&b);
    kube_raw(b.client, "/version", 100, (struct kube_then){ keep, &b.got });
    struct world_call *c = world_only(&b.w);
    world_head(c, 200);
    for (int i = 0; i < 5; i++)
        world_bytes(c, STR("12345678901234567890"));
    check_int(b.got.count, 0);
    world_bytes(c, STR("x"));
    check_int(b.got.error.code, ERR_TOO_LARGE);
    check_int(world_open_calls(&b.w), 0);
    bench_done(&b);
}

TEST(a_cancelled_question_gets_no_answer)
{
    struct bench b;
    bench_init(&b);
    struct kube_op *op = kube_get(b.client, POD, (struct kube_then){ keep, &b.got });
    get(&b);
    check_int(kube_client_pending(b.client), 2);
    kube_op_cancel(b.client, op);
    world_answer(world_only(&b.w), 200, "{}");
    check_int(b.got.count, 1);
    get(&b);
    kube_client_free(b.client);
    check_int(world_open_calls(&b.w), 0);
    world_done(&b.w);
}
