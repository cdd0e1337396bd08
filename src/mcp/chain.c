#include "mcp/exchange.h"

#include <stdlib.h>

#include "http/server.h"
#include "mcp/backend.h"
#include "mcp/rpc.h"

/* ---- opening ---- */

static const struct mcp_step *find_step(const char *type)
{
    for (size_t i = 0; mcp_steps[i]; i++)
        if (text_eq(mcp_steps[i]->type, type))
            return mcp_steps[i];
    return NULL;
}

/* Whether a path of the table covers this one (1), is below it (-1), or neither (0). */
static int covers(struct str known, struct str path)
{
    while (known.ptr && path.ptr) {
        struct str a = str_cut(&known, '.'), b = str_cut(&path, '.');
        if (!str_eq(a, b) && !str_eq(a, STR("*")))
            return 0;
    }
    return known.ptr ? -1 : 1;
}

static void warn_unknown(
    const struct mcp_open *o, const struct mcp_step *step, struct json v, const char *path);

static void warn_key(const struct mcp_open *o, const struct mcp_step *step, const char *path,
    const char *key, struct json value)
{
    const char *at = *path ? arena_printf(o->arena, "%s.%s", path, key) : key;
    bool is_above = false;
    for (const char *const *known = step->parameters; *known; known++) {
        int found = covers(str_of(*known), str_of(at));
        if (found > 0)
            return;
        is_above = is_above || found < 0;
    }
    if (is_above)
        warn_unknown(o, step, value, at);
    else if (!json_is(value, JSON_NULL))
        o->warn(o->ctx,
            arena_printf(o->arena,
                "middleware %s: parameters.%s is not known to this version and has no effect",
                step->type,
                at));
}

static void warn_unknown(
    const struct mcp_open *o, const struct mcp_step *step, struct json v, const char *path)
{
    size_t i = 0;
    json_each_member (m, v)
        warn_key(o, step, path, m->key, m->value);
    json_each (item, v)
        warn_key(o, step, path, arena_printf(o->arena, "%zu", i++), *item);
}

static bool open_link(
    struct mcp_chain *c, const struct mcp_open *o, struct json entry, size_t i, struct error *err)
{
    const char *type = json_get_text(entry, "type");
    const struct mcp_step *step = find_step(type);
    if (!step)
        return fail(err,
            ERR_UNSUPPORTED,
            "middleware_configs[%zu].type: \"%s\" is not known to this version. Remove it, or run "
            "a version that has it.",
            i,
            type ? type : "");
    void *state = step->open(o, json_get(entry, "parameters"), err);
    if (!state)
        return fail_in(err, "middleware_configs[%zu] (%s)", i, type);
    c->links[c->count++] = (struct mcp_link){ step, state };
    if (o->warn && step->parameters)
        warn_unknown(o, step, json_get(entry, "parameters"), "");
    return true;
}

bool chain_open(struct mcp_chain *c, const struct mcp_open *o, struct json list, struct error *err)
{
    size_t i = 0;
    *c = (struct mcp_chain){ 0 };
    if (json_present(list) && !json_is(list, JSON_LIST) && !json_is(list, JSON_NULL))
        return fail(
            err, ERR_INVALID, "middleware_configs: expected list, got %s", json_type_name(list));
    c->links =
        arena_array(o->arena, (json_is(list, JSON_LIST) ? list.count : 0) + 1, sizeof(*c->links));
    json_each (entry, list) {
        if (!open_link(c, o, *entry, i++, err)) {
            chain_close(c);
            return false;
        }
    }
    return true;
}

void chain_close(struct mcp_chain *c)
{
    while (c->count) {
        struct mcp_link *l = &c->links[--c->count];
        if (l->step->close)
            l->step->close(l->state);
    }
}

/* ---- running ---- */

void chain_begin(struct mcp_exchange *x)
{
    const struct mcp_chain *c = proxy_chain(x->proxy);
    x->slots = arena_array(&x->arena, c->count + 1, sizeof(*x->slots));
    x->wants = arena_array(&x->arena, c->count + 1, sizeof(*x->wants));
    for (size_t i = 0; i < c->count; i++)
        if (c->links[i].step->serve && c->links[i].step->serve(c->links[i].state, x)) {
            x->slots = NULL;
            chain_send_answer(x);
            return;
        }
    chain_run(x);
}

static bool has_body(const struct mcp_exchange *x)
{
    return x->body_bytes != 0;
}

static void refuse_body(struct mcp_exchange *x, enum rpc_result why, const struct error *err)
{
    bool is_parse = why == RPC_PARSE_ERROR;
    const char *text =
        arena_printf(&x->arena, "%s: %s", is_parse ? "Parse error" : "Invalid Request", err->text);
    struct str id = x->request.id_raw.ptr ? x->request.id_raw : STR("null");
    struct str body = rpc_error(
        &x->arena, id, is_parse ? RPC_PARSE_ERROR_CODE : RPC_INVALID_CODE, text, json_none);
    mcp_answer(x, 400, "application/json", body);
    chain_send_answer(x);
}

/* False: the request was answered. */
static bool read_body(struct mcp_exchange *x)
{
    struct error err;
    if (buf_overflowed(&x->body) || (int64_t)x->body.len > x->body_limit) {
        proxy_answer_text(x, 413, "Request Entity Too Large");
        return false;
    }
    enum rpc_result got = rpc_read(&x->arena, buf_str(&x->body), &x->request, &err);
    if (got == RPC_OK)
        return true;
    refuse_body(x, got, &err);
    return false;
}

