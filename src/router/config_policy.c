/* policy.budgets and policy.auth, and the prices of tokens. */

#include <math.h>

#include "base/json_bind.h"
#include "router/config.h"

#define BUDGETS_MAX 64
#define NANO_PER_USD 1e9
#define USD_MAX 1e9 /* fits into 63 bits in billionths */
#define DEFAULT_TEAM_HEADER "x-llmkube-team"

/* Converts a decimal number of dollars for `per` units to billionths of a dollar for one. */
static bool read_usd(const char *text, const char *at, double per, double *ret, struct error *err)
{
    double usd = 0;
    if (text_empty(text))
        return true;
    if (!str_to_real(str_of(text), &usd) || !(usd >= 0) || usd > USD_MAX)
        return fail(err, ERR_INVALID, "%s: \"%s\" is no amount of dollars such as 2.50", at, text);
    *ret = usd * NANO_PER_USD / per;
    return true;
}

bool router_config_read_prices(struct router_backend *b, const char *at, struct error *err)
{
    return (read_usd(b->prompt_usd, at, 1e6, &b->prompt_nano, err) &&
               read_usd(b->completion_usd, at, 1e6, &b->completion_nano, err)) ||
           fail_in(err, "costPerMillionTokens");
}

static const struct json_bind budget_bind[] = {
    BIND(struct router_budget, name, "name", .required = true),
    BIND(struct router_budget, scope_word, "scope", .required = true),
    BIND(struct router_budget, rule_name, "ruleName"),
    BIND(struct router_budget, header_key, "headerKey"),
    BIND(struct router_budget, window_s, "windowSeconds", .min = 1, .max = 366 * 86400),
    BIND(struct router_budget, max_tokens, "maxTokens", .min = 1, .max = INT64_MAX / 4),
    BIND(struct router_budget, max_usd, "maxUSD"),
    { 0 },
};

static bool read_budget(
    struct router_config *c, struct router_budget *b, struct json from, struct error *err)
{
    const char *at = arena_printf(&c->arena, "policy.budgets[%zu]", c->budget_count);
    double nano = 0;
    *b = (struct router_budget){ .window_s = 3600, .header_key = DEFAULT_TEAM_HEADER };
    if (!json_bind(&c->arena, from, at, budget_bind, b, err) ||
        !read_usd(b->max_usd, at, 1, &nano, err))
        return false;
    b->max_nano = (int64_t)llround(nano);
    if (text_empty(b->header_key))
        b->header_key = DEFAULT_TEAM_HEADER;
    if (text_eq(b->scope_word, "rule"))
        b->scope = BUDGET_OF_RULE;
    else if (text_eq(b->scope_word, "team"))
        b->scope = BUDGET_OF_TEAM;
    else if (!text_eq(b->scope_word, "router"))
        return fail(err,
            ERR_INVALID,
            "%s.scope: \"%s\" is none of router, rule and team",
            at,
            b->scope_word);
    if (b->scope == BUDGET_OF_RULE && text_empty(b->rule_name))
        return fail(err, ERR_INVALID, "%s.ruleName: required with scope rule", at);
    if (!b->max_tokens && !b->max_nano)
        return fail(err, ERR_INVALID, "%s: one of maxTokens and maxUSD must be set", at);
    c->needs_team = c->needs_team || b->scope == BUDGET_OF_TEAM;
    return true;
}

static bool read_budgets(struct router_config *c, struct json list, struct error *err)
{
    if (!json_present(list) || json_is(list, JSON_NULL))
        return true;
    if (!json_is(list, JSON_LIST))
        return fail(
            err, ERR_INVALID, "policy.budgets: expected list, got %s", json_type_name(list));
    if (list.count > BUDGETS_MAX)
        return fail(err, ERR_INVALID, "policy.budgets: more than %d", BUDGETS_MAX);
    c->budgets = arena_array(&c->arena, list.count + 1, sizeof(*c->budgets));
    c->budget_count = 0;
    json_each (item, list) {
        struct router_budget *b = &c->budgets[c->budget_count];
        if (!read_budget(c, b, *item, err))
            return false;
        for (size_t i = 0; i < c->budget_count; i++)
            if (text_eq(c->budgets[i].name, b->name))
                return fail(err, ERR_INVALID, "policy.budgets: duplicate name \"%s\"", b->name);
        c->budget_count++;
    }
    return true;
}

static const struct json_bind auth_bind[] = {
    BIND(struct router_auth, issuer, "jwt.issuer"),
    BIND(struct router_auth, jwks_uri, "jwt.jwksURI"),
    BIND(struct router_auth, team_claim, "jwt.teamClaim"),
    BIND(struct router_auth, header_key, "jwt.headerKey"),
    BIND(struct router_auth, allowlists, "allowlists"),
    { 0 },
};

static bool read_allowlists(struct router_config *c, struct error *err)
{
    struct json lists = c->auth.allowlists;
    if (!json_present(lists) || json_is(lists, JSON_NULL)) {
        c->auth.allowlists = json_none;
        return true;
    }
    if (!json_is(lists, JSON_LIST))
        return fail(err,
            ERR_INVALID,
            "policy.auth.allowlists: expected list, got %s",
            json_type_name(lists));
    json_each (entry, lists) {
        struct json models = json_get(*entry, "models");
        if (text_empty(json_get_text(*entry, "team")))
            return fail(err, ERR_INVALID, "policy.auth.allowlists: team is required");
        if (json_present(models) && !json_is(models, JSON_NULL) && !json_is(models, JSON_LIST))
            return fail(err, ERR_INVALID, "policy.auth.allowlists: models is no list");
    }
    c->needs_model = c->needs_model || lists.count > 0;
    if (lists.count == 0)
        c->auth.allowlists = json_none;
    else if (!c->auth.required)
        return fail(err,
            ERR_INVALID,
            "policy.auth.allowlists need policy.auth.jwt: the team comes from a token");
    return true;
}

static bool read_auth(struct router_config *c, struct json from, struct error *err)
{
    struct router_auth *auth = &c->auth;
    if (!json_present(from) || json_is(from, JSON_NULL))
        return true;
    *auth = (struct router_auth){ .header_key = DEFAULT_TEAM_HEADER };
    if (!json_bind(&c->arena, from, "policy.auth", auth_bind, auth, err))
        return false;
    auth->required = json_is(json_get(from, "jwt"), JSON_MAP);
    if (text_empty(auth->header_key))
        auth->header_key = DEFAULT_TEAM_HEADER;
    if (auth->required &&
        (text_empty(auth->issuer) || text_empty(auth->jwks_uri) || text_empty(auth->team_claim)))
        return fail(
            err, ERR_INVALID, "policy.auth.jwt: issuer, jwksURI and teamClaim are required");
    c->needs_team = c->needs_team || auth->required;
    return read_allowlists(c, err);
}

bool router_config_read_policy(struct router_config *c, struct json policy, struct error *err)
{
    return read_budgets(c, json_get(policy, "budgets"), err) &&
           read_auth(c, json_get(policy, "auth"), err);
}
