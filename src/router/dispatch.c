#include "router/dispatch.h"

#include <stdarg.h>
#include <stdlib.h>

/* Limit of what is read beyond the needed bytes, while a back end is slow or no route is known. */
#define PENDING_MAX ((int64_t)256 << 10)
#define NAMED_MAX 20 /* number of models in an error */

static int64_t now_ms(const struct dispatch *d)
{
    return env_mono_ms(d->router->env);
}

/* ---- the end of a request ---- */

void router_dispatch_count(struct dispatch *d)
{
    size_t held = d->hold.len > ROUTER_HOLD_BYTES ? d->hold.len - ROUTER_HOLD_BYTES : 0;
    d->router->held += held - d->held;
    d->held = held;
}

void router_dispatch_forget_body(struct dispatch *d)
{
    buf_done(&d->hold);
    buf_init(&d->hold, (size_t)ROUTER_BODY_BYTES_MAX + 1);
    d->base = d->came;
    router_dispatch_count(d);
}

static void drop_call(struct dispatch *d)
{
    if (d->call)
        http_call_cancel(take(d->call));
    d->can_write = false;
}

static void dispatch_free(struct dispatch *d)
{
    drop_call(d);
    router_wait_end(d);
    if (d->target && !d->finished)
        router_target_released(d->target);
    timer_stop(d->router->env, &d->clock);
    timer_stop(d->router->env, &d->later);
    timer_stop(d->router->env, &d->token_look);
    router_dispatch_forget_body(d);
    if ((*d->back = d->next_open))
        d->next_open->back = d->back;
    buf_done(&d->whole);
    buf_done(&d->tried);
    sse_reader_done(&d->events);
    free(d->scan);
    free(d->form);
    buf_done(&d->body);
    router_generation_unref(d->gen);
    d->router->open--;
    arena_done(&d->arena);
    free(d);
}

static void on_closed(void *ctx, const struct error *err)
{
    struct dispatch *d = ctx;
    if (err && !d->cut && !d->finished) {
        d->outcome = "client_closed";
        if (!d->responded)
            d->status = 499;
    }
    router_spend_settle(d);
    router_report_write(d);
    dispatch_free(d);
}

void router_dispatch_refuse(struct dispatch *d, int status, const char *outcome,
    const char *message, const struct http_header *extra)
{
    struct arena *a = &d->arena;
    drop_call(d);
    router_wait_end(d);
    timer_stop(d->router->env, &d->clock);
    d->routed = true;
    d->status = status;
    d->outcome = outcome;
    if (d->responded) { /* the head was sent while the request was held */
        router_answer_cut(d, outcome, message);
        return;
    }
    const char *text = json_to_text(a,
        d->gen->config->by_name
            ? router_openai_error(a, status, outcome, message)
            : json_fields(
                  a, { "error.code", json_int(status) }, { "error.message", json_str(message) }));
    struct http_header list[2] = { { STR("content-type"), STR("application/json") } };
    if (extra)
        list[1] = *extra;
    if (!d->body_ended)
        http_exchange_close_after(d->x);
    http_exchange_respond(
        d->x, status, (struct http_headers){ list, extra ? 2 : 1 }, (int64_t)strlen(text));
    http_exchange_write(d->x, str_of(text));
    d->responded = d->finished = true;
    http_exchange_finish(d->x);
}

/* ---- deadlines ---- */

static int64_t first_of(int64_t a, int64_t b, int64_t otherwise)
{
    return a > 0 ? a / 1000000 ?: 1 : b > 0 ? b / 1000000 ?: 1 : otherwise;
}

/* The earliest deadline. */
static int64_t due_ms(const struct dispatch *d)
{
    int64_t due = d->attempt_ms + d->timeout_ms;
    if (d->first_ms) {
        int64_t from = d->call_paused ? now_ms(d) : d->last_ms;
        due = from + d->between_ms;
    }
    bool total = d->total_ms && d->begun_ms + d->total_ms < due;
    return total ? d->begun_ms + d->total_ms : due;
}