static bool check_method(struct mcp_exchange *x)
{
    static const char *const known[] = { "GET", "POST", "DELETE", "HEAD", "OPTIONS" };
    for (size_t i = 0; i < lengthof(known); i++)
        if (str_eq(x->method, str_of(known[i])))
            return true;
    mcp_answer_header(x, "allow", "GET, POST, DELETE");
    proxy_answer_text(x, 405, "Method not allowed");
    return false;
}

/* True: the hooks of this stage are complete. */
static bool run_hooks(struct mcp_exchange *x, bool message)
{
    const struct mcp_chain *c = proxy_chain(x->proxy);
    while (x->step < c->count) {
        const struct mcp_link *l = &c->links[x->step];
        enum mcp_verdict (*hook)(void *, struct mcp_exchange *, void **) =
            message ? l->step->message : l->step->head;
        enum mcp_verdict verdict = hook ? hook(l->state, x, &x->slots[x->step]) : MCP_NEXT;
        if (verdict == MCP_LATER) {
            x->waiting = true;
            if (!x->body_ended)
                http_exchange_pause(x->http);
            return false;
        }
        if (verdict == MCP_ANSWER) {
            chain_send_answer(x);
            return false;
        }
        x->step++;
    }
    x->step = 0;
    return true;
}

static void ask_wants(struct mcp_exchange *x)
{
    const struct mcp_chain *c = proxy_chain(x->proxy);
    for (size_t i = 0; i < c->count; i++) {
        const struct mcp_step *s = c->links[i].step;
        x->wants[i] =
            s->answer && s->wants_answer && s->wants_answer(c->links[i].state, x, &x->slots[i]);
        x->wants_any = x->wants_any || x->wants[i];
    }
}

void chain_run(struct mcp_exchange *x)
{
    if (x->stage == STAGE_HEAD) {
        if (!run_hooks(x, false))
            return;
        if (!check_method(x))
            return;
        if (x->body_bytes > x->body_limit) {
            proxy_answer_text(x, 413, "Request Entity Too Large");
            return;
        }
        x->stage = STAGE_BODY;
    }
    if (x->stage == STAGE_BODY) {
        if (!x->body_ended)
            return;
        bool is_post = str_eq(x->method, STR("POST"));
        if ((has_body(x) || is_post) && (x->body.len || is_post) && !read_body(x))
            return;
        x->stage = STAGE_MESSAGE;
    }
    if (x->stage == STAGE_MESSAGE) {
        if (x->request.kind != MCP_NONE && !run_hooks(x, true))
            return;
        ask_wants(x);
        x->stage = STAGE_BACKEND;
        proxy_dispatch(x);
    }
}

void mcp_step_continue(struct mcp_exchange *x, enum mcp_verdict verdict)
{
    assert(x->waiting && verdict != MCP_LATER);
    x->waiting = false;
    if (x->in_messages) {
        answer_continue(x, verdict);
        return;
    }
    if (!x->body_ended)
        http_exchange_resume(x->http);
    if (verdict == MCP_ANSWER) {
        chain_send_answer(x);
        return;
    }
    x->step++;
    chain_run(x);
}

void chain_send_answer(struct mcp_exchange *x)
{
    assert(x->answered && !x->responded);
    if (!x->body_ended && x->slots && x->body_bytes > 0 && x->body_bytes <= x->request_capture) {
        x->deferred = true;
        x->stage = STAGE_DONE;
        return;
    }
    struct http_header list[lengthof(x->answer_headers) + 1];
    size_t count = x->answer_header_count;
    memcpy(list, x->answer_headers, count * sizeof(*list));
    if (x->answer_type)
        list[count++] = (struct http_header){ STR("content-type"), str_of(x->answer_type) };
    x->stage = STAGE_DONE;
    x->responded = x->finished = true;
    x->status = x->answer_status;
    x->answer_bytes = (int64_t)x->answer_body.len;
    if (x->capture_max) {
        buf_init(&x->captured, x->capture_max + 1);
        buf_add(&x->captured,
            x->answer_body.ptr,
            x->answer_body.len < x->capture_max ? x->answer_body.len : x->capture_max);
    }
    chain_begun(x);
    bool has_no_body = str_eq(x->method, STR("HEAD")) || x->status == 204 || x->status == 304;
    size_t bytes = has_no_body ? 0 : x->answer_body.len;
    http_exchange_respond(x->http, x->status, (struct http_headers){ list, count }, (int64_t)bytes);
    if (bytes)
        http_exchange_write(x->http, x->answer_body);
    http_exchange_finish(x->http);
}

void chain_begun(struct mcp_exchange *x)
{
    const struct mcp_chain *c = proxy_chain(x->proxy);
    for (size_t i = 0; i < c->count && x->slots; i++) {
        const struct mcp_link *l = &c->links[i];
        if (l->step->begun)
            l->step->begun(l->state, x, &x->slots[i]);
    }
}

void chain_end(struct mcp_exchange *x)
{
    const struct mcp_chain *c = proxy_chain(x->proxy);
    for (size_t i = 0; i < c->count && x->slots; i++) {
        const struct mcp_link *l = &c->links[i];
        if (l->step->end)
            l->step->end(l->state, x, &x->slots[i]);
    }
}
