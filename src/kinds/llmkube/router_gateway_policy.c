/* The two policies of the gateway data plane: one for retries, health and budgets; one for tokens
 * and which team may use which model. */

#include "base/time.h"
#include "kinds/llmkube/gateway.h"
#include "kinds/llmkube/router_gateway.h"

#include <stdarg.h>

bool gateway_refuse(
    struct router *r, struct gateway_refusal *ret, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    *ret = (struct gateway_refusal){ reason, arena_vprintf(r->arena, format, args) };
    va_end(args);
    return false;
}

/* ---- budgets ---- */

/* The gateway only supports these windows. */
static const struct {
    int64_t seconds;
    const char *unit;
} windows[] = { { 1, "Second" }, { 60, "Minute" }, { 3600, "Hour" }, { 86400, "Day" } };

static const char *unit_of(struct json budget)
{
    int64_t seconds = json_get_int(budget, "windowSeconds", 3600);
    for (size_t i = 0; i < lengthof(windows); i++)
        if (windows[i].seconds == seconds)
            return windows[i].unit;
    return NULL;
}

bool gateway_check_budgets(struct router *r, struct gateway_refusal *ret)
{
    json_each (budget, r->spec.budgets) {
        const char *name = json_get_text(*budget, "name");
        if (!text_empty(json_get_text(*budget, "maxUSD")))
            return gateway_refuse(r,
                ret,
                "UnsupportedBudgetField",
                "budget \"%s\" sets maxUSD: the gateway counts tokens, and tokens of different "
                "back ends have different prices. Use maxTokens",
                name);
        if (text_eq(json_get_text(*budget, "scope"), "rule"))
            return gateway_refuse(r,
                ret,
                "UnsupportedBudgetScope",
                "budget \"%s\" has scope rule: in dataPlane: Gateway budgets are for the whole "
                "router or for each team",
                name);
        if (json_get_int(*budget, "maxTokens", 0) < 1)
            return gateway_refuse(
                r, ret, "InvalidBudget", "budget \"%s\" needs maxTokens of at least 1", name);
        if (!unit_of(*budget))
            return gateway_refuse(r,
                ret,
                "InvalidBudget",
                "budget \"%s\": in dataPlane: Gateway windowSeconds is 1, 60, 3600 or 86400",
                name);
    }
    return true;
}

static struct json limit_of(struct arena *a, struct json budget)
{
    struct json selectors = { 0 };
    const char *key = json_get_text(budget, "headerKey");
    if (text_eq(json_get_text(budget, "scope"), "team"))
        selectors = json_list(a,
            json_fields(a,
                { "headers",
                    json_list(a,
                        json_fields(a,
                            { "name",
                                json_str(text_empty(key) ? ROUTER_DEFAULT_TEAM_HEADER : key) },
                            { "type", json_str("Distinct") })) }));
    return json_fields(a,
        { "clientSelectors", selectors },
        { "limit.requests", json_get(budget, "maxTokens") },
        { "limit.unit", json_str(unit_of(budget)) },
        /* Costs nothing when the request arrives; its tokens are added with the response. */
        { "cost.request.from", json_str("Number") },
        { "cost.request.number", json_int(0) },
        { "cost.response.from", json_str("Metadata") },
        { "cost.response.metadata.namespace", json_str("io.envoy.ai_gateway") },
        { "cost.response.metadata.key", json_str(GATEWAY_TOKENS) });
}

static struct json rate_limit_of(const struct router *r)
{
    struct json_builder b;
    json_builder_init(&b, r->arena);
    json_each (budget, r->spec.budgets)
        json_push(&b, limit_of(r->arena, *budget));
    if (!b.count)
        return json_none;
    return json_fields(
        r->arena, { "type", json_str("Global") }, { "global.rules", json_list_end(&b) });
}

/* ---- retries and health ---- */

static struct json target(const struct router *r)
{
    return json_list(r->arena,
        json_fields(r->arena,
            { "group", json_str("gateway.networking.k8s.io") },
            { "kind", json_str("HTTPRoute") },
            { "name", json_str(r->name) }));
}

static const char *try_timeout(const struct router *r)
{
    int64_t largest = 0;
    for (size_t i = 0; i < r->backend_count; i++)
        if (r->backends[i].timeout_ns > largest)
            largest = r->backends[i].timeout_ns;
    for (size_t i = 0; i < r->rule_count; i++)
        if (r->rules[i].timeout_ns > largest)
            largest = r->rules[i].timeout_ns;
    return largest ? time_duration_format(r->arena, largest) : "60s";
}