void router_dispatch_look_at_clocks(struct dispatch *d)
{
    int64_t left = due_ms(d) - now_ms(d);
    timer_set(d->router->env, &d->clock, left > 0 ? left : 1);
}

static void on_clock(void *ctx)
{
    struct dispatch *d = ctx;
    int64_t now = now_ms(d);
    if (now < due_ms(d)) {
        router_dispatch_look_at_clocks(d);
        return;
    }
    const char *name = d->target->backend->name;
    static const char silent[] = "the back end sent nothing for too long";
    if (d->answering) {
        router_target_failed(d->target, TARGET_FAILED, now, d->router->o.quarantine_ms);
        if (d->responded)
            router_answer_cut(d, "upstream_timeout", silent);
        else
            router_dispatch_refuse(d, 504, "upstream_timeout", silent, NULL);
        return;
    }
    drop_call(d);
    d->timed_out = true;
    router_dispatch_attempt_failed(d, TARGET_FAILED, true, 504, "%s did not answer in time", name);
}

static void set_clocks(struct dispatch *d)
{
    const struct router_options *o = &d->router->o;
    const struct router_backend *b = d->target->backend;
    static const struct router_rule none;
    const struct router_rule *r = d->route.rule ?: &none;
    d->timeout_ms = first_of(r->timeout_ns, b->timeout_ns, o->first_token_ms);
    d->timeout_ms = first_of(r->clocks.first_token_ns, b->clocks.first_token_ns, d->timeout_ms);
    d->between_ms = first_of(r->clocks.between_tokens_ns,
        b->clocks.between_tokens_ns,
        o->between_tokens_ms ?: d->timeout_ms);
    d->total_ms = first_of(r->clocks.total_ns, b->clocks.total_ns, o->total_ms);
    d->attempt_ms = now_ms(d);
    router_dispatch_look_at_clocks(d);
}

/* ---- the body, to the back end ---- */

/* Sends bytes of the body from `sent`, edited; false: the call accepts no more. */
static bool send_some(struct dispatch *d)
{
    int64_t until = d->base + (int64_t)d->hold.len;
    while (d->edit_next < d->edit_count) {
        const struct edit *e = &d->edits[d->edit_next];
        if (e->start > until)
            break;
        bool room = http_call_write(d->call,
            (struct str){ d->hold.ptr + (d->sent - d->base), (size_t)(e->start - d->sent) });
        room = http_call_write(d->call, str_of(e->text)) && room;
        d->sent = e->end;
        d->edit_next++;
        if (!room)
            return false;
    }
    if (d->sent >= until)
        return true;
    struct str part = { d->hold.ptr + (d->sent - d->base), (size_t)(until - d->sent) };
    d->sent = until;
    return http_call_write(d->call, part);
}

static void pump(struct dispatch *d)
{
    if (!d->call || !d->streamed || !d->can_write)
        return;
    d->can_write = send_some(d);
    if (!d->keeps_copy && d->sent > d->base) {
        buf_eat(&d->hold, (size_t)(d->sent - d->base));
        d->base = d->sent;
        router_dispatch_count(d);
    }
    if (d->body_ended && d->sent == d->came && d->edit_next == d->edit_count) {
        d->streamed = false;
        http_call_finish(d->call);
    }
}

static void set_paused(struct dispatch *d)
{
    bool pause = d->routed && !d->body_ended && !d->awaits_body && d->came - d->sent > PENDING_MAX;
    if (pause == d->paused)
        return;
    d->paused = pause;
    if (pause)
        http_exchange_pause(d->x);
    else
        http_exchange_resume(d->x);
}

void router_dispatch_more(void *ctx)
{
    struct dispatch *d = ctx;
    d->can_write = true;
    pump(d);
    set_paused(d);
}

/* ---- attempts ---- */

