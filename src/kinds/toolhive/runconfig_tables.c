/* The Go structs of runconfig.json, one table each, in their order. */

#include "kinds/toolhive/runconfig_tables.h"

#include "kinds/toolhive/document_macros.h"

/* ---- permissions ---- */

static const struct document_field outbound[] = { BOOL("insecure_allow_all"),
    TEXTS("allow_host"),
    { .name = "allow_port", .kind = DOCUMENT_INT, .shape = DOCUMENT_LIST, .omitempty = true },
    { 0 } };
static const struct document_field inbound[] = { TEXTS("allow_host"), { 0 } };
static const struct document_field network[] = {
    POINTER("outbound", outbound), POINTER("inbound", inbound), TEXT("mode"), { 0 }
};
static const struct document_field permissions[] = { TEXT("name"),
    TEXTS("read"),
    TEXTS("write"),
    POINTER("network", network),
    BOOL("privileged"),
    { 0 } };

/* ---- authentication ---- */

static const struct document_field oidc[] = {
    TEXT_ALWAYS("Issuer"),
    TEXT_ALWAYS("Audience"),
    TEXT_ALWAYS("JWKSURL"),
    TEXT_ALWAYS("ClientID"),
    TEXT_ALWAYS("ClientSecret"),
    TEXT_ALWAYS("CACertPath"),
    TEXT_ALWAYS("AuthTokenFile"),
    BOOL_ALWAYS("AllowPrivateIP"),
    BOOL_ALWAYS("InsecureAllowHTTP"),
    TEXT_ALWAYS("IntrospectionURL"),
    TEXT_ALWAYS("ResourceURL"),
    { .name = "Scopes", .kind = DOCUMENT_TEXT, .shape = DOCUMENT_LIST },
    { 0 },
};
static const struct document_field token_exchange[] = {
    TEXT_ALWAYS("token_url"),
    TEXT_ALWAYS("client_id"),
    TEXT_ALWAYS("client_secret"),
    TEXT_ALWAYS("audience"),
    TEXTS("scopes"),
    TEXT("subject_token_type"),
    TEXT("header_strategy"),
    TEXT("external_token_header_name"),
    TEXT("subject_provider_name"),
    { 0 },
};
static const struct document_field role_mapping[] = {
    TEXT("claim"), TEXT("matcher"), TEXT_ALWAYS("role_arn"), RAW("priority"), { 0 }
};
static const struct document_field aws_sts[] = {
    TEXT_ALWAYS("region"),
    TEXT("service"),
    TEXT("fallback_role_arn"),
    STRUCTS("role_mappings", role_mapping),
    TEXT("role_claim"),
    INT("session_duration"),
    TEXT("session_name_claim"),
    TEXT("subject_provider_name"),
    { 0 },
};
static const struct document_field remote_auth[] = {
    BOOL_ALWAYS("use_pkce"),
    TEXT("bearer_token"),
    TEXT("cached_token_expiry"),
    TEXT("cached_secret_expiry"),
    { 0 },
};
static const struct document_field cedar[] = {
    { .name = "policies", .kind = DOCUMENT_TEXT, .shape = DOCUMENT_LIST },
    TEXT_ALWAYS("entities_json"),
    TEXT("group_claim_name"),
    TEXT("role_claim_name"),
    TEXT("group_entity_type"),
    { 0 },
};
static const struct document_field authz[] = {
    TEXT_ALWAYS("version"), TEXT_ALWAYS("type"), POINTER("cedar", cedar), { 0 }
};

/* Documents from a ConfigMap or an MCPAuthzConfig keep sorted keys; they are marked. */
static const struct document_field *authz_fields(struct json owner)
{
    return json_present(json_member(owner, "authz_config_inline")) ? authz : NULL;
}

/* ---- the embedded auth server ---- */

