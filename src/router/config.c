#include "router/config.h"

#include <stdlib.h>
#include <strings.h>

#include "base/json_bind.h"

#define BACKENDS_MAX 1024
#define RULES_MAX 4096

/* The spelling used in the tables below. */
static const char *const known_keys[] = { "backends",
    "name",
    "displayName",
    "tier",
    "address",
    "provider",
    "model",
    "capabilities",
    "weight",
    "credentialsEnv",
    "credentialsFile",
    "timeout",
    "timeouts",
    "connect",
    "firstToken",
    "betweenTokens",
    "total",
    "healthCheck",
    "path",
    "intervalSeconds",
    "timeoutSeconds",
    "costPerMillionTokens",
    "promptUSD",
    "completionUSD",
    "pool",
    "namespace",
    "member",
    "members",
    "swapBudget",
    "rules",
    "match",
    "route",
    "strategy",
    "failClosed",
    "dataClassification",
    "taskComplexity",
    "requiredCapabilities",
    "latencySLOMs",
    "headers",
    "models",
    "defaultRoute",
    "defaultRouteStrategy",
    "policy",
    "classification",
    "mode",
    "headerKey",
    "sensitiveClassifications",
    "auditLog",
    "sink",
    "filePath",
    "includeRequestBody",
    "budgets",
    "scope",
    "ruleName",
    "windowSeconds",
    "maxTokens",
    "maxUSD",
    "auth",
    "jwt",
    "provider",
    "issuer",
    "jwksURI",
    "teamClaim",
    "allowlists",
    "team",
    "replicas",
    "served",
    "unavailable" };

static const struct json_bind backend_bind[] = {
    BIND(struct router_backend, name, "name"),
    BIND(struct router_backend, display_name, "displayName"),
    BIND(struct router_backend, tier, "tier"),
    BIND(struct router_backend, address, "address"),
    BIND(struct router_backend, provider, "provider"),
    BIND(struct router_backend, model, "model"),
    BIND(struct router_backend, credentials_env, "credentialsEnv"),
    BIND(struct router_backend, credentials_file, "credentialsFile"),
    BIND(struct router_backend, capabilities, "capabilities"),
    BIND(struct router_backend, weight, "weight"),
    BIND(struct router_backend, timeout_ns, "timeout"),
    BIND(struct router_backend, clocks.connect_ns, "timeouts.connect"),
    BIND(struct router_backend, clocks.first_token_ns, "timeouts.firstToken"),
    BIND(struct router_backend, clocks.between_tokens_ns, "timeouts.betweenTokens"),
    BIND(struct router_backend, clocks.total_ns, "timeouts.total"),
    BIND(struct router_backend, health_path, "healthCheck.path"),
    BIND(struct router_backend, health_interval_s, "healthCheck.intervalSeconds", .min = 1,
        .max = 86400),
    BIND(struct router_backend, health_timeout_s, "healthCheck.timeoutSeconds", .min = 1,
        .max = 3600),
    BIND(struct router_backend, prompt_usd, "costPerMillionTokens.promptUSD"),
    BIND(struct router_backend, completion_usd, "costPerMillionTokens.completionUSD"),
    BIND(struct router_backend, pool_name, "pool.name"),
    BIND(struct router_backend, pool_namespace, "pool.namespace"),
    BIND(struct router_backend, pool_member, "pool.member"),
    BIND(struct router_backend, pool_members, "pool.members"),
    BIND(struct router_backend, swap_budget_ns, "pool.swapBudget"),
    BIND(struct router_backend, served, "served"),
    BIND(struct router_backend, unavailable, "unavailable"),
    { 0 },
};

