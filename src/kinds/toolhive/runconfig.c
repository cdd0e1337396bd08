/* runconfig.json: the configuration of the proxy, in the format of upstream's runner. */

#include "kinds/toolhive/runconfig_tables.h"

#include "base/time.h"
#include "engine/view.h"
#include "kinds/toolhive/proxy.h"

#define BODY_BYTES_MAX 8388608
#define ACCOUNT_FILES "/var/run/secrets/kubernetes.io/serviceaccount"
#define PROFILES "/etc/toolhive/profiles"
#define MCP_PORT 8080

static bool fault(struct proxy *p, const char *format, ...) printf_like(2, 3);
static bool fault(struct proxy *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    p->fault = arena_vprintf(p->a, format, args);
    va_end(args);
    return false;
}

/* ---- parts ---- */

const char *proxy_resource_url(const struct proxy *p)
{
    return toolhive_text(p->spec,
        "oidcConfigRef.resourceUrl",
        arena_printf(
            p->a, "http://%s.%s.svc.cluster.local:%lld", p->name, p->ns, (long long)p->port));
}

static int64_t target_port(const struct proxy *p)
{
    return p->remote ? 0 : json_get_int(p->spec, "mcpPort", MCP_PORT);
}

static bool variables(struct proxy *p, struct json *ret)
{
    struct json_builder map;
    json_builder_init(&map, p->a);
    json_each (item, json_get(p->spec, "env")) {
        const char *value = toolhive_text(*item, "value", "");
        if (strchr(value, '\n'))
            return fault(p,
                "spec.env: the value of %s has more than one line; put it into a Secret and use "
                "spec.secrets",
                toolhive_text(*item, "name", ""));
        json_put(&map, toolhive_text(*item, "name", ""), json_str(value));
    }
    json_put(&map, "MCP_TRANSPORT", json_str(p->transport));
    if (target_port(p) && !text_eq(p->transport, "stdio")) {
        struct json port = json_strf(p->a, "%lld", (long long)target_port(p));
        json_put(&map, "MCP_PORT", port);
        json_put(&map, "FASTMCP_PORT", port);
    }
    *ret = json_map_end(&map);
    return true;
}

static struct json container_labels(const struct proxy *p)
{
    return json_map(p->a,
        { "toolhive", json_str("true") },
        { "toolhive-name", json_str(p->name) },
        { "toolhive-basename", json_str(p->name) },
        { "toolhive-transport", json_str(p->transport) },
        { "toolhive-port", json_strf(p->a, "%lld", (long long)p->port) });
}

static struct json mounts(const struct proxy *p, bool strings, bool read_only)
{
    struct json_builder list;
    json_builder_init(&list, p->a);
    json_each (v, json_get(p->spec, "volumes")) {
        bool fixed = json_get_bool(*v, "readOnly", false);
        if (strings || fixed == read_only)
            json_push(&list,
                json_strf(p->a,
                    "%s:%s%s",
                    toolhive_text(*v, "hostPath", ""),
                    toolhive_text(*v, "mountPath", ""),
                    strings && fixed ? ":ro" : ""));
    }
    return json_or_absent(json_list_end(&list));
}

/* A user's own profile, from a ConfigMap of the cluster: never from a file of this machine. */
static bool profile_from_map(struct proxy *p, const char *name, struct json *ret)
{
    const char *key = toolhive_text(p->spec, "permissionProfile.key", "");
    struct json map = view_get(p->in, &TOOLHIVE_CONFIG_MAP, name);
    const char *text = json_text(json_member(json_get(map, "data"), key));
    struct error err;
    if (!text)
        return fault(p,
            "spec.permissionProfile: ConfigMap %s/%s has no key \"%s\"; create it",
            p->ns,
            name,
            key);
    if (!json_parse(p->a, str_of(text), ret, &err) || !json_is(*ret, JSON_MAP))
        return fault(p,
            "spec.permissionProfile: key \"%s\" of ConfigMap %s/%s is not a JSON object",
            key,
            p->ns,
            name);
    return true;
}

