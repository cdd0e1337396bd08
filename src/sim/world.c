#include "sim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cli/embedded.h"
#include "sim/story.h"

/* 2026-01-01: the time at the start of a run. */
#define SIM_EPOCH_MS 1767225600000
#define ANSWER_BYTES_MAX ((size_t)64 << 20)

/* ---- random numbers ---- */

/* SplitMix64: one addition and some mixing; all seeds are equally good. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

uint64_t sim_random(struct sim *s, enum sim_stream stream)
{
    return next_random(&s->random[stream]);
}

uint32_t sim_below(struct sim *s, enum sim_stream stream, uint32_t below)
{
    return below ? (uint32_t)(sim_random(s, stream) % below) : 0;
}

bool sim_chance(struct sim *s, enum sim_stream stream, uint32_t of_1000)
{
    return of_1000 && sim_below(s, stream, 1000) < of_1000;
}

/* ---- the clock ---- */

static int64_t env_mono(void *ctx)
{
    return ((struct sim *)ctx)->now_ms;
}

static int64_t env_wall(void *ctx)
{
    return SIM_EPOCH_MS + ((struct sim *)ctx)->now_ms;
}

static uint64_t env_random(void *ctx)
{
    return sim_random(ctx, SIM_SERVER);
}

/* The owner of the next timer: the world, or an operator that is not paused. */
static struct timers *next_timers(struct sim *s, int64_t *at)
{
    struct timers *next = &s->timers;
    *at = timers_next_ms(next);
    for (size_t i = 0; i < s->options.operators; i++) {
        struct sim_operator *o = s->operators[i];
        int64_t due = timers_next_ms(&o->timers);
        if (due < o->wakes_ms)
            due = o->wakes_ms;
        if (timers_next_ms(&o->timers) != INT64_MAX && due < *at) {
            *at = due;
            next = &o->timers;
        }
    }
    return next;
}

void sim_run_until(struct sim *s, int64_t at_ms)
{
    while (s->failure.code == ERR_NONE) {
        int64_t at;
        struct timers *next = next_timers(s, &at);
        if (at > at_ms)
            break;
        if (at > s->now_ms)
            s->now_ms = at;
        s->steps++;
        timers_run(next, s->now_ms);
        if (apiserver_is_pending(s->server))
            apiserver_flush(s->server);
    }
    if (s->now_ms < at_ms)
        s->now_ms = at_ms;
}

void sim_fail(struct sim *s, const char *format, ...)
{
    if (s->failure.code != ERR_NONE)
        return;
    char text[sizeof(s->failure.text)];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fail(&s->failure, ERR_INTERNAL, "%s", text);
}

/* ---- immediate requests ---- */

struct answer {
    int status;
    struct buf body;
};

static void answer_head(void *ctx, const struct api_head *head)
{
    ((struct answer *)ctx)->status = head->status;
}

static bool answer_data(void *ctx, struct str bytes)
{
    struct answer *answer = ctx;
    buf_add(&answer->body, bytes.ptr, bytes.len);
    return true;
}

static void answer_end(void *ctx)
{
    (void)ctx;
}

static const struct api_handlers answer_handlers = { answer_head, answer_data, answer_end };

static const struct api_user admin = {
    .name = "admin",
    .uid = "",
    .groups = (const char *const[]){ "system:masters", "system:authenticated", NULL },
};

void sim_flush(struct sim *s)
{
    while (store_is_dirty(s->store))
        apiserver_flush(s->server);
}

int sim_ask(struct sim *s, const char *who, const char *method, const char *path,
    const char *content_type, struct json body, struct arena *a, struct json *ret)
{
    cleanup(arena_done) struct arena scratch = ARENA_INIT;
    struct answer answer = { .body = BUF_INIT(ANSWER_BYTES_MAX) };
    struct str target = str_of(path), plain = str_cut(&target, '?');
    char *text = json_present(body) ? json_to_text(&scratch, body) : NULL;
    sim_flush(s);
    s->request = (struct sim_request){ { who, NULL }, method, path, str_of(text) };
    s->request_changes = 0;
    apiserver_open(s->server,
        &(struct api_request){
            .method = method,
            .path = plain,
            .query = target,
            .content_type = content_type,
            .user_agent = who,
            .body = str_of(text),
            .user = &admin,
        },
        &answer_handlers,
        &answer);
    apiserver_flush(s->server);
    struct error err;
    struct json refusal = { 0 };
    if (answer.status >= 400 && !json_parse(&scratch, buf_str(&answer.body), &refusal, &err))
        refusal = json_none;
    const char *why = json_get_text(refusal, "message");
    sim_history_add(s->history,
        who,
        "%s %.*s -> %d%s%.150s",
        method,
        (int)plain.len,
        plain.ptr,
        answer.status,
        why ? " " : "",
        why ? why : "");
    s->request = (struct sim_request){ .actor.name = "server" };
    if (answer.status == 405 || answer.status == 415) /* then it is not simulated at all */
        sim_fail(s, "%s asks wrongly: %s %s -> %d", who, method, path, answer.status);
    if (ret && !json_parse(a, buf_str(&answer.body), ret, &err))
        *ret = json_none;
    buf_done(&answer.body);
    return answer.status;
}

