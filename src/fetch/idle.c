/* pods.idle: asks every address whether it has requests now. All must answer that they have none;
 * one that cannot be reached counts as busy. */

#include "base/buf.h"
#include "base/str.h"
#include "fetch/internal.h"
#include "http/client.h"

#define IDLE_TOTAL_MS 5000
#define IDLE_BODY_BYTES_MAX ((size_t)4 << 20)
#define IDLE_ADDRESSES_MAX 256

struct idle {
    struct effect_run run;
    struct remote remote;
    struct buf body;
    size_t at; /* index of the address */
    int status;
};

static struct idle *idle_of(struct effect_run *run)
{
    return container_of(run, struct idle, run);
}

static void stop(struct effect_run *run)
{
    remote_stop(&idle_of(run)->remote);
    buf_done(&idle_of(run)->body);
}

static void answer(struct idle *i, bool idle, const char *reason, const char *message)
{
    struct arena *a = &i->run.arena;
    buf_done(&i->body);
    run_end(&i->run,
        json_fields(a,
            { "idle", json_bool(idle) },
            { "reason", json_str(reason) },
            { "message", json_str(message) }),
        NULL);
}

/* The sum of a gauge's series in Prometheus text; false if there is none, which says nothing about
 * the server. */
static bool sum_of_gauge(struct str text, const char *name, double *ret)
{
    bool found = false;
    double sum = 0;
    while (text.ptr) {
        struct str line = str_trim(str_cut(&text, '\n'));
        if (!str_starts(line, str_of(name)))
            continue;
        struct str rest = { line.ptr + strlen(name), line.len - strlen(name) };
        if (rest.len && rest.ptr[0] == '{') {
            const char *end = memrchr(rest.ptr, '}', rest.len);
            if (!end)
                continue;
            rest = (struct str){ end + 1, rest.len - (size_t)(end + 1 - rest.ptr) };
        } else if (!rest.len || (rest.ptr[0] != ' ' && rest.ptr[0] != '\t')) {
            continue;
        }
        rest = str_trim(rest);
        double value;
        if (str_to_real(str_cut(&rest, ' '), &value)) {
            sum += value;
            found = true;
        }
    }
    *ret = sum;
    return found;
}

static bool slots_idle(struct arena *a, struct str text, bool *ret)
{
    struct json slots;
    if (!json_parse(a, text, &slots, NULL) || slots.type != JSON_LIST)
        return false;
    *ret = true;
    json_each (slot, slots)
        *ret = *ret && !json_get_bool(*slot, "is_processing", true);
    return true;
}

/* Whether this server is idle; false if its answer does not contain that. */
static bool judge(struct idle *i, bool *ret_idle)
{
    const char *kind = json_get_text(i->run.args, "kind");
    if (text_eq(kind, "endpoint")) {
        *ret_idle = i->status >= 200 && i->status < 300;
        return true;
    }
    if (i->status != 200 || buf_overflowed(&i->body))
        return false;
    if (text_eq(kind, "slots"))
        return slots_idle(&i->run.arena, buf_str(&i->body), ret_idle);
    double sum;
    if (!sum_of_gauge(buf_str(&i->body), json_get_text(i->run.args, "target"), &sum))
        sum = 1; /* an absent gauge counts as busy */
    *ret_idle = sum == 0;
    return true;
}

static void ask_next(struct idle *i);

static bool on_head(struct remote *r, const struct http_response *response)
{
    ((struct idle *)r->ctx)->status = response->status;
    return true;
}

static bool on_data(struct remote *r, struct str bytes)
{
    struct idle *i = r->ctx;
    buf_add(&i->body, bytes.ptr, bytes.len);
    return !buf_overflowed(&i->body);
}

static void on_end(struct remote *r, const struct error *err)
{
    struct idle *i = r->ctx;
    struct arena *a = &i->run.arena;
    bool idle = false;
    if (err) {
        answer(i, false, "IdleCheckFailed", arena_printf(a, "%s: %s", r->where, err->text));
    } else if (!judge(i, &idle)) {
        answer(i,
            false,
            "IdleCheckFailed",
            arena_printf(a, "%s answered %d and nothing that could be read", r->where, i->status));
    } else if (!idle) {
        answer(i, false, "PodsBusy", arena_printf(a, "%s serves requests", r->where));
    } else {
        i->at++;
        ask_next(i);
    }
}

static const char *path_of(const struct idle *i)
{
    const char *kind = json_get_text(i->run.args, "kind");
    const char *target = json_get_text(i->run.args, "target");
    return text_eq(kind, "gauge") ? "/metrics" : text_empty(target) ? "/slots" : target;
}

static void ask_next(struct idle *i)
{
    struct json addresses = json_get(i->run.args, "addresses");
    if (i->at == addresses.count) {
        answer(i, true, NULL, NULL);
        return;
    }
    buf_reset(&i->body);
    i->remote = (struct remote){
        .run = &i->run,
        .method = "GET",
        .url =
            arena_printf(&i->run.arena, "http://%s%s", addresses.items[i->at].string, path_of(i)),
        .headers = json_empty_map(),
        .total_ms = IDLE_TOTAL_MS,
        .any_address = true,
        .head = on_head,
        .data = on_data,
        .end = on_end,
        .ctx = i,
    };
    remote_start(&i->remote);
}

static void nobody(void *ctx)
{
    answer(ctx, true, NULL, NULL);
}

static void start(struct effect_run *run)
{
    struct idle *i = idle_of(run);
    run->stop = stop;
    buf_init(&i->body, IDLE_BODY_BYTES_MAX);
    struct json addresses = json_get(run->args, "addresses");
    if (addresses.count > IDLE_ADDRESSES_MAX) {
        fail(&run->why, ERR_TOO_LARGE, "more than %d addresses", IDLE_ADDRESSES_MAX);
        run_fail_later(run);
        return;
    }
    if (addresses.count == 0) {
        timer_init(&run->later, nobody, i);
        timer_set(fetch_env(run->fetch), &run->later, 0);
        return;
    }
    ask_next(i);
}

const struct effect_type effect_idle = { "pods.idle", sizeof(struct idle), start };