static bool permissions(struct proxy *p, struct json *ret, struct json *ret_name)
{
    struct arena *a = p->a;
    struct json given = json_get(p->spec, "permissionProfile");
    const char *name = toolhive_text(given, "name", "network");
    *ret_name = json_none;
    if (json_present(given) && text_eq(json_get_text(given, "type"), "configmap")) {
        *ret_name = json_strf(a, PROFILES "/%s", toolhive_text(given, "key", ""));
        if (!profile_from_map(p, name, ret))
            return false;
    } else {
        bool open = text_eq(name, "network");
        if (!open && !text_eq(name, "none"))
            return fault(p,
                "spec.permissionProfile.name: \"%s\" is no builtin profile; use none or network",
                name);
        *ret_name = json_if(json_present(given), json_str(name));
        *ret = json_fields(a,
            { "name", json_str(name) },
            { "network.outbound",
                open ? json_fields(a, { "insecure_allow_all", json_bool(true) })
                     : json_empty_map() },
            { "network.inbound", json_empty_map() });
    }
    struct json read = mounts(p, false, true), write = mounts(p, false, false);
    *ret = json_present(read) ? json_with_member(a, *ret, "read", read) : *ret;
    *ret = json_present(write) ? json_with_member(a, *ret, "write", write) : *ret;
    return true;
}

static struct json oidc_config(const struct proxy *p, bool auth_server)
{
    struct arena *a = p->a;
    if (!json_present(p->oidc))
        return json_none;
    bool cluster = text_eq(json_get_text(p->oidc, "spec.type"), "kubernetesServiceAccount");
    struct json c = json_get(p->oidc, cluster ? "spec.kubernetesServiceAccount" : "spec.inline");
    struct json scopes = json_or_absent(json_get(p->spec, "oidcConfigRef.scopes"));
    if (auth_server && !json_present(scopes))
        scopes = json_list(a,
            json_str("openid"),
            json_str("profile"),
            json_str("email"),
            json_str("offline_access"));
    const char *ca = json_get_text(c, "caBundleRef.configMapRef.name"), *ca_path = NULL;
    const char *token = json_get_text(c, "jwksAuthTokenPath");
    bool private_ip = json_get_bool(c, "jwksAllowPrivateIP", false) ||
                      json_get_bool(c, "protectedResourceAllowPrivateIP", false);
    if (cluster && json_get_bool(c, "useClusterAuth", true)) {
        ca_path = ACCOUNT_FILES "/ca.crt";
        token = ACCOUNT_FILES "/token";
        private_ip = true;
    } else if (ca) {
        ca_path = arena_printf(a,
            "/config/certs/%s/%s",
            ca,
            toolhive_text(c, "caBundleRef.configMapRef.key", "ca.crt"));
    }
    const char *issuer = cluster ? "https://kubernetes.default.svc" : "";
    return json_fields(a,
        { "Issuer", json_str(toolhive_text(c, "issuer", issuer)) },
        { "Audience", json_get(p->spec, "oidcConfigRef.audience") },
        { "JWKSURL", json_get(c, "jwksUrl") },
        { "ClientID", json_get(c, "clientId") },
        { "CACertPath", json_str(ca_path) },
        { "AuthTokenFile", json_str(token) },
        { "AllowPrivateIP", json_bool(private_ip) },
        { "InsecureAllowHTTP", json_bool(json_get_bool(c, "insecureAllowHTTP", false)) },
        { "IntrospectionURL", json_get(c, "introspectionUrl") },
        { "ResourceURL", json_str(proxy_resource_url(p)) },
        { "Scopes", scopes });
}

/* ---- outgoing authentication ---- */

/* Only checks whether a Secret exists; its values are never read. */
static bool check_secret(struct proxy *p, const char *what, struct json ref)
{
    const char *name = json_get_text(ref, "name");
    if (!name || json_present(view_get(p->in, &RESOURCE_SECRET, name)))
        return true;
    return fault(p,
        "failed to process ExternalAuthConfig: failed to get %s %s/%s: Secret \"%s\" not found",
        what,
        p->ns,
        name,
        name);
}