static const struct json_bind rule_bind[] = {
    BIND(struct router_rule, name, "name"),
    BIND(struct router_rule, complexity, "match.taskComplexity"),
    BIND(struct router_rule, classes, "match.dataClassification"),
    BIND(struct router_rule, headers, "match.headers"),
    BIND(struct router_rule, models, "match.models"),
    BIND(struct router_rule, capabilities, "match.requiredCapabilities"),
    BIND(struct router_rule, latency_slo_ms, "match.latencySLOMs"),
    BIND(struct router_rule, backend_names, "route.backends"),
    BIND(struct router_rule, strategy_word, "route.strategy"),
    BIND(struct router_rule, fail_closed, "failClosed"),
    BIND(struct router_rule, timeout_ns, "timeout"),
    BIND(struct router_rule, clocks.connect_ns, "timeouts.connect"),
    BIND(struct router_rule, clocks.first_token_ns, "timeouts.firstToken"),
    BIND(struct router_rule, clocks.between_tokens_ns, "timeouts.betweenTokens"),
    BIND(struct router_rule, clocks.total_ns, "timeouts.total"),
    { 0 },
};

struct top {
    struct json backends, rules;
    const char *default_route, *default_strategy;
};
static const struct json_bind top_bind[] = {
    BIND(struct top, backends, "backends"),
    BIND(struct top, rules, "rules"),
    BIND(struct top, default_route, "defaultRoute"),
    BIND(struct top, default_strategy, "defaultRouteStrategy"),
    { 0 },
};
static const struct json_bind policy_bind[] = {
    BIND(struct router_config, class_header, "policy.classification.headerKey"),
    BIND(struct router_config, sensitive, "policy.classification.sensitiveClassifications"),
    BIND(struct router_config, audit_sink, "policy.auditLog.sink"),
    BIND(struct router_config, audit_file, "policy.auditLog.filePath"),
    BIND(struct router_config, audit_body, "policy.auditLog.includeRequestBody"),
    BIND(struct router_config, replicas, "replicas", .min = 1, .max = 1000),
    { 0 },
};

/* Converts keys to our spelling. Those of match.headers are header names and are kept. */
static struct json spelled(struct arena *a, struct json v)
{
    struct json_builder b;
    json_builder_init(&b, a);
    if (json_is(v, JSON_LIST)) {
        json_each (item, v)
            json_push(&b, spelled(a, *item));
        return json_list_end(&b);
    }
    if (!json_is(v, JSON_MAP))
        return v;
    json_each_member (m, v) {
        const char *key = m->key;
        for (size_t i = 0; i < lengthof(known_keys); i++)
            if (strcasecmp(key, known_keys[i]) == 0)
                key = known_keys[i];
        bool literal = text_eq(key, "headers");
        json_put(&b, key, literal ? m->value : spelled(a, m->value));
    }
    return json_map_end(&b);
}

static bool is_text_list(struct json v, const char *at, struct error *err)
{
    if (json_present(v) && !json_is(v, JSON_NULL) && !json_is(v, JSON_LIST))
        return fail(err, ERR_INVALID, "%s: expected list, got %s", at, json_type_name(v));
    json_each (item, v)
        if (!json_is(*item, JSON_STR))
            return fail(
                err, ERR_INVALID, "%s: expected strings, got %s", at, json_type_name(*item));
    return true;
}

static bool is_text_map(struct json v, const char *at, struct error *err)
{
    if (json_present(v) && !json_is(v, JSON_NULL) && !json_is(v, JSON_MAP))
        return fail(err, ERR_INVALID, "%s: expected map, got %s", at, json_type_name(v));
    json_each_member (m, v)
        if (!json_is(m->value, JSON_STR))
            return fail(err, ERR_INVALID, "%s.%s: expected string", at, m->key);
    return true;
}

static const struct router_backend *find_backend(const struct router_config *c, const char *name)
{
    for (size_t i = 0; i < c->backend_count; i++)
        if (text_eq(c->backends[i].name, name))
            return &c->backends[i];
    return NULL;
}

/* Also binds the same object of policy.json. */
static bool bind_both(struct router_config *c, struct json from, struct json extras, const char *at,
    const struct json_bind *table, void *into, struct error *err)
{
    struct json extra = json_find(extras, "name", json_get_text(from, "name"));
    return json_bind(&c->arena, from, at, table, into, err) &&
           (!json_is(extra, JSON_MAP) || json_bind(&c->arena, extra, at, table, into, err));
}