static int64_t edited_length(const struct dispatch *d, int64_t length)
{
    for (size_t i = 0; i < d->edit_count; i++)
        length += (int64_t)strlen(d->edits[i].text) - (d->edits[i].end - d->edits[i].start);
    return length;
}

/* Replaces the model in the body by the back end's own name for it. */
static void plan_edits(struct dispatch *d)
{
    const char *model = d->target->backend->model;
    bool in_form = d->form && d->has_model;
    bool in_json = d->is_json && d->scan && d->scan->is_object;
    bool rewrites = !text_empty(model) && (in_json || in_form) &&
                    !json_list_has(d->target->backend->served, d->features.model);
    d->map_model = rewrites && *d->features.model;
    d->edit_next = 0;
    if (!rewrites) {
        d->edit_count = 0;
        return;
    }
    const char *text = in_form ? model : json_to_text(&d->arena, json_str(model));
    d->edit_count = d->place_count;
    if (!d->has_model) { /* the complete body is held */
        const char *open = memchr(d->hold.ptr, '{', d->hold.len);
        int64_t at = open - d->hold.ptr + 1;
        d->edits[0] = (struct edit){
            at, at, arena_printf(&d->arena, "\"model\":%s%s", text, d->scan->has_members ? "," : "")
        };
        d->edit_count = 1;
    }
    for (size_t i = 0; d->has_model && i < d->edit_count; i++)
        d->edits[i].text = text;
}

static void start_call(
    struct dispatch *d, const struct http_header *credentials, size_t credential_count)
{
    struct target *t = d->target;
    int64_t length = d->body_ended ? d->came : d->announced;
    struct http_request request = {
        .origin = &t->origin,
        .method = "POST",
        .path = router_target_path(&d->arena, t, d->path, d->query),
        .authority = t->authority,
        .headers = router_dispatch_headers(d, credentials, credential_count),
        .gunzip = true,
        .timeouts = { .wait_ms = d->timeout_ms,
            .connect_ms = first_of(d->route.rule ? d->route.rule->clocks.connect_ns : 0,
                t->backend->clocks.connect_ns,
                d->router->o.connect_ms),
            .first_byte_ms = HTTP_NO_TIMEOUT },
    };
    if (router_target_signs(t, &d->arena)) {
        router_signed_call(d, &request);
        return;
    }
    bool whole = d->body_ended && d->edit_count == 0 && d->hold.len <= ROUTER_HOLD_BYTES;
    if (whole) {
        request.body = buf_str(&d->hold);
    } else {
        request.body_streamed = true;
        request.body_bytes = length > 0 ? edited_length(d, length) : 0;
    }
    d->streamed = !whole;
    d->can_write = false;
    d->sent = whole ? d->came : d->base;
    d->call = http_call_open(d->router->client, &request, &router_answer_handlers, d);
}

static void attempt(struct dispatch *d)
{
    struct target *t = d->target;
    struct http_header credentials[TARGET_CREDENTIALS_MAX];
    size_t count;
    d->held_in_vain = false;
    if (t->unusable.code) {
        router_dispatch_attempt_failed(d,
            TARGET_FAILED,
            false,
            502,
            "%s has an address that cannot be used",
            t->backend->name);
        return;
    }
    if (router_signed_early(d)) {
        set_paused(d); /* reading the rest of the body may be paused */
        return;
    }
    if (!router_target_credentials(t, &d->arena, d->headers, credentials, &count)) {
        router_dispatch_attempt_failed(
            d, TARGET_FAILED, false, 502, "%s", router_target_without_key(t, &d->arena));
        return;
    }
    router_target_begin(t, now_ms(d));
    set_clocks(d);
    plan_edits(d);
    start_call(d, credentials, count);
}

void router_dispatch_again(struct dispatch *d)
{
    attempt(d);
}