/* ---- the whole ---- */

static void rival(void *ctx)
{
    struct sim *s = ctx;
    sim_scenario_rival(s->scenario);
}

static bool is_of_toolhive(struct json crd)
{
    return text_eq(json_get_text(crd, "spec.group"), SIM_TOOLHIVE);
}

/* The storage version comes first, because all clients here use it. */
static struct json newest_first(struct arena *a, struct json crd)
{
    struct json_builder versions;
    json_builder_init(&versions, a);
    json_each (version, json_get(crd, "spec.versions"))
        if (json_get_bool(*version, "storage", false))
            json_push(&versions, *version);
    json_each (version, json_get(crd, "spec.versions"))
        if (!json_get_bool(*version, "storage", false))
            json_push(&versions, *version);
    return json_with(a, crd, "spec.versions", json_list_end(&versions));
}

struct json sim_crds(struct arena *a, const struct sim_story *story)
{
    struct json_builder list;
    struct json all = embedded_crds(a);
    bool toolhive = false;
    for (const struct sim_step *step = story ? story->steps : NULL; step && step->kind; step++)
        json_each (crd, all)
            toolhive |=
                is_of_toolhive(*crd) && text_eq(json_get_text(*crd, "spec.names.kind"), step->kind);
    json_builder_init(&list, a);
    json_each (crd, all)
        if (toolhive || !is_of_toolhive(*crd))
            json_push(&list, newest_first(a, *crd));
    return json_list_end(&list);
}

struct sim *sim_new(const struct sim_options *options)
{
    struct sim *s = mem_new_of(struct sim);
    s->options = *options;
    if (!s->options.operators)
        s->options.operators = 1;
    assert(s->options.operators <= SIM_OPERATORS_MAX);
    uint64_t seed = options->seed;
    for (size_t i = 0; i < SIM_STREAM_COUNT; i++)
        s->random[i] = next_random(&seed);
    s->env = (struct env){ env_mono, env_wall, env_random, s, &s->timers };
    s->history = sim_history_new(s);
    s->disk = sim_disk_new(s);
    arena_init(&s->arena, ARENA_LIMIT_DEFAULT);
    s->crds = sim_crds(&s->arena, s->options.story);
    timer_init(&s->rival, rival, s);
    timer_init(&s->server_crash, sim_server_crash, s);
    s->checks = sim_checks_new(s);
    s->writes = sim_writes_new();
    s->wakes = sim_wakes_new(s);
    s->deletions = sim_deletions_new();
    s->causes = sim_causes_new(s);
    s->workloads = sim_workloads_new(s);
    s->stale = sim_stale_new(s);
    sim_server_start(s);
    s->cluster = sim_cluster_new(s);
    for (size_t i = 0; i < s->options.operators; i++)
        s->operators[i] = sim_operator_new(s, i);
    s->scenario = sim_scenario_new(s);
    s->rivals = sim_rivals_new(s);
    s->poison = sim_poison_new(s);
    return s;
}

void sim_free(struct sim *s)
{
    timer_stop(&s->env, &s->rival);
    sim_scenario_free(s->scenario);
    sim_rivals_free(s->rivals);
    sim_poison_free(s->poison);
    sim_cluster_free(s->cluster);
    for (size_t i = 0; i < s->options.operators; i++)
        sim_operator_free(s->operators[i]);
    timer_stop(&s->env, &s->server_crash);
    sim_server_stop(s);
    sim_network_end(s);
    sim_disk_free(s->disk);
    sim_workloads_free(s->workloads);
    sim_stale_free(s->stale);
    sim_checks_free(s->checks);
    sim_writes_free(s->writes);
    sim_wakes_free(s->wakes);
    sim_deletions_free(s->deletions);
    sim_causes_free(s->causes);
    timers_done(&s->timers);
    if (s->history)
        sim_history_free(s->history);
    arena_done(&s->arena);
    free(s);
}