static bool token_exchange(struct proxy *p, struct json *ret)
{
    static const char urn[] = "urn:ietf:params:oauth:token-type:";
    struct json t = json_get(p->external, "spec.tokenExchange");
    if (!proxy_external_is(p, "tokenExchange"))
        return true;
    const char *type = toolhive_text(t, "subjectTokenType", "");
    bool custom = !text_empty(json_get_text(t, "externalTokenHeaderName"));
    *ret = json_fields(p->a,
        { "token_url", json_get(t, "tokenUrl") },
        { "client_id", json_get(t, "clientId") },
        { "audience", json_get(t, "audience") },
        { "scopes", json_get(t, "scopes") },
        { "subject_token_type",
            !*type || text_starts(type, urn) ? json_str_or_absent(type)
                                             : json_strf(p->a, "%s%s", urn, type) },
        { "header_strategy", json_str(custom ? "custom" : "replace") },
        { "external_token_header_name", json_get(t, "externalTokenHeaderName") },
        { "subject_provider_name", json_get(t, "subjectProviderName") });
    return check_secret(p, "client secret", json_get(t, "clientSecretRef"));
}

static bool bearer(struct proxy *p, struct json *ret)
{
    struct json ref = json_get(p->external, "spec.bearerToken.tokenSecretRef");
    if (!proxy_external_is(p, "bearerToken"))
        return true;
    *ret = json_fields(p->a,
        { "bearer_token",
            json_strf(p->a, "%s,target=bearer_token", toolhive_text(ref, "name", "")) },
        { "cached_token_expiry", json_str("0001-01-01T00:00:00Z") },
        { "cached_secret_expiry", json_str("0001-01-01T00:00:00Z") });
    return check_secret(p, "bearer token secret", ref);
}

static bool aws(struct proxy *p, struct json *ret)
{
    struct json s = json_get(p->external, "spec.awsSts");
    if (!proxy_external_is(p, "awsSts"))
        return true;
    if (!p->remote)
        return fault(p,
            "failed to create RunConfig from MCPServer: failed to validate run config: AWS STS "
            "authentication requires a remote MCP server; use an MCPRemoteProxy");
    struct json_builder roles;
    json_builder_init(&roles, p->a);
    json_each (r, json_get(s, "roleMappings"))
        json_push(&roles,
            json_fields(p->a,
                { "claim", json_get(*r, "claim") },
                { "matcher", json_get(*r, "matcher") },
                { "role_arn", json_get(*r, "roleArn") },
                { "priority", json_get(*r, "priority") }));
    *ret = json_fields(p->a,
        { "region", json_get(s, "region") },
        { "service", json_get(s, "service") },
        { "fallback_role_arn", json_get(s, "fallbackRoleArn") },
        { "role_mappings", json_or_absent(json_list_end(&roles)) },
        { "role_claim", json_get(s, "roleClaim") },
        { "session_duration", json_get(s, "sessionDuration") },
        { "session_name_claim", json_get(s, "sessionNameClaim") },
        { "subject_provider_name", json_get(s, "subjectProviderName") });
    return true;
}

/* ---- telemetry, limits, tools, headers, scaling ---- */

struct json proxy_telemetry(const struct proxy *p)
{
    struct arena *a = p->a;
    if (!json_present(p->telemetry))
        return json_none;
    struct json t = json_get(p->telemetry, "spec.openTelemetry");
    if (!json_get_bool(t, "enabled", false))
        t = json_none;
    const char *endpoint = json_get_text(t, "endpoint");
    if (text_starts(endpoint, "https://"))
        endpoint += strlen("https://");
    else if (text_starts(endpoint, "http://"))
        endpoint += strlen("http://");
    struct json ca = json_get(t, "caBundleRef.configMapRef");
    return json_fields(a,
        { "endpoint", json_str(endpoint) },
        { "serviceName",
            json_str(toolhive_text(p->spec, "telemetryConfigRef.serviceName", p->name)) },
        { "tracingEnabled", json_bool(json_get_bool(t, "tracing.enabled", false)) },
        { "metricsEnabled", json_bool(json_get_bool(t, "metrics.enabled", false)) },
        { "samplingRate", json_get(t, "tracing.samplingRate") },
        { "headers", json_get(t, "headers") },
        { "insecure", json_get(t, "insecure") },
        { "enablePrometheusMetricsPath",
            json_true_or_absent(json_get_bool(p->telemetry, "spec.prometheus.enabled", false)) },
        { "customAttributes", json_get(t, "resourceAttributes") },
        { "useLegacyAttributes",
            json_bool(json_get_bool(t, "useLegacyAttributes", json_present(t))) },
        { "caCertPath",
            json_if(json_present(ca),
                json_strf(a,
                    "/config/certs/otel/%s/%s",
                    toolhive_text(ca, "name", ""),
                    toolhive_text(ca, "key", "ca.crt"))) });
}