void router_dispatch_attempt_failed(
    struct dispatch *d, enum target_failure how, bool counts, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(&d->arena, format, args);
    va_end(args);
    d->failure = text;
    d->failure_status = status;
    if (counts)
        router_target_failed(d->target, how, now_ms(d), d->router->o.quarantine_ms);
    router_wait_end(d);
    buf_printf(&d->tried, "%s%s", d->tried.len ? "," : "", d->target->backend->name);
    d->target = NULL;
    router_dispatch_next(d);
}

static void give_up(struct dispatch *d)
{
    const char *text = d->failure ?: "";
    timer_stop(d->router->env, &d->clock);
    if (d->held_in_vain)
        router_dispatch_refuse(d,
            503,
            "pool_activation_timeout",
            "model pool activation did not complete within the request budget; retry",
            &(struct http_header){ STR("retry-after"), STR("5") });
    else if (d->route.rule && d->route.rule->fail_closed)
        router_dispatch_refuse(d,
            503,
            "fail_closed_runtime",
            arena_printf(&d->arena, "fail-closed: all rule backends unhealthy: %s", text),
            NULL);
    else
        router_dispatch_refuse(d,
            d->failure_status ?: 502,
            "all_backends_failed",
            arena_printf(&d->arena, "all backends failed: %s", text),
            NULL);
}

static bool all_out(const struct dispatch *d)
{
    for (size_t i = 0; i < d->route.count; i++)
        if (!router_target_is_out(&d->gen->targets[d->route.backends[i]->index], now_ms(d)))
            return false;
    return true;
}

void router_dispatch_next(struct dispatch *d)
{
    size_t last = d->route.rule && d->route.rule->strategy == ROUTER_SHADOW ? 1 : d->route.count;
    if (d->next > 0 && !d->keeps_copy)
        last = d->next; /* the sent part of the body is gone */
    while (d->next < last) {
        d->target = &d->gen->targets[d->route.backends[d->next++]->index];
        d->repeated_stale = false;
        if (d->probe_anyway || !router_target_is_out(d->target, now_ms(d))) {
            if (router_wait_turn(d))
                attempt(d);
            return;
        }
        d->target = NULL;
    }
    give_up(d);
}

/* ---- the route ---- */

/* A random order by weight; the back ends after the first are the fallbacks. */
static void order_by_weight(struct dispatch *d)
{
    struct route *route = &d->route;
    for (size_t at = 0; at + 1 < route->count; at++) {
        int64_t sum = 0;
        for (size_t i = at; i < route->count; i++)
            sum += route->backends[i]->weight > 0 ? route->backends[i]->weight : 0;
        int64_t pick = sum ? env_random_below(d->router->env, sum) : -1;
        for (size_t i = at; i < route->count && pick >= 0; i++) {
            pick -= route->backends[i]->weight > 0 ? route->backends[i]->weight : 0;
            if (pick < 0) {
                const struct router_backend *chosen = route->backends[i];
                route->backends[i] = route->backends[at];
                route->backends[at] = chosen;
            }
        }
    }
}

/* Moves back ends that are slower than the rule's goal to the end. */
static void order_by_latency(struct dispatch *d)
{
    int64_t goal = d->route.rule->latency_slo_ms;
    size_t fast = 0;
    for (size_t i = 0; i < d->route.count && goal > 0; i++) {
        const struct router_backend *b = d->route.backends[i];
        if (d->gen->targets[b->index].first_token_ms > (double)goal)
            continue;
        memmove(&d->route.backends[fast + 1],
            &d->route.backends[fast],
            (i - fast) * sizeof(d->route.backends[0]));
        d->route.backends[fast++] = b;
    }
}