static struct json retry_of(const struct router *r)
{
    struct arena *a = r->arena;
    return json_fields(a,
        { "numRetries", json_int(5) },
        { "numAttemptsPerPriority", json_int(1) },
        { "perRetry.backOff.baseInterval", json_str("100ms") },
        { "perRetry.backOff.maxInterval", json_str("10s") },
        { "perRetry.timeout", json_str(try_timeout(r)) },
        { "retryOn.httpStatusCodes", json_list(a, json_int(500), json_int(503)) },
        { "retryOn.triggers",
            json_list(a, json_str("connect-failure"), json_str("retriable-status-codes")) });
}

static struct json health_of(const struct router *r)
{
    struct arena *a = r->arena;
    return json_fields(a,
        { "active.type", json_str("HTTP") },
        { "active.interval", json_str("2s") },
        { "active.timeout", json_str("1s") },
        { "active.healthyThreshold", json_int(1) },
        { "active.unhealthyThreshold", json_int(2) },
        { "active.http.path", json_str("/health") },
        { "active.http.method", json_str("GET") },
        { "active.http.expectedStatuses", json_list(a, json_int(200)) },
        { "passive.baseEjectionTime", json_str("30s") },
        { "passive.consecutive5XxErrors", json_int(3) },
        { "passive.consecutiveLocalOriginFailures", json_int(5) },
        { "passive.interval", json_str("5s") },
        { "passive.maxEjectionPercent", json_int(100) },
        { "passive.splitExternalLocalOriginErrors", json_bool(false) });
}

struct json gateway_traffic_policy(const struct router *r)
{
    return json_fields(r->arena,
        { "metadata.name", json_str(r->name) },
        { "spec.targetRefs", target(r) },
        { "spec.retry", retry_of(r) },
        { "spec.healthCheck", health_of(r) },
        { "spec.rateLimit", rate_limit_of(r) });
}

/* ---- tokens ---- */

bool gateway_check_auth(struct router *r, struct gateway_refusal *ret)
{
    static const char *const required[] = { "provider", "issuer", "jwksURI", "teamClaim" };
    struct json lists = r->spec.allowlists;
    bool jwt = json_is(r->spec.jwt, JSON_MAP);
    if (json_is(lists, JSON_LIST) && lists.count && !jwt)
        return gateway_refuse(r,
            ret,
            "AuthorizationRequiresJWT",
            "spec.policy.auth.allowlists need spec.policy.auth.jwt: the team comes from a token");
    for (size_t i = 0; jwt && i < lengthof(required); i++)
        if (text_empty(json_get_text(r->spec.jwt, required[i])))
            return gateway_refuse(
                r, ret, "InvalidAuth", "spec.policy.auth.jwt.%s: required", required[i]);
    json_each (entry, lists)
        if (text_empty(json_get_text(*entry, "team")))
            return gateway_refuse(
                r, ret, "InvalidAuthorization", "spec.policy.auth.allowlists: team is required");
    return true;
}

/* A team without models gets no rule, and is denied. */
static struct json authorization_of(const struct router *r)
{
    struct arena *a = r->arena;
    struct json lists = r->spec.allowlists;
    if (!json_is(lists, JSON_LIST) || !lists.count)
        return json_none;
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (entry, lists) {
        struct json models = json_get(*entry, "models");
        if (!models.count)
            continue;
        struct json claim = json_fields(a,
            { "name", json_get(r->spec.jwt, "teamClaim") },
            { "values", json_list(a, json_get(*entry, "team")) });
        struct json header =
            json_fields(a, { "name", json_str("x-ai-eg-model") }, { "values", models });
        json_push(&b,
            json_fields(a,
                { "name", json_strf(a, "allow-%s", json_get_text(*entry, "team")) },
                { "action", json_str("Allow") },
                { "principal.jwt.provider", json_get(r->spec.jwt, "provider") },
                { "principal.jwt.claims", json_list(a, claim) },
                { "principal.headers", json_list(a, header) }));
    }
    return json_fields(
        a, { "defaultAction", json_str("Deny") }, { "rules", json_or_absent(json_list_end(&b)) });
}

struct json gateway_security_policy(const struct router *r)
{
    struct arena *a = r->arena;
    struct json jwt = r->spec.jwt;
    const char *key = json_get_text(jwt, "headerKey");
    struct json claim = json_fields(a,
        { "claim", json_get(jwt, "teamClaim") },
        { "header", json_str(text_empty(key) ? ROUTER_DEFAULT_TEAM_HEADER : key) });
    struct json provider = json_fields(a,
        { "name", json_get(jwt, "provider") },
        { "issuer", json_get(jwt, "issuer") },
        { "remoteJWKS.uri", json_get(jwt, "jwksURI") },
        { "claimToHeaders", json_list(a, claim) });
    return json_fields(a,
        { "metadata.name", json_str(r->name) },
        { "spec.targetRefs", target(r) },
        { "spec.jwt.providers", json_list(a, provider) },
        { "spec.authorization", authorization_of(r) });
}