static bool bucket(struct proxy *p, struct json v, const char *path, struct json *ret)
{
    int64_t ns;
    *ret = json_none;
    if (!json_present(v))
        return true;
    const char *period = toolhive_text(v, "refillPeriod", "");
    if (!time_duration_parse(period, &ns))
        return fault(p,
            "spec.rateLimiting.%s.refillPeriod: \"%s\" is not a duration. Use a form such as "
            "1m30s.",
            path,
            period);
    *ret = json_fields(p->a,
        { "maxTokens", json_get(v, "maxTokens") },
        { "refillPeriod", json_str(time_duration_format(p->a, ns)) });
    return true;
}

static bool rate_limits(struct proxy *p, struct json *ret)
{
    struct json limits = json_get(p->spec, "rateLimiting"), shared, user;
    if (p->remote || !json_present(limits))
        return true;
    struct json_builder tools;
    json_builder_init(&tools, p->a);
    json_each (tool, json_get(limits, "tools")) {
        if (!bucket(p, json_get(*tool, "shared"), "tools[].shared", &shared) ||
            !bucket(p, json_get(*tool, "perUser"), "tools[].perUser", &user))
            return false;
        json_push(&tools,
            json_fields(p->a,
                { "name", json_get(*tool, "name") },
                { "shared", shared },
                { "perUser", user }));
    }
    if (!bucket(p, json_get(limits, "shared"), "shared", &shared) ||
        !bucket(p, json_get(limits, "perUser"), "perUser", &user))
        return false;
    *ret = json_fields(p->a,
        { "shared", shared },
        { "perUser", user },
        { "tools", json_or_absent(json_list_end(&tools)) });
    return true;
}

static struct json tool_overrides(const struct proxy *p)
{
    struct json_builder map;
    json_builder_init(&map, p->a);
    json_each_member (m, json_get(p->tool, "spec.toolsOverride")) {
        struct json fields = json_fields(p->a,
            { "name", json_get(m->value, "name") },
            { "description", json_get(m->value, "description") });
        json_put(&map, m->key, json_present(fields) ? fields : json_empty_map());
    }
    return json_map_end(&map);
}

static struct json headers(const struct proxy *p)
{
    struct json given = json_get(p->spec, "headerForward");
    struct json_builder secrets;
    json_builder_init(&secrets, p->a);
    json_each (h, json_get(given, "addHeadersFromSecret")) {
        const char *name = toolhive_text(*h, "headerName", "");
        json_put(&secrets,
            name,
            json_strf(p->a,
                "HEADER_FORWARD_%s_%s",
                toolhive_env_word(p->a, name),
                toolhive_env_word(p->a, p->name)));
    }
    return json_or_absent(json_fields(p->a,
        { "add_plaintext_headers", json_or_absent(json_get(given, "addPlaintextHeaders")) },
        { "add_headers_from_secret", json_or_absent(json_map_end(&secrets)) }));
}

struct json proxy_session_redis(const struct proxy *p)
{
    struct json s = json_get(p->spec, "sessionStorage");
    if (text_eq(json_get_text(s, "provider"), "redis"))
        return json_fields(p->a,
            { "address", json_get(s, "address") },
            { "db", json_get(s, "db") },
            { "key_prefix", json_get(s, "keyPrefix") });
    if (!text_empty(p->settings->redis_addr))
        return json_fields(p->a, { "address", json_str(p->settings->redis_addr) });
    return json_none;
}

/* ---- the chain of middleware ---- */

static void push(struct json_builder *chain, const char *type, struct json parameters)
{
    json_push(
        chain, json_map(chain->arena, { "type", json_str(type) }, { "parameters", parameters }));
}

static struct json one(struct arena *a, const char *key, struct json value)
{
    return json_map(a, { key, value });
}

/* The only upstream provider, whose token the proxy uses instead of its own. */
static void push_swap(struct json_builder *chain, struct json server)
{
    struct arena *a = chain->arena;
    if (!json_present(server))
        return;
    if (json_get_bool(server, "disableUpstreamTokenInjection", false)) {
        push(chain, "strip-auth", json_empty_map());
        return;
    }
    struct json name = json_get(server, "upstreamProviders.0.name");
    push(chain, "upstreamswap", one(a, "config", one(a, "provider_name", name)));
}

