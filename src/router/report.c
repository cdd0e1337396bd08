#include "router/dispatch.h"

#include <stdlib.h>

#include "base/time.h"

#define LINE_BYTES 600 /* most audit lines are shorter */

static const double DURATIONS[] = {
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 0
};

void router_report_link(struct router *r)
{
    r->requests = (struct metric){ "llmkube_router_requests_total",
        "Requests by rule, back end, classification and outcome.",
        METRIC_COUNTER };
    r->duration = (struct metric){ "llmkube_router_request_duration_seconds",
        "Time from the request to the head of its answer.",
        METRIC_HISTOGRAM,
        .bounds = DURATIONS };
    r->fail_closed = (struct metric){ "llmkube_router_fail_closed_total",
        "Requests refused because no allowed back end could answer.",
        METRIC_COUNTER };
    r->active = (struct metric){ "llmkube_router_active_backends",
        "Back ends of a tier that are not quarantined.",
        METRIC_GAUGE };
    r->health = (struct metric){
        "llmkube_router_backend_health", "1: the back end is not quarantined.", METRIC_GAUGE
    };
    r->first_token = (struct metric){ "llmkube_router_first_token_seconds",
        "Time from the request to the first byte of a streamed answer.",
        METRIC_HISTOGRAM,
        .bounds = DURATIONS };
    r->budget = (struct metric){
        "llmkube_router_budget_utilization", "Used part of a budget.", METRIC_GAUGE
    };
    r->tokens = (struct metric){
        "leeboard_router_tokens_total", "Tokens that back ends reported, by kind.", METRIC_COUNTER
    };
    r->over_budget = (struct metric){ "leeboard_router_budget_refused_total",
        "Requests refused because a budget was used up.",
        METRIC_COUNTER };
    r->no_copy = (struct metric){ "leeboard_router_no_fallback_total",
        "Requests too large to keep a copy for another attempt.",
        METRIC_COUNTER };
    struct metric *all[] = { &r->requests,
        &r->duration,
        &r->fail_closed,
        &r->active,
        &r->health,
        &r->first_token,
        &r->budget,
        &r->tokens,
        &r->no_copy,
        &r->over_budget };
    for (size_t i = 0; i < lengthof(all); i++)
        metrics_link(&r->metrics, all[i]);
    metric_add(&r->no_copy, NULL, 0);
}

struct label {
    const char *name, *value;
};
#define LABELS(...) ((const struct label[]){ __VA_ARGS__, { 0 } })

static const char *labels(struct buf *b, const struct label *list)
{
    buf_reset(b);
    for (; list->name; list++)
        metric_label(b, list->name, str_of(list->value ?: ""));
    return buf_text(b);
}

void router_report_refresh(struct router *r)
{
    cleanup(buf_done) struct buf b = BUF_INIT(4096);
    const struct router_config *c = r->now->config;
    int64_t now = env_mono_ms(r->env);
    double active[2] = { 0, 0 };
    bool tiers[2] = { false, false };
    for (size_t i = 0; i < c->backend_count; i++) {
        bool fine = !router_target_is_out(&r->now->targets[i], now);
        tiers[c->backends[i].is_local] = true;
        active[c->backends[i].is_local] += fine;
        metric_set(&r->health,
            labels(&b, LABELS({ "backend", c->backends[i].name }, { "router", r->o.name })),
            fine);
    }
    for (int local = 0; local < 2; local++)
        if (tiers[local])
            metric_set(&r->active,
                labels(&b, LABELS({ "router", r->o.name }, { "tier", local ? "local" : "cloud" })),
                active[local]);
    metric_set(&r->budget, labels(&b, LABELS({ "router", r->o.name }, { "scope", "proxy" })), 0);
    double *used = mem_resize(NULL, c->budget_count + 1, sizeof(*used));
    ledger_utilization(&r->ledger, c, used);
    for (size_t i = 0; i < c->budget_count; i++)
        metric_set(&r->budget,
            labels(&b, LABELS({ "router", r->o.name }, { "scope", c->budgets[i].name })),
            used[i]);
    free(used);
}