/* Names the models that exist instead of the requested one. */
static void refuse_model(struct dispatch *d)
{
    const struct router_config *c = d->gen->config;
    cleanup(buf_done) struct buf text = BUF_INIT(DISPATCH_WHOLE_BYTES);
    bool named = *d->features.model != '\0';
    if (named)
        buf_printf(&text, "The model \"%s\" does not exist.", d->features.model);
    else
        buf_add_text(&text, "The request names no model.");
    buf_add_text(&text, c->backend_count ? " There are: " : " There is none yet.");
    for (size_t i = 0; i < c->backend_count && i < NAMED_MAX; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", router_route_model_id(&c->backends[i]));
    if (c->backend_count > NAMED_MAX)
        buf_printf(&text, " and %zu more", c->backend_count - NAMED_MAX);
    router_dispatch_refuse(d,
        named ? 404 : 400,
        named ? "model_not_found" : "model_required",
        str_dup(&d->arena, buf_str(&text)),
        NULL);
}

static bool is_available(struct dispatch *d)
{
    static const struct http_header later = { STR("retry-after"), STR("2") };
    const char *why = d->route.count == 1 ? d->route.backends[0]->unavailable : NULL;
    if (!text_empty(why))
        router_dispatch_refuse(d, 503, "model_not_ready", why, &later);
    return text_empty(why);
}

static void go(struct dispatch *d)
{
    d->routed = true;
    d->route = router_route_find(&d->arena, d->gen->config, &d->features);
    if (d->route.refusal == ROUTE_UNKNOWN) {
        refuse_model(d);
        return;
    }
    if (d->route.refusal == ROUTE_NONE) {
        router_dispatch_refuse(
            d, 503, "no_route", "no rule matched and no defaultRoute configured", NULL);
        return;
    }
    if (d->route.refusal == ROUTE_FAIL_CLOSED) {
        router_dispatch_refuse(d,
            503,
            "fail_closed",
            "fail-closed: sensitive data has no local backend on this route",
            NULL);
        return;
    }
    if (!router_auth_allows(&d->gen->config->auth, d->team, d->features.model)) {
        router_dispatch_refuse(d,
            403,
            "forbidden",
            arena_printf(&d->arena,
                "team \"%s\" may not ask for the model \"%s\"",
                d->team,
                d->features.model),
            NULL);
        return;
    }
    if (!is_available(d) || !router_spend_reserve(d))
        return;
    if (d->route.rule && d->route.rule->strategy == ROUTER_WEIGHTED)
        order_by_weight(d);
    if (d->route.rule)
        order_by_latency(d);
    d->probe_anyway = all_out(d);
    int64_t length = d->body_ended ? d->came : d->announced;
    d->keeps_copy = length >= 0 && length <= (int64_t)ROUTER_COPY_BYTES;
    d->copy_lost = !d->keeps_copy && d->route.count > 1;
    if (d->route.rule && d->route.rule->strategy == ROUTER_SHADOW)
        router_shadow_send(d);
    router_dispatch_next(d);
}

static void try_route(struct dispatch *d)
{
    bool scanned = d->is_json || d->form;
    bool needs_model = d->gen->config->needs_model && scanned && !d->has_model;
    if (!d->body_ended && (d->hold.len < ROUTER_HOLD_BYTES || needs_model))
        return;
    if (d->body_ended && d->is_json && !json_scan_complete(d->scan)) {
        router_dispatch_refuse(d, 400, "invalid_request", "request body: not valid JSON", NULL);
        return;
    }
    go(d);
}

/* ---- the body, from the client ---- */

static bool found_model(struct dispatch *d, int64_t start, int64_t end)
{
    struct json_scan *s = d->scan;
    const char *model = s->type == JSON_SCAN_STRING ? s->text : "";
    if (d->routed && !text_eq(model, d->features.model)) {
        router_dispatch_refuse(
            d, 400, "invalid_request", "request body: model is given twice", NULL);
        return false;
    }
    if (s->text_cut || d->place_count == DISPATCH_EDITS_MAX) {
        router_dispatch_refuse(d, 400, "invalid_request", "request body: model is too long", NULL);
        return false;
    }
    if (d->routed)
        return true;
    d->has_model = true;
    d->features.model = arena_strdup(&d->arena, model);
    d->edits[d->place_count++] = (struct edit){ start, end, "" };
    return true;
}

static bool scan_body(struct dispatch *d, struct str bytes)
{
    struct json_scan *s = d->scan;
    const char *from = bytes.ptr;
    static const char *const limits[] = {
        "max_tokens", "max_completion_tokens", "max_output_tokens"
    };
    enum json_scan_event event;
    while ((event = json_scan(s, &bytes)) != JSON_SCAN_MORE) {
        int64_t at = d->came + (bytes.ptr - from);
        if (event == JSON_SCAN_FAILED) {
            router_dispatch_refuse(d, 400, "invalid_request", "request body: not valid JSON", NULL);
            return false;
        }
        if (s->depth != 1)
            continue;
        bool model = json_scan_is(s, "model");
        if (event == JSON_SCAN_BEGIN) {
            if (model)
                d->model_at = at;
            continue;
        }
        if (model && !found_model(d, d->model_at, at))
            return false;
        if (json_scan_is(s, "stream") && s->type == JSON_SCAN_WORD)
            d->stream = text_eq(s->text, "true");
        for (size_t i = 0; i < lengthof(limits); i++)
            if (json_scan_is(s, limits[i]) && s->type == JSON_SCAN_NUMBER)
                d->max_tokens = strtoll(s->text, NULL, 10);
    }
    return true;
}

/* The field must come before the route is chosen; two such fields are refused. */
static bool scan_form(struct dispatch *d, struct str bytes)
{
    struct form_scan *s = d->form;
    form_scan(s, bytes);
    if (s->twice || s->cut) {
        router_dispatch_refuse(d,
            400,
            "invalid_request",
            s->cut ? "request body: model is too long" : "request body: model is given twice",
            NULL);
        return false;
    }
    if (!s->found || d->has_model || d->routed)
        return true;
    d->has_model = true;
    d->features.model = arena_strdup(&d->arena, s->model);
    d->edits[d->place_count++] = (struct edit){ s->start, s->end, "" };
    return true;
}

static void keep_for_audit(struct dispatch *d, struct str bytes)
{
    size_t room = DISPATCH_AUDIT_BODY - d->body.len;
    buf_add(&d->body, bytes.ptr, bytes.len < room ? bytes.len : room);
}

/* Keeps concurrent bodies from using all memory. */
static void refuse_largest(struct router *r)
{
    static const struct http_header later = { STR("retry-after"), STR("1") };
    struct dispatch *largest = NULL;
    for (struct dispatch *d = r->dispatches; d; d = d->next_open)
        if (!d->body_ended && !d->finished && (!largest || d->held > largest->held))
            largest = d;
    if (!largest)
        return;
    router_dispatch_refuse(
        largest, 503, "too_many_bodies", "too many large requests at once; try again", &later);
    router_dispatch_forget_body(largest);
}

static void on_data(void *ctx, struct str bytes)
{
    struct dispatch *d = ctx;
    if (d->finished)
        return;
    if (d->came + (int64_t)bytes.len > ROUTER_BODY_BYTES_MAX) {
        router_dispatch_refuse(
            d, 400, "invalid_request", "request body: http: request body too large", NULL);
        return;
    }
    if ((d->is_json && !scan_body(d, bytes)) || (d->form && !scan_form(d, bytes)))
        return;
    if (d->gen->config->audit_body && d->is_text)
        keep_for_audit(d, bytes);
    d->came += (int64_t)bytes.len;
    buf_add(&d->hold, bytes.ptr, bytes.len);
    router_dispatch_count(d);
    if (!d->routed)
        try_route(d);
    else
        pump(d);
    if (d->router->held > d->router->o.hold_all_bytes)
        refuse_largest(d->router);
    if (!d->finished)
        set_paused(d);
}

static void on_end(void *ctx)
{
    struct dispatch *d = ctx;
    if (d->finished)
        return;
    d->body_ended = true;
    if (!d->routed)
        try_route(d);
    else if (d->is_json && !json_scan_complete(d->scan) && !d->responded)
        router_dispatch_refuse(d, 400, "invalid_request", "request body: not valid JSON", NULL);
    else if (d->awaits_body)
        attempt(d);
    else
        pump(d);
}

static void on_drained(void *ctx)
{
    router_answer_drained(ctx);
}

static const struct http_exchange_handlers handlers = {
    .data = on_data,
    .end = on_end,
    .drained = on_drained,
    .closed = on_closed,
};

static struct http_headers copy_headers(struct arena *a, struct http_headers from)
{
    struct http_header *list = arena_array(a, from.count, sizeof(*list));
    for (size_t i = 0; i < from.count; i++) {
        const struct http_header *h = &from.list[i];
        list[i].name = (struct str){ str_dup(a, h->name), h->name.len };
        list[i].value = (struct str){ str_dup(a, h->value), h->value.len };
    }
    return (struct http_headers){ list, from.count };
}

static void abort_later(void *ctx)
{
    struct dispatch *d = ctx;
    http_exchange_abort(d->x);
}

static void refuse_caller(struct dispatch *d, const struct router_refusal *no)
{
    static const struct http_header ask = { STR("www-authenticate"), STR("Bearer") };
    static const struct http_header later = { STR("retry-after"), STR("1") };
    router_dispatch_refuse(d,
        no->status,
        no->status == 503 ? "auth_unavailable" : "unauthorized",
        no->message,
        no->status == 401   ? &ask
        : no->status == 503 ? &later
                            : NULL);
}

void router_dispatch_new(
    struct router *r, struct http_exchange *x, const struct http_request_head *head)
{
    struct dispatch *d = mem_new_of(struct dispatch);
    arena_init(&d->arena, DISPATCH_ARENA_MAX);
    d->router = r;
    d->gen = r->now;
    d->gen->refs++;
    r->open++;
    if ((d->next_open = r->dispatches))
        d->next_open->back = &d->next_open;
    d->back = &r->dispatches;
    r->dispatches = d;
    d->x = x;
    d->begun_ms = now_ms(d);
    d->announced = head->body_bytes;
    d->headers = copy_headers(&d->arena, head->headers);
    d->path = (struct str){ str_dup(&d->arena, head->path), head->path.len };
    d->query = (struct str){ str_dup(&d->arena, head->query), head->query.len };
    d->prompt_tokens = d->completion_tokens = -1;
    d->timeout_ms = r->o.first_token_ms;
    d->outcome = d->team = "";
    buf_init(&d->hold, (size_t)ROUTER_BODY_BYTES_MAX + 1);
    buf_init(&d->whole, DISPATCH_WHOLE_BYTES);
    buf_init(&d->tried, 4096);
    sse_reader_init(&d->events, DISPATCH_EVENT_BYTES);
    timer_init(&d->clock, on_clock, d);
    timer_init(&d->later, abort_later, d);
    router_wait_init(d);
    const struct router_auth *auth = &d->gen->config->auth;
    struct router_refusal no = router_auth_check(r, auth, &d->arena, d->headers, &d->team);
    d->headers = router_auth_headers(&d->arena, auth, d->headers, d->team);
    router_route_features_read(&d->arena, d->gen->config, d->headers, &d->features);
    struct str type = http_header_find(head->headers, "content-type");
    d->is_text = d->is_json = !str_starts(type, STR("multipart/"));
    buf_init(&d->body, DISPATCH_AUDIT_BODY);
    if (d->is_json) {
        d->scan = mem_new_of(struct json_scan);
        json_scan_init(d->scan);
    } else {
        d->form = mem_new_of(struct form_scan);
        if (!form_scan_init(d->form, type))
            free(take(d->form));
    }
    http_exchange_take(x, &handlers, d);
    if (no.status)
        refuse_caller(d, &no);
    else if (head->body_bytes > ROUTER_BODY_BYTES_MAX)
        router_dispatch_refuse(
            d, 400, "invalid_request", "request body: http: request body too large", NULL);
}