static bool read_backend(
    struct router_config *c, struct json from, struct json extras, size_t index, struct error *err)
{
    struct router_backend *b = &c->backends[index];
    const char *at = arena_printf(&c->arena, "backends[%zu]", index);
    *b = (struct router_backend){ .index = index, .health_interval_s = 10, .health_timeout_s = 2 };
    if (!bind_both(c, from, extras, at, backend_bind, b, err) ||
        !router_config_read_prices(b, at, err) ||
        !is_text_list(b->capabilities, arena_printf(&c->arena, "%s.capabilities", at), err) ||
        !is_text_list(b->served, arena_printf(&c->arena, "%s.served", at), err))
        return false;
    if (text_empty(b->name))
        return fail(err, ERR_INVALID, "%s: name is required", at);
    if (find_backend(c, b->name) != b)
        return fail(err, ERR_INVALID, "%s: duplicate name \"%s\"", at, b->name);
    b->is_local = text_eq(b->tier, "local");
    if (!b->is_local && !text_eq(b->tier, "cloud"))
        return fail(err,
            ERR_INVALID,
            "%s %s: tier must be local or cloud, got \"%s\"",
            at,
            b->name,
            b->tier ?: "");
    if (text_empty(b->address))
        return fail(err, ERR_INVALID, "%s %s: address is required", at, b->name);
    c->needs_model = c->needs_model || !text_empty(b->model);
    return true;
}

static bool read_rule(
    struct router_config *c, struct json from, struct json extras, size_t index, struct error *err)
{
    struct router_rule *r = &c->rules[index];
    struct arena *a = &c->arena;
    const char *at = arena_printf(a, "rules[%zu]", index);
    if (!bind_both(c, from, extras, at, rule_bind, r, err) ||
        !is_text_list(r->classes, arena_printf(a, "%s.match.dataClassification", at), err) ||
        !is_text_list(r->models, arena_printf(a, "%s.match.models", at), err) ||
        !is_text_list(r->capabilities, arena_printf(a, "%s.match.requiredCapabilities", at), err) ||
        !is_text_map(r->headers, arena_printf(a, "%s.match.headers", at), err) ||
        !is_text_list(r->backend_names, arena_printf(a, "%s.route.backends", at), err))
        return false;
    if (text_empty(r->name))
        return fail(err, ERR_INVALID, "%s: name is required", at);
    r->backend_count = r->backend_names.type == JSON_LIST ? r->backend_names.count : 0;
    if (r->backend_count == 0)
        return fail(err, ERR_INVALID, "%s %s: route.backends must be non-empty", at, r->name);
    r->backends = arena_array(a, r->backend_count, sizeof(*r->backends));
    for (size_t i = 0; i < r->backend_count; i++) {
        const char *name = json_text(json_item(r->backend_names, i));
        r->backends[i] = find_backend(c, name);
        if (!r->backends[i])
            return fail(err,
                ERR_INVALID,
                "%s %s: route.backends[%zu] \"%s\" does not name an existing backend",
                at,
                r->name,
                i,
                name);
    }
    r->strategy = text_eq(r->strategy_word, "weighted") ? ROUTER_WEIGHTED
                  : text_eq(r->strategy_word, "shadow") ? ROUTER_SHADOW
                                                        : ROUTER_FALLBACK;
    c->needs_model = c->needs_model || (r->models.type == JSON_LIST && r->models.count > 0);
    return true;
}

static bool read_default(struct router_config *c, const struct top *top, struct error *err)
{
    const char *word = top->default_strategy;
    if (!text_empty(word) && !text_eq(word, "Static") && !text_eq(word, "BackendNameMatch") &&
        !c->by_name)
        return fail(err,
            ERR_INVALID,
            "defaultRouteStrategy \"%s\" must be \"Static\" or \"BackendNameMatch\"",
            word);
    c->match_backend_names = text_eq(word, "BackendNameMatch") || c->by_name;
    c->needs_model = c->needs_model || c->match_backend_names;
    if (text_empty(top->default_route))
        return true;
    c->default_route = find_backend(c, top->default_route);
    return c->default_route || fail(err,
                                   ERR_INVALID,
                                   "defaultRoute \"%s\" does not name an existing backend",
                                   top->default_route);
}

