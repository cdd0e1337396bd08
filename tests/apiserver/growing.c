#include "tests/apiserver/growing.h"

#include <time.h>

#include "apiserver/core/internal.h"
#include "base/yaml.h"

#define MARGIN_MS 4.0
#define MARGIN_STEPS 2000
#define ROUNDS_MAX 6
#define REQUEST_MS_MAX 3000.0

const char *const growing_media[] = {
    [OBJECT] = "application/json",
    [JSON_PATCH] = "application/json-patch+json",
    [MERGE_PATCH] = "application/merge-patch+json",
    [STRATEGIC_PATCH] = "application/strategic-merge-patch+json",
    [APPLY_PATCH] = "application/apply-patch+yaml",
    [YAML] = "application/yaml",
    [PROTOBUF] = "application/vnd.kubernetes.protobuf",
};

struct str growing_text(const char *head, const char *item, const char *tail, size_t n, bool back)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 20);
    buf_add_text(&b, head);
    for (size_t i = 0; i < n; i++) {
        size_t number = back ? n - 1 - i : i;
        buf_add_char(&b, ',');
        for (const char *at = item; *at; at++)
            if (at[0] == '%') {
                buf_printf(&b, "%zu", number);
                at += 2;
            } else {
                buf_add_char(&b, *at);
            }
    }
    buf_add_text(&b, tail ? tail : "");
    return desk_quotes(buf_text(&b));
}

double growing_cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int post(struct desk *r, const char *target, struct str body)
{
    struct desk_stream *s = desk_open(r, "POST", target, growing_media[OBJECT], NULL, body);
    desk_settle(r);
    return s->status;
}

static void add_varint(struct buf *b, size_t v)
{
    for (; v > 127; v >>= 7)
        buf_add_char(b, (char)(v | 128));
    buf_add_char(b, (char)v);
}

static void add_field(struct buf *b, int number, struct str bytes)
{
    buf_add_char(b, (char)(number << 3 | 2));
    add_varint(b, bytes.len);
    buf_add(b, bytes.ptr, bytes.len);
}

/* A ConfigMap or another object whose name is field 1 of its metadata, and which has everything
 * else as pairs of texts in field 2: data, or what this kind does not have. */
static struct str encode(struct arena *a, struct json object)
{
    cleanup(buf_done) struct buf raw = BUF_INIT((size_t)64 << 20);
    cleanup(buf_done) struct buf type = BUF_INIT(1024), part = BUF_INIT(4096);
    cleanup(buf_done) struct buf all = BUF_INIT((size_t)64 << 20);
    add_field(&part, 1, str_of(json_get_text(object, "metadata.name")));
    add_field(&raw, 1, buf_str(&part));
    json_each_member (m, json_member(object, "data")) {
        buf_reset(&part);
        add_field(&part, 1, str_of(m->key));
        add_field(&part, 2, str_of(json_text(m->value)));
        add_field(&raw, 2, buf_str(&part));
    }
    add_field(&type, 1, str_of(json_get_text(object, "apiVersion")));
    add_field(&type, 2, str_of(json_get_text(object, "kind")));
    buf_add(&all, "k8s", 4);
    add_field(&all, 1, buf_str(&type));
    add_field(&all, 2, buf_str(&raw));
    return (struct str){ str_dup(a, buf_str(&all)), all.len };
}

static struct str in_form(enum growing_form form, struct str text)
{
    if (form != YAML && form != PROTOBUF)
        return text;
    struct json v;
    struct error err;
    check(json_parse(test_arena(), text, &v, &err));
    if (form == PROTOBUF)
        return encode(test_arena(), v);
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 20);
    yaml_print(&b, v);
    return (struct str){ str_dup(test_arena(), buf_str(&b)), b.len };
}

static void make_crowd(struct desk *r, const struct growing *g, size_t n)
{
    for (size_t i = 0; g->crowd && i < n; i++) {
        const char *at = strstr(g->crowd, "%zu");
        const char *body =
            arena_printf(test_arena(), "%.*s%zu%s", (int)(at - g->crowd), g->crowd, i, at + 3);
        check_int(post(r, g->crowd_target, desk_quotes(body)), 201);
    }
}

struct growing_cost growing_send(const struct growing *g, size_t n)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ 0 });
    make_crowd(&r, g, n);
    if (g->setup_target)
        check_int(post(&r, g->setup_target, desk_quotes(g->setup_body)), 201);
    if (g->before_target &&
        post(&r,
            g->before_target,
            growing_text(g->before_head, g->before_item, g->before_tail, n, false)) != 201)
        check_int(post(&r,
                      g->before_target,
                      growing_text(g->before_head, g->before_item, g->before_tail, 0, false)),
            201);
    struct str text = growing_text(g->head, g->item, g->tail, n, true);
    struct str body = g->in_target ? STR("") : in_form(g->form, text);
    const char *target =
        g->in_target ? arena_printf(test_arena(), "%s%s", g->target, text.ptr) : g->target;
    double start = growing_cpu_ms();
    struct desk_stream *s = desk_open(&r, g->method, target, growing_media[g->form], NULL, body);
    struct growing_cost cost = { .steps = r.server->last_steps };
    desk_settle(&r);
    cost.ms = growing_cpu_ms() - start;
    cost.status = s->status;
    desk_done(&r);
    return cost;
}

static bool is_fair(struct growing_cost once, struct growing_cost twice)
{
    return twice.ms <= GROWING_RATIO_MAX * once.ms + MARGIN_MS && twice.ms < REQUEST_MS_MAX;
}

bool growing_is_fair(const struct growing *g, size_t n, bool verbose)
{
    struct growing_cost once = growing_send(g, n), twice = growing_send(g, 2 * n);
    for (int i = 1; i < ROUNDS_MAX && !is_fair(once, twice); i++) {
        double first = growing_send(g, n).ms, second = growing_send(g, 2 * n).ms;
        once.ms = first < once.ms ? first : once.ms;
        twice.ms = second < twice.ms ? second : twice.ms;
    }
    bool steps = (double)twice.steps <= GROWING_RATIO_MAX * (double)once.steps + MARGIN_STEPS;
    bool fair = steps && is_fair(once, twice);
    if (verbose || !fair)
        printf("%-56s %6zu: %8.1f ms, %8.1f ms twice; %llu steps, %llu twice; %d %d\n",
            g->name,
            n,
            once.ms,
            twice.ms,
            (unsigned long long)once.steps,
            (unsigned long long)twice.steps,
            once.status,
            twice.status);
    return fair;
}