static const struct document_field signing[] = {
    TEXT("key_dir"), TEXT("signing_key_file"), TEXTS("fallback_key_files"), { 0 }
};
static const struct document_field lifespans[] = {
    TEXT("access_token_lifespan"), TEXT("refresh_token_lifespan"), TEXT("auth_code_lifespan"), { 0 }
};
static const struct document_field mapping[] = {
    TEXTS("subject_fields"), TEXTS("name_fields"), TEXTS("email_fields"), { 0 }
};
static const struct document_field user_info[] = {
    TEXT_ALWAYS("endpoint_url"),
    TEXT("http_method"),
    TEXT_MAP("additional_headers"),
    POINTER("field_mapping", mapping),
    { 0 },
};
static const struct document_field upstream_oidc[] = {
    TEXT_ALWAYS("issuer_url"),
    TEXT_ALWAYS("client_id"),
    TEXT("client_secret_env_var"),
    TEXT("redirect_uri"),
    TEXTS("scopes"),
    POINTER("userinfo_override", user_info),
    TEXT_MAP("additional_authorization_params"),
    TEXT("subject_claim"),
    { 0 },
};
static const struct document_field token_response[] = {
    TEXT_ALWAYS("access_token_path"),
    TEXT("scope_path"),
    TEXT("refresh_token_path"),
    TEXT("expires_in_path"),
    { 0 },
};
static const struct document_field identity[] = {
    TEXT_ALWAYS("subject_path"), TEXT("name_path"), TEXT("email_path"), { 0 }
};
static const struct document_field registration[] = {
    TEXT("discovery_url"),
    TEXT("registration_endpoint"),
    TEXT("initial_access_token_env_var"),
    TEXT("software_id"),
    TEXT("software_statement"),
    { 0 },
};
static const struct document_field upstream_oauth2[] = {
    TEXT_ALWAYS("authorization_endpoint"),
    TEXT_ALWAYS("token_endpoint"),
    TEXT_ALWAYS("client_id"),
    TEXT("client_secret_env_var"),
    TEXT("redirect_uri"),
    TEXTS("scopes"),
    POINTER("userinfo", user_info),
    POINTER("token_response_mapping", token_response),
    POINTER("identity_from_token", identity),
    POINTER("dcr_config", registration),
    TEXT_MAP("additional_authorization_params"),
    BOOL("allow_private_ips"),
    BOOL("insecure_allow_http"),
    { 0 },
};
static const struct document_field upstream[] = {
    TEXT("name"),
    TEXT_ALWAYS("type"),
    POINTER("oidc_config", upstream_oidc),
    POINTER("oauth2_config", upstream_oauth2),
    { 0 },
};
static const struct document_field sentinel[] = {
    TEXT_ALWAYS("master_name"),
    { .name = "sentinel_addrs", .kind = DOCUMENT_TEXT, .shape = DOCUMENT_LIST },
    INT("db"),
    { 0 },
};
static const struct document_field acl_user[] = {
    TEXT_ALWAYS("username_env_var"), TEXT_ALWAYS("password_env_var"), { 0 }
};
static const struct document_field redis_tls[] = {
    BOOL("insecure_skip_verify"), TEXT("ca_cert_file"), { 0 }
};
static const struct document_field redis[] = {
    TEXT("addr"),
    BOOL("cluster_mode"),
    POINTER("sentinel_config", sentinel),
    TEXT_ALWAYS("auth_type"),
    POINTER("acl_user_config", acl_user),
    TEXT_ALWAYS("key_prefix"),
    TEXT("dial_timeout"),
    TEXT("read_timeout"),
    TEXT("write_timeout"),
    POINTER("tls", redis_tls),
    POINTER("sentinel_tls", redis_tls),
    { 0 },
};
static const struct document_field storage[] = {
    TEXT("type"), POINTER("redis_config", redis), { 0 }
};
static const struct document_field cimd[] = {
    BOOL_ALWAYS("enabled"), INT("cache_max_size"), TEXT("cache_fallback_ttl"), { 0 }
};
static const struct document_field trusted_issuer[] = {
    TEXT_ALWAYS("issuer_url"),
    TEXT("expected_audience"),
    TEXT("jwks_url"),
    BOOL("insecure_allow_http"),
    BOOL("allow_private_ips"),
    TEXT("actor_claim"),
    TEXTS("allowed_actors"),
    TEXTS("allowed_delegate_clients"),
    BOOL("allow_may_act"),
    { 0 },
};
static const struct document_field delegate_client[] = { TEXT_ALWAYS("client_id"),
    TEXT("client_secret_env_var"),
    TEXTS("scopes"),
    TEXTS("audiences"),
    { 0 } };