static bool count_of(struct json v, const char *at, size_t max, size_t *ret, struct error *err)
{
    *ret = v.type == JSON_LIST ? v.count : 0;
    if (json_present(v) && !json_is(v, JSON_NULL) && !json_is(v, JSON_LIST))
        return fail(err, ERR_INVALID, "%s: expected list, got %s", at, json_type_name(v));
    return *ret <= max || fail(err, ERR_INVALID, "%s: more than %zu", at, max);
}

static bool read_document(struct arena *a, struct str text, struct json *ret, struct error *err)
{
    if (!json_parse(a, text, ret, err))
        return false;
    *ret = json_is(*ret, JSON_NULL) ? json_empty_map() : spelled(a, *ret);
    return json_is(*ret, JSON_MAP) ||
           fail(err, ERR_INVALID, "expected map, got %s", json_type_name(*ret));
}

static bool read_policy(
    struct router_config *c, struct json v, struct json extra, struct error *err)
{
    struct arena *a = &c->arena;
    return json_bind(a, v, "", policy_bind, c, err) &&
           json_bind(a, extra, "", policy_bind, c, err) &&
           router_config_read_policy(c, json_get(v, "policy"), err) &&
           router_config_read_policy(c, json_get(extra, "policy"), err);
}

static bool read_config(
    struct router_config *c, struct str text, struct str more, struct error *err)
{
    struct arena *a = &c->arena;
    struct json v, extra = json_empty_map();
    struct top top = { 0 };
    c->class_header = "x-llmkube-classification";
    c->replicas = 1;
    if (!read_document(a, text, &v, err))
        return false;
    if (more.ptr && !read_document(a, more, &extra, err))
        return fail_in(err, "policy.json");
    if (!json_bind(a, v, "", top_bind, &top, err) || !read_policy(c, v, extra, err) ||
        !is_text_list(c->sensitive, "policy.classification.sensitiveClassifications", err) ||
        !count_of(top.backends, "backends", BACKENDS_MAX, &c->backend_count, err) ||
        !count_of(top.rules, "rules", RULES_MAX, &c->rule_count, err))
        return false;
    c->by_name = text_eq(top.default_strategy, "ByName");
    if (c->backend_count == 0 && !c->by_name)
        return fail(err, ERR_INVALID, "backends must be non-empty");
    c->class_header = str_dup(a, str_trim(str_of(c->class_header)));
    if (text_empty(c->class_header))
        c->class_header = "x-llmkube-classification";
    c->backends = arena_array(a, c->backend_count + 1, sizeof(*c->backends));
    c->rules = arena_array(a, c->rule_count + 1, sizeof(*c->rules));
    for (size_t i = 0; i < c->backend_count; i++)
        if (!read_backend(c, json_item(top.backends, i), json_get(extra, "backends"), i, err))
            return false;
    for (size_t i = 0; i < c->rule_count; i++)
        if (!read_rule(c, json_item(top.rules, i), json_get(extra, "rules"), i, err))
            return false;
    return read_default(c, &top, err);
}

struct router_config *router_config_new(struct str text, struct str extra, struct error *err)
{
    struct router_config *c = mem_new_of(struct router_config);
    arena_init(&c->arena, ARENA_LIMIT_DEFAULT);
    c->refs = 1;
    if (read_config(c, text, extra, err) &&
        (!arena_overflowed(&c->arena) || fail(err, ERR_TOO_LARGE, "the config is too large")))
        return c;
    router_config_unref(c);
    return NULL;
}

struct router_config *router_config_ref(struct router_config *c)
{
    c->refs++;
    return c;
}

void router_config_unref(struct router_config *c)
{
    if (!c || --c->refs)
        return;
    arena_done(&c->arena);
    free(c);
}

bool router_config_is_sensitive(const struct router_config *c, const char *data_class)
{
    if (c->sensitive.type != JSON_LIST || c->sensitive.count == 0)
        return text_eq(data_class, "pii") || text_eq(data_class, "phi");
    json_each (item, c->sensitive)
        if (strcasecmp(json_text(*item), data_class) == 0)
            return true;
    return false;
}
