#include "mcp/derive.h"

#define BODY_BYTES_DEFAULT ((int64_t)8 << 20)

static void add(struct arena *a, struct json_builder *all, const char *type, struct json params)
{
    json_push(all, json_map(a, { "type", json_str(type) }, { "parameters", params }));
}

/* Present, and not null. */
static bool has(struct json document, const char *field)
{
    struct json v = json_member(document, field);
    return json_present(v) && !json_is(v, JSON_NULL);
}

static bool has_items(struct json document, const char *field)
{
    struct json v = json_member(document, field);
    return (json_is(v, JSON_LIST) || json_is(v, JSON_MAP)) && v.count;
}

static void add_who(struct arena *a, struct json_builder *all, struct json d)
{
    struct json audit = json_member(d, "audit_config");
    if (has(d, "audit_config"))
        add(a,
            all,
            "audit",
            json_map(a,
                { "config_data", audit },
                { "component", json_member(audit, "component") },
                { "transport_type", json_member(d, "transport") }));
    add(a, all, "auth", json_map(a, { "oidc_config", json_member(d, "oidc_config") }));
    if (has(d, "upstream_swap_config"))
        add(a,
            all,
            "upstreamswap",
            json_map(a, { "config", json_member(d, "upstream_swap_config") }));
    if (has(d, "token_exchange_config"))
        add(a,
            all,
            "tokenexchange",
            json_map(a, { "token_exchange_config", json_member(d, "token_exchange_config") }));
}

static void add_what(struct arena *a, struct json_builder *all, struct json d)
{
    struct json name = json_member(d, "name"), transport = json_member(d, "transport");
    if (has_items(d, "tools_filter") || has_items(d, "tools_override")) {
        struct json params = json_map(a,
            { "filter_tools", json_member(d, "tools_filter") },
            { "tools_override", json_member(d, "tools_override") });
        add(a, all, "tool-filter", params);
        add(a, all, "tool-call-filter", params);
    }
    add(a, all, "mcp-parser", json_empty_map());
    if (has(d, "telemetry_config"))
        add(a,
            all,
            "telemetry",
            json_map(a,
                { "config", json_member(d, "telemetry_config") },
                { "server_name", name },
                { "transport", transport }));
    if (has(d, "rate_limit_config"))
        add(a,
            all,
            "ratelimit",
            json_map(a,
                { "namespace", json_member(d, "rate_limit_namespace") },
                { "server_name", name },
                { "config", json_member(d, "rate_limit_config") },
                { "redis_addr", json_get(d, "scaling_config.session_redis.address") },
                { "redis_db", json_get(d, "scaling_config.session_redis.db") },
                { "redis_tls", json_or_absent(json_get(d, "scaling_config.session_redis.tls")) }));
    static const char *const hooks[][2] = { { "mutating_webhooks", "mutating-webhook" },
        { "validating_webhooks", "validating-webhook" } };
    for (size_t i = 0; i < lengthof(hooks); i++)
        if (has_items(d, hooks[i][0]))
            add(a,
                all,
                hooks[i][1],
                json_map(a,
                    { "webhooks", json_member(d, hooks[i][0]) },
                    { "server_name", name },
                    { "transport", transport }));
}

struct json derive_middleware(struct arena *a, struct json d)
{
    struct json_builder all;
    json_builder_init(&all, a);
    add(a, &all, "bodylimit", json_map(a, { "max_bytes", json_int(BODY_BYTES_DEFAULT) }));
    add_who(a, &all, d);
    add_what(a, &all, d);
    if (has(d, "authz_config") || has(d, "authz_config_path"))
        add(a,
            &all,
            "authorization",
            json_map(a,
                { "config_data", json_member(d, "authz_config") },
                { "config_path", json_member(d, "authz_config_path") }));
    if (has(d, "aws_sts_config"))
        add(a,
            &all,
            "awssts",
            json_map(a,
                { "aws_sts_config", json_member(d, "aws_sts_config") },
                { "target_url", json_member(d, "remote_url") }));
    add(a, &all, "recovery", json_empty_map());
    return json_list_end(&all);
}
