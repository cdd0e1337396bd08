/* lora.call: loads or unloads an adapter at one server. Args: address ("10.0.0.1:30000"), path and
 * body (a map); others only distinguish calls from each other. The result is { "already": bool }:
 * whether the adapter was already loaded, or already missing. */

#include "base/buf.h"
#include "base/str.h"
#include "fetch/internal.h"
#include "http/client.h"

#define LORA_TOTAL_MS 60000 /* the server reads the weights before it answers */
#define LORA_BODY_BYTES_MAX ((size_t)64 << 10)

struct lora {
    struct effect_run run;
    struct remote remote;
    struct buf body;
    int status;
};

static struct lora *lora_of(struct effect_run *run)
{
    return container_of(run, struct lora, run);
}

static void stop(struct effect_run *run)
{
    remote_stop(&lora_of(run)->remote);
    buf_done(&lora_of(run)->body);
}

static bool on_head(struct remote *r, const struct http_response *response)
{
    ((struct lora *)r->ctx)->status = response->status;
    return true;
}

static bool on_data(struct remote *r, struct str bytes)
{
    struct lora *l = r->ctx;
    buf_add(&l->body, bytes.ptr, bytes.len);
    return !buf_overflowed(&l->body);
}

static void on_end(struct remote *r, const struct error *err)
{
    struct lora *l = r->ctx;
    struct error why;
    const char *said = buf_text(&l->body);
    bool already = strstr(said, "already loaded") || strstr(said, "not loaded");
    bool good = !err && ((l->status >= 200 && l->status < 300) || already);
    if (err) {
        why = *err;
        fail_in(&why, "POST %s", r->where);
    } else if (!good) {
        fail(&why,
            error_code_of_http(l->status),
            "POST %s answered %d: %.200s",
            r->where,
            l->status,
            said);
    }
    struct json result = json_fields(&l->run.arena, { "already", json_bool(already) });
    buf_done(&l->body);
    run_end(&l->run, json_if(good, result), good ? NULL : &why);
}

static void start(struct effect_run *run)
{
    struct lora *l = lora_of(run);
    struct arena *a = &run->arena;
    run->stop = stop;
    buf_init(&l->body, LORA_BODY_BYTES_MAX);
    l->remote = (struct remote){
        .run = run,
        .method = "POST",
        .url = arena_printf(a,
            "http://%s%s",
            json_get_text(run->args, "address"),
            json_get_text(run->args, "path")),
        .headers = json_map(a, { "content-type", json_str("application/json") }),
        .body = str_of(json_to_text(a, json_get(run->args, "body"))),
        .total_ms = LORA_TOTAL_MS,
        .any_address = true,
        .head = on_head,
        .data = on_data,
        .end = on_end,
        .ctx = l,
    };
    remote_start(&l->remote);
}

const struct effect_type effect_lora = { "lora.call", sizeof(struct lora), start };
