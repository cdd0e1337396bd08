#include "engine/engine.h"

#include "base/log.h"
#include "engine/facts.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/settings.h"
#include "kube/client.h"
#include "merge/apply.h"
#include "merge/schema.h"
#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/kube/world.h"

/* An API server that holds one Model, on a clock that the test moves, and effects that all end in
 * the same way a moment after they began. */
struct effect_run {
    const struct effect_sink *sink;
    void *ctx;
};

struct bench {
    struct world w;
    struct kube_client *client;
    struct schemas *schemas;
    struct effect_runner runner;
    struct effect_run run; /* sink NULL: none under way */
    struct llmkube_settings settings;
    struct engine_family family;
    struct engine *engine;
    struct json model;
    int version, writes, looks;
    int64_t looked_ms[64];
    enum error_code ends_with;
};

static struct effect_run *start(
    void *self, const char *effect, struct json args, const struct effect_sink *sink, void *ctx)
{
    struct bench *b = self;
    (void)args;
    check_text(effect, "model.copy");
    check(!b->run.sink && b->looks < (int)lengthof(b->looked_ms));
    b->looked_ms[b->looks++] = b->w.now_ms;
    b->run = (struct effect_run){ sink, ctx };
    return &b->run;
}

static void cancel(void *self, struct effect_run *run)
{
    (void)self;
    run->sink = NULL;
}

static const struct kind *const kinds[] = { &llmkube_model_kind, NULL };

static void bench_open(struct bench *b, const char *source)
{
    struct error err;
    *b = (struct bench){ .version = 7, .settings = llmkube_settings_default };
    world_init(&b->w);
    b->client = kube_client_new(&b->w.transport, &b->w.env);
    b->schemas = schemas_new();
    json_each (crd, stage_yaml("api/inference.llmkube.dev_models.yaml"))
        check(schemas_add_crd(b->schemas, *crd, &err));
    b->runner = (struct effect_runner){ .start = start, .cancel = cancel, .self = b };
    b->settings.allowed_host_path_roots = test_json("['/srv']");
    b->model = test_json(arena_printf(test_arena(),
        "{'apiVersion': 'inference.llmkube.dev/v1alpha1', 'kind': 'Model', 'metadata': {'name': "
        "'m', 'namespace': 'ns', 'uid': 'u', 'generation': 1, 'resourceVersion': '7'}, 'spec': "
        "{'source': '%s'}}",
        source));
    b->family =
        (struct engine_family){ .name = "llmkube", .kinds = kinds, .settings = &b->settings };
    b->engine = engine_new(&(struct engine_options){
        .env = &b->w.env,
        .transport = &b->w.transport,
        .client = b->client,
        .effects = &b->runner,
        .schemas = b->schemas,
        .families = &b->family,
        .family_count = 1,
        .manager = "leeboard",
    });
    log_setup(LOG_FORMAT_TEXT, LOG_LEVEL_ERROR);
    engine_lead(b->engine);
}

static void bench_close(struct bench *b)
{
    engine_free(b->engine);
    kube_client_free(b->client);
    schemas_free(b->schemas);
    world_done(&b->w);
    log_setup(LOG_FORMAT_TEXT, LOG_LEVEL_INFO);
}

static const char *watch_event(const char *type, struct json object)
{
    struct json e = json_fields(test_arena(), { "type", json_str(type) }, { "object", object });
    return arena_printf(test_arena(), "%s\n", json_to_text(test_arena(), e));
}

static void answer_watch(struct bench *b, struct world_call *c)
{
    world_head(c, 200);
    if (!strstr(c->path, "sendInitialEvents"))
        return; /* it goes on from where it was */
    if (strstr(c->path, "/models?"))
        world_bytes(c, str_of(watch_event("ADDED", b->model)));
    struct json mark = test_json(arena_printf(test_arena(),
        "{'metadata': {'resourceVersion': '%d', 'annotations': {'k8s.io/initial-events-end': "
        "'true'}}}",
        b->version));
    world_bytes(c, str_of(watch_event("BOOKMARK", mark)));
}

static void tell_watchers(struct bench *b)
{
    for (struct world_call *c = b->w.calls; c; c = c->next)
        if (strstr(c->path, "/models?") && strstr(c->path, "watch=")) {
            world_bytes(c, str_of(watch_event("MODIFIED", b->model)));
            return;
        }
}

static void store(struct bench *b, struct json object)
{
    b->model = json_with(test_arena(),
        object,
        "metadata.resourceVersion",
        json_strf(test_arena(), "%d", ++b->version));
}