static void push_webhooks(
    struct json_builder *chain, const struct proxy *p, const char *type, struct json webhooks)
{
    if (json_present(webhooks))
        push(chain,
            type,
            json_map(p->a,
                { "webhooks", webhooks },
                { "server_name", json_str(p->name) },
                { "transport", json_str(p->transport) }));
}

static void push_tools(struct json_builder *chain, struct json config)
{
    struct json filter = json_get(config, "tools_filter");
    struct json overrides = json_get(config, "tools_override");
    if (!json_present(filter) && !overrides.count)
        return;
    struct json parameters = json_map(chain->arena,
        { "filter_tools", filter },
        { "tools_override", json_present(overrides) ? overrides : json_empty_map() });
    push(chain, "tool-filter", parameters);
    push(chain, "tool-call-filter", parameters);
}

static void push_limits(struct json_builder *chain, const struct proxy *p, struct json config)
{
    struct json limits = json_get(config, "rate_limit_config");
    struct json redis = json_get(config, "scaling_config.session_redis");
    if (json_present(limits))
        push(chain,
            "ratelimit",
            json_map(p->a,
                { "namespace", json_str(p->ns) },
                { "server_name", json_str(p->name) },
                { "config", limits },
                { "redis_addr", json_get(redis, "address") },
                { "redis_db", json_get(redis, "db") }));
}

/* Adds a middleware with this value as its only parameter, if there is a value. */
static void push_if(
    struct json_builder *chain, const char *type, const char *key, struct json value)
{
    if (json_present(value))
        push(chain, type, one(chain->arena, key, value));
}

static struct json chain_of(struct proxy *p, struct json config, struct json server)
{
    struct arena *a = p->a;
    struct json_builder chain;
    json_builder_init(&chain, a);
    struct json transport = json_str(p->transport), none = { 0 };
    struct json audit = json_get(config, "audit_config"),
                aws_sts = json_get(config, "aws_sts_config");
    struct json oidc = json_get(config, "oidc_config"), otel = json_get(config, "telemetry_config");
    struct json authz = json_get(config, "authz_config");
    push(&chain, "bodylimit", one(a, "max_bytes", json_int(BODY_BYTES_MAX)));
    if (json_present(audit))
        push(&chain,
            "audit",
            json_map(a, { "config_data", audit }, { "transport_type", transport }));
    push(&chain, "auth", json_present(oidc) ? one(a, "oidc_config", oidc) : json_empty_map());
    push_swap(&chain, server);
    push_if(&chain,
        "tokenexchange",
        "token_exchange_config",
        json_get(config, "token_exchange_config"));
    push_tools(&chain, config);
    push(&chain, "mcp-parser", json_empty_map());
    if (json_present(otel))
        push(&chain,
            "telemetry",
            json_map(a,
                { "config", otel },
                { "server_name", json_str(p->name) },
                { "transport", transport }));
    push_limits(&chain, p, config);
    push_webhooks(&chain, p, "mutating-webhook", json_get(config, "mutating_webhooks"));
    push_webhooks(&chain, p, "validating-webhook", json_get(config, "validating_webhooks"));
    if (!p->settings->skip_update_check)
        push(&chain, "usagemetrics", json_empty_map());
    if (json_present(authz))
        json_push(&chain,
            json_map(a,
                { "type", json_str("authorization") },
                { "parameters", one(a, "config_data", authz) },
                { "inline", json_get(config, "authz_config_inline") }));
    if (json_present(aws_sts))
        push(&chain,
            "awssts",
            json_map(a,
                { "aws_sts_config", aws_sts },
                { "target_url", json_get(p->spec, "remoteUrl") }));
    push_if(&chain,
        "header-forward",
        "add_headers",
        json_get(config, "header_forward.add_plaintext_headers"));
    push(&chain, "recovery", none);
    return json_list_end(&chain);
}

/* ---- the document ---- */

static const char *proxy_mode(const struct proxy *p)
{
    return text_eq(p->transport, "stdio") ? toolhive_text(p->spec, "proxyMode", "streamable-http")
                                          : p->transport;
}

struct parts {
    struct json env, profile, profile_name, exchange, bearer, aws, limits, authz, auth_server;
    struct json scaling;
    bool authz_inline;
};

