/* The budgets of one request: which ones apply, its estimate, and what it used. */

#include <math.h>

#include "router/dispatch.h"

#define BYTES_PER_TOKEN 4    /* of text, approximately */
#define COMPLETION_GUESS 256 /* tokens, for a request without a limit */

static struct str team_of(const struct dispatch *d, const struct router_budget *b)
{
    if (b->scope != BUDGET_OF_TEAM)
        return (struct str){ 0 };
    if (d->gen->config->auth.required)
        return str_of(d->team);
    return str_trim(http_header_find(d->headers, b->header_key));
}

static bool concerns(const struct dispatch *d, const struct router_budget *b)
{
    return b->scope != BUDGET_OF_RULE ||
           (d->route.rule && text_eq(d->route.rule->name, b->rule_name));
}

static int64_t nano_of(const struct router_backend *b, int64_t prompt, int64_t completion)
{
    return (int64_t)llround(
        (double)prompt * b->prompt_nano + (double)completion * b->completion_nano);
}

static int64_t prompt_guess(const struct dispatch *d)
{
    int64_t bytes = d->announced > d->came ? d->announced : d->came;
    return d->is_text ? bytes / BYTES_PER_TOKEN + 1 : 0;
}

/* Uses the prices of the most expensive back end of the route. */
static struct ledger_amount estimate(const struct dispatch *d)
{
    int64_t prompt = prompt_guess(d);
    int64_t completion = d->max_tokens > 0 ? d->max_tokens : COMPLETION_GUESS;
    if (completion > INT32_MAX)
        completion = INT32_MAX;
    struct ledger_amount amount = { .tokens = prompt + completion };
    for (size_t i = 0; i < d->route.count; i++) {
        int64_t nano = nano_of(d->route.backends[i], prompt, completion);
        amount.nano = nano > amount.nano ? nano : amount.nano;
    }
    return amount;
}

bool router_spend_reserve(struct dispatch *d)
{
    const struct router_config *c = d->gen->config;
    if (!c->budget_count)
        return true;
    d->claims = arena_array(&d->arena, c->budget_count, sizeof(*d->claims));
    struct ledger_amount amount = estimate(d);
    for (size_t i = 0; i < c->budget_count; i++) {
        const struct router_budget *b = &c->budgets[i];
        int64_t wait_ms;
        if (!concerns(d, b) ||
            ledger_reserve(
                &d->router->ledger, b, c->replicas, team_of(d, b), amount, &d->claims[i], &wait_ms))
            continue;
        const char *seconds =
            arena_printf(&d->arena, "%lld", (long long)((wait_ms + 999) / 1000 ?: 1));
        cleanup(buf_done) struct buf label = BUF_INIT(1024);
        metric_label(&label, "budget", str_of(b->name));
        metric_add(&d->router->over_budget, buf_text(&label), 1);
        router_dispatch_refuse(d,
            429,
            "budget_exceeded",
            arena_printf(
                &d->arena, "budget \"%s\" is used up; try again in %s s", b->name, seconds),
            &(struct http_header){ STR("retry-after"), str_of(seconds) });
        return false;
    }
    return true;
}

/* Estimates what back ends do not report from the length of the texts. */
static struct ledger_amount took(const struct dispatch *d)
{
    bool answered = d->head_ms && d->status < 400;
    bool left = d->attempt_ms && text_eq(d->outcome, "client_closed");
    if (!d->target || (!answered && !left))
        return (struct ledger_amount){ 0 };
    int64_t prompt = d->prompt_tokens >= 0 ? d->prompt_tokens : prompt_guess(d);
    int64_t completion = d->completion_tokens;
    if (completion < 0)
        completion = d->mode == ANSWER_EVENTS ? d->event_count
                     : d->mode == ANSWER_RAW  ? 0
                                              : d->answer_bytes / BYTES_PER_TOKEN;
    return (struct ledger_amount){ prompt + completion,
        nano_of(d->target->backend, prompt, completion) };
}

void router_spend_settle(struct dispatch *d)
{
    if (!d->claims)
        return;
    struct ledger_amount amount = took(d);
    for (size_t i = 0; i < d->gen->config->budget_count; i++)
        ledger_settle(&d->router->ledger, &d->claims[i], amount);
}