const struct document_field auth_server_fields[] = {
    TEXT_ALWAYS("schema_version"),
    TEXT_ALWAYS("issuer"),
    TEXT("authorization_endpoint_base_url"),
    POINTER("signing_key_config", signing),
    TEXTS("hmac_secret_files"),
    POINTER("token_lifespans", lifespans),
    STRUCTS("upstreams", upstream),
    TEXTS("scopes_supported"),
    TEXTS("baseline_client_scopes"),
    TEXTS("allowed_audiences"),
    POINTER("storage", storage),
    BOOL("insecure_allow_http"),
    BOOL("insecure_allow_confidential_over_loopback_http"),
    BOOL("disable_upstream_token_injection"),
    POINTER("cimd", cimd),
    STRUCTS("trusted_issuers", trusted_issuer),
    BOOL("allow_confidential_client_registration"),
    TEXTS("force_confidential_redirect_uris"),
    STRUCTS("delegate_clients", delegate_client),
    { 0 },
};

/* ---- audit, telemetry, limits, tools, webhooks ---- */

static const struct document_field audit[] = {
    BOOL("enabled"),
    TEXT("component"),
    BOOL("detectApplicationErrors"),
    INT("maxDataSize"),
    { 0 },
};
const struct document_field telemetry_fields[] = {
    TEXT("endpoint"),
    TEXT("serviceName"),
    TEXT("serviceVersion"),
    BOOL_ALWAYS("tracingEnabled"),
    BOOL_ALWAYS("metricsEnabled"),
    TEXT("samplingRate"),
    TEXT_MAP("headers"),
    BOOL("insecure"),
    BOOL("enablePrometheusMetricsPath"),
    TEXT_MAP("customAttributes"),
    BOOL_ALWAYS("useLegacyAttributes"),
    TEXT("caCertPath"),
    { 0 },
};
static const struct document_field bucket[] = {
    { .name = "maxTokens", .kind = DOCUMENT_INT }, TEXT_ALWAYS("refillPeriod"), { 0 }
};
static const struct document_field tool_limit[] = {
    TEXT_ALWAYS("name"), POINTER("shared", bucket), POINTER("perUser", bucket), { 0 }
};
static const struct document_field rate_limit[] = {
    POINTER("shared", bucket), POINTER("perUser", bucket), STRUCTS("tools", tool_limit), { 0 }
};
static const struct document_field tool_override[] = { TEXT("name"), TEXT("description"), { 0 } };
static const struct document_field webhook_tls[] = {
    TEXT("ca_bundle_path"),
    TEXT("client_cert_path"),
    TEXT("client_key_path"),
    BOOL("insecure_skip_verify"),
    { 0 },
};
static const struct document_field webhook[] = {
    TEXT_ALWAYS("name"),
    TEXT_ALWAYS("url"),
    { .name = "timeout", .kind = DOCUMENT_INT },
    TEXT_ALWAYS("failure_policy"),
    POINTER("tls_config", webhook_tls),
    TEXT("hmac_secret_ref"),
    { 0 },
};
static const struct document_field header_forward[] = {
    TEXT_MAP("add_plaintext_headers"), TEXT_MAP("add_headers_from_secret"), { 0 }
};

/* ---- middleware ---- */

static const struct document_field empty[] = { { 0 } };
static const struct document_field body_limit[] = { INT("max_bytes"), { 0 } };
static const struct document_field audit_parameters[] = {
    POINTER("config_data", audit), TEXT("transport_type"), { 0 }
};
static const struct document_field auth_parameters[] = { POINTER("oidc_config", oidc), { 0 } };
static const struct document_field swap[] = { TEXT("provider_name"), { 0 } };
static const struct document_field swap_parameters[] = { POINTER("config", swap), { 0 } };
static const struct document_field exchange_parameters[] = {
    POINTER("token_exchange_config", token_exchange), { 0 }
};
static const struct document_field full_override[] = {
    TEXT_ALWAYS("name"), TEXT_ALWAYS("description"), { 0 }
};
static const struct document_field filter_parameters[] = {
    { .name = "filter_tools", .kind = DOCUMENT_TEXT, .shape = DOCUMENT_LIST },
    { .name = "tools_override",
        .kind = DOCUMENT_STRUCT,
        .shape = DOCUMENT_MAP,
        .of = full_override },
    { 0 },
};
static const struct document_field telemetry_parameters[] = {
    POINTER("config", telemetry_fields), TEXT("server_name"), TEXT("transport"), { 0 }
};
static const struct document_field limit_parameters[] = {
    TEXT("namespace"),
    TEXT("server_name"),
    POINTER("config", rate_limit),
    TEXT("redis_addr"),
    INT("redis_db"),
    { 0 },
};
static const struct document_field webhook_parameters[] = {
    STRUCTS("webhooks", webhook), TEXT("server_name"), TEXT("transport"), { 0 }
};
static const struct document_field authz_parameters[] = {
    { .name = "config_data", .kind = DOCUMENT_POINTER, .of = NULL }, { 0 }
};
static const struct document_field inline_authz_parameters[] = { POINTER("config_data", authz),
    { 0 } };