static void answer_apply(struct bench *b, struct world_call *c)
{
    struct error err;
    struct json config;
    struct apply_result result;
    struct apply_request request = {
        .schema = schema_of(b->schemas, "inference.llmkube.dev", "v1alpha1", "Model"),
        .api_version = "inference.llmkube.dev/v1alpha1",
        .manager = "leeboard",
        .subresource = "status",
        .now = "2026-11-15T00:00:00Z",
        .force = true,
    };
    check(json_parse(test_arena(), str_of(c->body), &config, &err));
    check(apply_config(test_arena(), &request, b->model, config, &result, &err));
    store(b, result.object);
    b->writes++;
    world_head(c, 200);
    world_bytes(c, str_of(json_to_text(test_arena(), b->model)));
    world_end(c);
    tell_watchers(b);
}

static void end_effect(struct bench *b)
{
    struct effect_run run = b->run;
    struct error err;
    fail(&err, b->ends_with, "/srv/none.gguf: as the test says");
    b->run.sink = NULL;
    run.sink->done(run.ctx, json_none, &err);
}

/* A second at a time: whatever is asked is answered. */
static void live(struct bench *b, int64_t seconds)
{
    for (int64_t i = 0; i < seconds; i++) {
        world_advance(&b->w, 1000);
        for (struct world_call *c = b->w.calls, *next; c; c = next) {
            next = c->next;
            if (c->seen)
                continue;
            c->seen = true;
            if (text_eq(c->method, "PATCH"))
                answer_apply(b, c);
            else
                answer_watch(b, c);
            next = b->w.calls; /* an answer may have opened or ended any */
        }
        if (b->run.sink)
            end_effect(b);
    }
}

static const char *degraded(const struct bench *b)
{
    struct json c = json_find(json_get(b->model, "status.conditions"), "type", "Degraded");
    return json_get_text(c, "status") ? json_get_text(c, "reason") : NULL;
}

TEST(a_file_that_is_missing_is_looked_for_every_five_minutes_and_at_once_after_a_change)
{
    struct bench b;
    bench_open(&b, "file:///srv/none.gguf");
    b.ends_with = ERR_NOT_FOUND;
    live(&b, 20);
    check_text(degraded(&b), "CopyFailed");
    check_int(b.looks, 1);
    int written = b.writes;
    live(&b, 3600);
    check(b.looks >= 11 && b.looks <= 13); /* an hour has twelve times five minutes */
    for (int i = 1; i < b.looks; i++)
        check(b.looked_ms[i] - b.looked_ms[i - 1] >= 300000);
    check_int(b.writes, written); /* and each finds the same: nothing is said again */
    int before = b.looks;
    struct json edited =
        json_with(test_arena(), b.model, "spec.source", json_str("file:///srv/other.gguf"));
    store(&b, json_with(test_arena(), edited, "metadata.generation", json_int(2)));
    tell_watchers(&b);
    live(&b, 2);
    check_int(b.looks, before + 1);
    bench_close(&b);
}

TEST(a_source_that_fails_for_now_is_asked_again_with_growing_pauses)
{
    struct bench b;
    bench_open(&b, "file:///srv/none.gguf");
    b.ends_with = ERR_UNAVAILABLE;
    live(&b, 600);
    check(b.looks >= 6 && b.looks <= 14);
    int64_t first = b.looked_ms[1] - b.looked_ms[0];
    int64_t last = b.looked_ms[b.looks - 1] - b.looked_ms[b.looks - 2];
    check(first <= 3000 && last >= 30000);
    bench_close(&b);
}

/* What /healthz answers by: 503 while a key is ready and none has its turn. Seen to fail when the
 * time since the last turn counted, however long nobody had wanted one. */
TEST(an_engine_that_gives_no_key_its_turn_is_not_healthy)
{
    struct bench b;
    struct error err;
    bench_open(&b, "file:///srv/none.gguf");
    b.ends_with = ERR_NOT_FOUND;
    live(&b, 20);
    world_stop(&b.w, 120000);
    check(engine_healthy(b.engine, &err)); /* nothing to do is no reason */
    live(&b, 1);
    store(&b, json_with(test_arena(), b.model, "metadata.generation", json_int(2)));
    tell_watchers(&b);
    check(engine_healthy(b.engine, &err)); /* its turn is yet to come */
    world_stop(&b.w, 61000);
    check_fails(engine_healthy(b.engine, &err), err, "1 keys are ready and none had its turn for");
    live(&b, 1);
    check(engine_healthy(b.engine, &err));
    bench_close(&b);
}