static struct json base_config(struct proxy *p, const struct parts *x, struct json oidc)
{
    struct arena *a = p->a;
    struct json name = json_str(p->name);
    bool audit = json_get_bool(p->spec, "audit.enabled", false);
    return json_fields(a,
        { "schema_version", json_str("v0.1.0") },
        { "mcpserver_generation", p->remote ? json_none : json_int(p->generation) },
        { "image", json_get(p->spec, "image") },
        { "remote_url", json_get(p->spec, "remoteUrl") },
        { "remote_auth_config", x->bearer },
        { "cmd_args", json_get(p->spec, "args") },
        { "name", name },
        { "container_name", name },
        { "base_name", name },
        { "transport", json_str(p->transport) },
        { "host", json_str(p->settings->proxy_host) },
        { "port", json_int(p->port) },
        { "target_port", json_int(target_port(p)) },
        { "permission_profile_name_or_path", x->profile_name },
        { "permission_profile", x->profile },
        { "env_vars", x->env },
        { "volumes", mounts(p, true, false) },
        { "container_labels", container_labels(p) },
        { "oidc_config", oidc },
        { "token_exchange_config", x->exchange },
        { "aws_sts_config", x->aws },
        { "authz_config", x->authz },
        { "authz_config_inline", json_true_or_absent(x->authz_inline) },
        { "audit_config.detectApplicationErrors", json_if(audit, json_bool(true)) },
        { "audit_config.maxDataSize", json_if(audit, json_int(1024)) },
        { "telemetry_config", proxy_telemetry(p) },
        { "rate_limit_config", x->limits },
        { "rate_limit_namespace", json_if(json_present(x->limits), json_str(p->ns)) },
        { "trust_proxy_headers", json_get(p->spec, "trustProxyHeaders") },
        { "proxy_mode", json_str(proxy_mode(p)) },
        { "thv_ca_bundle", json_get(oidc, "CACertPath") },
        { "jwks_auth_token_file", json_get(oidc, "AuthTokenFile") },
        { "tools_filter", json_or_absent(json_get(p->tool, "spec.toolsFilter")) },
        { "tools_override", json_or_absent(tool_overrides(p)) },
        { "validating_webhooks", proxy_webhooks(p, "validating") },
        { "mutating_webhooks", proxy_webhooks(p, "mutating") },
        { "header_forward", json_if(p->remote, headers(p)) },
        { "endpoint_prefix", json_get(p->spec, "endpointPrefix") },
        { "embedded_auth_server_config", x->auth_server },
        { "scaling_config", x->scaling });
}

static bool conflicts(struct proxy *p)
{
    if (!json_present(p->server) || !proxy_external_is(p, "embeddedAuthServer"))
        return false;
    fault(p,
        "failed to process authServerRef: conflict: both authServerRef and externalAuthConfigRef "
        "reference an embedded auth server; use authServerRef for the embedded auth server and "
        "externalAuthConfigRef for outgoing auth only");
    return true;
}

/* A prefix for faults that upstream finds while it builds the options. */
static void add_context(struct proxy *p, const char *more)
{
    p->fault =
        arena_printf(p->a, "failed to create RunConfig from %s: %s%s", p->kind, more, p->fault);
}

const char *proxy_run_config(struct proxy *p)
{
    struct parts x = { 0 };
    struct json server = proxy_auth_server(p);
    if (json_present(server) && !conflicts(p) && !p->fault &&
        !proxy_auth_server_config(p, server, &x.auth_server))
        return NULL;
    bool ok = !p->fault && variables(p, &x.env) && permissions(p, &x.profile, &x.profile_name) &&
              token_exchange(p, &x.exchange) && bearer(p, &x.bearer) && aws(p, &x.aws) &&
              rate_limits(p, &x.limits);
    if (!ok) {
        if (!text_starts(p->fault, "failed to create "))
            add_context(p, "");
        return NULL;
    }
    if (!proxy_authz(p, &x.authz, &x.authz_inline)) {
        add_context(p, "failed to process AuthzConfig: ");
        return NULL;
    }
    x.scaling = json_or_absent(json_fields(p->a,
        { "backend_replicas", json_get(p->spec, "backendReplicas") },
        { "session_redis", proxy_session_redis(p) }));
    struct json config = base_config(p, &x, oidc_config(p, json_present(server)));
    config = json_with_member(p->a, config, "middleware_configs", chain_of(p, config, server));
    return document_json(p->a, run_config_fields, config);
}