static const struct document_field aws_parameters[] = {
    POINTER("aws_sts_config", aws_sts), TEXT("target_url"), { 0 }
};
static const struct document_field header_parameters[] = { TEXT_MAP("add_headers"), { 0 } };

static const struct document_field *parameters(struct json owner)
{
    static const struct {
        const char *type;
        const struct document_field *fields;
    } rows[] = {
        { "bodylimit", body_limit },
        { "audit", audit_parameters },
        { "auth", auth_parameters },
        { "upstreamswap", swap_parameters },
        { "strip-auth", empty },
        { "tokenexchange", exchange_parameters },
        { "tool-filter", filter_parameters },
        { "tool-call-filter", filter_parameters },
        { "mcp-parser", empty },
        { "telemetry", telemetry_parameters },
        { "ratelimit", limit_parameters },
        { "mutating-webhook", webhook_parameters },
        { "validating-webhook", webhook_parameters },
        { "usagemetrics", empty },
        { "awssts", aws_parameters },
        { "header-forward", header_parameters },
    };
    const char *type = json_get_text(owner, "type");
    if (text_eq(type, "authorization"))
        return json_get_bool(owner, "inline", false) ? inline_authz_parameters : authz_parameters;
    for (size_t i = 0; i < lengthof(rows); i++)
        if (text_eq(type, rows[i].type))
            return rows[i].fields;
    return NULL;
}

static const struct document_field middleware[] = {
    TEXT_ALWAYS("type"),
    { .name = "parameters", .kind = DOCUMENT_POINTER, .choose = parameters },
    { .name = "inline", .kind = DOCUMENT_MARK },
    { 0 },
};

/* ---- all of it ---- */

static const struct document_field session_redis[] = {
    TEXT("address"), INT("db"), TEXT("key_prefix"), { 0 }
};
static const struct document_field scaling[] = {
    RAW("backend_replicas"), POINTER("session_redis", session_redis), { 0 }
};

const struct document_field run_config_fields[] = {
    TEXT_ALWAYS("schema_version"),
    INT("mcpserver_generation"),
    TEXT_ALWAYS("image"),
    TEXT("remote_url"),
    POINTER("remote_auth_config", remote_auth),
    TEXTS("cmd_args"),
    TEXT_ALWAYS("name"),
    TEXT_ALWAYS("container_name"),
    TEXT_ALWAYS("base_name"),
    TEXT_ALWAYS("transport"),
    TEXT_ALWAYS("host"),
    { .name = "port", .kind = DOCUMENT_INT },
    INT("target_port"),
    TEXT("permission_profile_name_or_path"),
    POINTER("permission_profile", permissions),
    TEXT_MAP("env_vars"),
    TEXTS("volumes"),
    TEXT_MAP("container_labels"),
    POINTER("oidc_config", oidc),
    POINTER("token_exchange_config", token_exchange),
    POINTER("aws_sts_config", aws_sts),
    { .name = "authz_config", .kind = DOCUMENT_POINTER, .omitempty = true, .choose = authz_fields },
    { .name = "authz_config_inline", .kind = DOCUMENT_MARK },
    POINTER("audit_config", audit),
    POINTER("telemetry_config", telemetry_fields),
    POINTER("rate_limit_config", rate_limit),
    TEXT("rate_limit_namespace"),
    BOOL("trust_proxy_headers"),
    TEXT("proxy_mode"),
    TEXT("thv_ca_bundle"),
    TEXT("jwks_auth_token_file"),
    TEXTS("tools_filter"),
    { .name = "tools_override",
        .kind = DOCUMENT_STRUCT,
        .shape = DOCUMENT_MAP,
        .omitempty = true,
        .of = tool_override },
    STRUCTS("middleware_configs", middleware),
    STRUCTS("validating_webhooks", webhook),
    STRUCTS("mutating_webhooks", webhook),
    TEXT("endpoint_prefix"),
    POINTER("header_forward", header_forward),
    POINTER("embedded_auth_server_config", auth_server_fields),
    POINTER("scaling_config", scaling),
    { 0 },
};