static void count(struct dispatch *d, const char *rule, const char *backend)
{
    struct router *r = d->router;
    cleanup(buf_done) struct buf b = BUF_INIT(4096);
    buf_reserve(&b, 200);
    metric_add(&r->requests,
        labels(&b,
            LABELS({ "backend", backend },
                { "classification", d->features.data_class },
                { "outcome", d->outcome },
                { "router", r->o.name },
                { "rule", rule })),
        1);
    if (d->copy_lost)
        metric_add(&r->no_copy, NULL, 1);
    if (text_starts(d->outcome, "fail_closed"))
        metric_add(&r->fail_closed,
            labels(&b,
                LABELS({ "classification", d->features.data_class },
                    { "router", r->o.name },
                    { "rule", rule })),
            1);
    if (!d->head_ms || !*backend)
        return;
    metric_observe(&r->duration,
        labels(&b, LABELS({ "backend", backend }, { "router", r->o.name }, { "rule", rule })),
        (double)(d->head_ms - d->begun_ms) / 1000);
    bool streams = d->stream || d->mode == ANSWER_EVENTS;
    if (streams && d->first_ms)
        metric_observe(&r->first_token,
            labels(&b, LABELS({ "backend", backend }, { "router", r->o.name })),
            (double)(d->first_ms - d->begun_ms) / 1000);
    if (d->prompt_tokens > 0)
        metric_add(&r->tokens,
            labels(&b, LABELS({ "backend", backend }, { "kind", "prompt" })),
            (double)d->prompt_tokens);
    if (d->completion_tokens > 0)
        metric_add(&r->tokens,
            labels(&b, LABELS({ "backend", backend }, { "kind", "completion" })),
            (double)d->completion_tokens);
}

/* ---- the audit line ---- */

struct line {
    struct buf *to;
    bool text;
};

static bool is_bare(const char *value)
{
    if (!*value)
        return false;
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == '"' || *c == '=' || *c == 0x7f)
            return false;
    return true;
}

static void add_key(struct line *l, const char *key)
{
    buf_add_text(l->to, l->text ? " " : ",\"");
    buf_add_text(l->to, key);
    buf_add_text(l->to, l->text ? "=" : "\":");
}

static void add_text(struct line *l, const char *key, const char *value)
{
    add_key(l, key);
    if (l->text && is_bare(value))
        buf_add_text(l->to, value);
    else
        json_print(l->to, json_str(value));
}

static void add_number(struct line *l, const char *key, int64_t value)
{
    add_key(l, key);
    buf_add_number(l->to, value);
}

static void add_numbers(struct line *l, const struct dispatch *d)
{
    add_number(l, "durationMs", env_mono_ms(d->router->env) - d->begun_ms);
    if (d->first_ms)
        add_number(l, "firstTokenMs", d->first_ms - d->begun_ms);
    add_number(l, "requestBytes", d->came);
    add_number(l, "responseBytes", d->answer_bytes);
    if (d->prompt_tokens >= 0)
        add_number(l, "promptTokens", d->prompt_tokens);
    if (d->completion_tokens >= 0)
        add_number(l, "completionTokens", d->completion_tokens);
    if (d->mode == ANSWER_EVENTS)
        add_number(l, "events", d->event_count);
    if (d->tried.len)
        add_text(l, "failedBackends", buf_text(&d->tried));
}

void router_report_write(struct dispatch *d)
{
    struct router *r = d->router;
    const struct router_rule *rule = d->route.rule;
    const struct router_backend *b = d->target && d->head_ms ? d->target->backend : NULL;
    count(d, rule ? rule->name : "", b ? b->name : "");
    if (!r->o.audit)
        return;
    cleanup(buf_done) struct buf text = BUF_INIT((size_t)256 << 10);
    struct line l = { &text, r->o.audit_text };
    buf_reserve(&text, LINE_BYTES);
    add_text(&l, "model", d->features.model);
    add_text(&l, "classification", d->features.data_class);
    add_text(&l, "taskComplexity", d->features.complexity);
    add_number(&l, "status", d->status);
    add_text(&l, "outcome", d->outcome);
    add_number(&l, "latencyMs", (d->head_ms ?: env_mono_ms(r->env)) - d->begun_ms);
    if (rule)
        add_text(&l, "rule", rule->name);
    if (b) {
        add_text(&l, "backend", b->name);
        add_text(&l, "backendTier", b->tier);
    }
    add_number(&l, "timeoutMs", d->timeout_ms);
    add_numbers(&l, d);
    if (d->body.len) {
        add_text(&l, "requestBody", buf_text(&d->body));
        if ((int64_t)d->body.len < d->came)
            add_number(&l, "requestBodyCut", d->came - (int64_t)d->body.len);
    }
    r->o.audit(r->o.ctx, buf_str(&text));
}

/* ---- errors of the router ---- */

struct json router_openai_error(struct arena *a, int status, const char *code, const char *message)
{
    return json_fields(a,
        { "error.message", json_str(message) },
        { "error.type", json_str(status < 500 ? "invalid_request_error" : "server_error") },
        { "error.code", json_str(code) });
}
