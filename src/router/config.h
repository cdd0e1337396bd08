#pragma once

/* The router's configuration: config.json as the ModelRouter controller writes it.
 *
 * Durations in the file are integers in nanoseconds. Keys are case-insensitive and unknown keys are
 * ignored, as in Go. `timeouts` and `credentialsFile` are additions that upstream's router ignores;
 * so are budgets, authentication, prices, health checks and latency goals, which upstream's
 * operator leaves out of config.json and ours puts into policy.json beside it. A config is
 * immutable and reference-counted: an exchange keeps the one that it started with. */

#include "base/json.h"

struct router_backend {
    const char *name;
    const char *display_name;
    const char *tier;
    const char *address;
    const char *provider;
    const char *model;
    const char *credentials_env;
    const char *credentials_file;
    struct json capabilities;
    int64_t weight;
    int64_t timeout_ns;
    struct router_clocks {
        int64_t connect_ns, first_token_ns, between_tokens_ns, total_ns; /* 0: unset */
    } clocks;
    const char *health_path; /* NULL: no active checks */
    int64_t health_interval_s, health_timeout_s;
    const char *prompt_usd, *completion_usd; /* per million tokens */
    double prompt_nano, completion_nano;     /* billionths of a dollar for one token */
    const char *pool_name, *pool_namespace, *pool_member;
    struct json pool_members;
    int64_t swap_budget_ns;
    struct json served;      /* model names that it serves itself: forwarded unchanged */
    const char *unavailable; /* why it is not available, for the client; NULL: it is */
    size_t index;
    bool is_local;
};

enum router_strategy { ROUTER_FALLBACK, ROUTER_WEIGHTED, ROUTER_SHADOW };

struct router_rule {
    const char *name;
    const char *complexity;
    struct json classes, headers, models, capabilities;
    struct json backend_names;
    const char *strategy_word;
    enum router_strategy strategy;
    const struct router_backend **backends;
    size_t backend_count;
    bool fail_closed;
    int64_t timeout_ns;
    int64_t latency_slo_ms;
    struct router_clocks clocks;
};

enum router_budget_scope { BUDGET_OF_ROUTER, BUDGET_OF_RULE, BUDGET_OF_TEAM };

struct router_budget {
    const char *name;
    const char *scope_word, *rule_name, *header_key;
    enum router_budget_scope scope;
    int64_t window_s;
    int64_t max_tokens; /* 0: no limit */
    const char *max_usd;
    int64_t max_nano; /* billionths of a dollar; 0: no limit */
};

struct router_auth {
    bool required; /* requests need a token */
    const char *issuer, *jwks_uri, *team_claim, *header_key;
    struct json allowlists; /* absent: every team may use every model */
};

struct router_config {
    struct arena arena;
    size_t refs;
    struct router_backend *backends;
    size_t backend_count;
    struct router_rule *rules;
    size_t rule_count;
    const struct router_backend *default_route; /* NULL: none */
    bool match_backend_names;
    /* defaultRouteStrategy ByName, which no ModelRouter has: every request names its back end,
     * there may be no back ends, and errors are in OpenAI's form. */
    bool by_name;
    bool needs_model; /* the model decides where a request is sent, or is rewritten */
    const char *class_header;
    struct json sensitive; /* classifications */
    const char *audit_sink, *audit_file;
    bool audit_body;
    struct router_budget *budgets;
    size_t budget_count;
    int64_t replicas; /* of this router: the budgets are divided among them */
    struct router_auth auth;
    bool needs_team; /* budgets or model lists are per team */
};

/* Returns one reference; NULL with err: what is wrong and where. extra has more fields of the same
 * form, with back ends and rules matched by name (policy.json); .ptr NULL: none. */
struct router_config *router_config_new(
    struct str text, struct str extra, struct error *err) must_check;
struct router_config *router_config_ref(struct router_config *c);
void router_config_unref(struct router_config *c);
bool router_config_is_sensitive(const struct router_config *c, const char *data_class);

/* config_policy.c: policy.budgets and policy.auth. */
bool router_config_read_policy(
    struct router_config *c, struct json policy, struct error *err) must_check;
bool router_config_read_prices(
    struct router_backend *b, const char *at, struct error *err) must_check;
