/* The embedded OAuth authorization server of a proxy: its part of the RunConfig, and the Secrets
 * that it needs as variables and files. Secrets are only referenced, never read. */

#include "kinds/toolhive/proxy.h"

#define KEYS "/etc/toolhive/authserver/keys"
#define HMACS "/etc/toolhive/authserver/hmac"
#define REDIS_TLS "/etc/toolhive/authserver/redis-tls"
#define FILE_MODE 0400

static bool fault(struct proxy *p, const char *format, ...) printf_like(2, 3);
static bool fault(struct proxy *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    p->fault = arena_vprintf(p->a, format, args);
    p->auth_fault = true;
    va_end(args);
    return false;
}

/* Renames members: pairs of (path in the spec, key in the document). Absent ones are left out. */
struct rename {
    const char *from, *to;
};

static struct json renamed(struct arena *a, struct json v, const struct rename *rows, size_t count)
{
    if (!json_present(v))
        return v;
    struct json_builder map;
    json_builder_init(&map, a);
    for (size_t i = 0; i < count; i++) {
        struct json value = json_get(v, rows[i].from);
        if (json_present(value))
            json_put(&map, rows[i].to, value);
    }
    return json_map_end(&map);
}
#define RENAMED(a, v, rows) renamed((a), (v), (rows), lengthof(rows))

static struct json user_info(struct arena *a, struct json v)
{
    static const struct rename mapping[] = {
        { "subjectFields", "subject_fields" },
        { "nameFields", "name_fields" },
        { "emailFields", "email_fields" },
    };
    if (!json_present(v))
        return v;
    return json_fields(a,
        { "endpoint_url", json_get(v, "endpointUrl") },
        { "http_method", json_get(v, "httpMethod") },
        { "additional_headers", json_get(v, "additionalHeaders") },
        { "field_mapping", RENAMED(a, json_get(v, "fieldMapping"), mapping) });
}

static const char *provider_env(struct arena *a, const char *prefix, struct json provider)
{
    return arena_printf(
        a, "%s_%s", prefix, toolhive_env_word(a, toolhive_text(provider, "name", "")));
}
#define CLIENT_SECRET "TOOLHIVE_UPSTREAM_CLIENT_SECRET"
#define ACCESS_TOKEN "TOOLHIVE_UPSTREAM_DCR_INITIAL_ACCESS_TOKEN"

static struct json redirect(const struct proxy *p, struct json config)
{
    const char *given = json_get_text(config, "redirectUri");
    return text_empty(given) ? json_strf(p->a, "%s/oauth/callback", proxy_resource_url(p))
                             : json_str(given);
}

static struct json secret_env(struct proxy *p, struct json config, struct json provider)
{
    bool has = json_present(json_get(config, "clientSecretRef"));
    return json_if(has, json_str(provider_env(p->a, CLIENT_SECRET, provider)));
}

static struct json oidc_upstream(struct proxy *p, struct json provider)
{
    struct arena *a = p->a;
    struct json c = json_get(provider, "oidcConfig");
    if (!json_present(c))
        return c;
    return json_fields(a,
        { "issuer_url", json_get(c, "issuerUrl") },
        { "client_id", json_get(c, "clientId") },
        { "client_secret_env_var", secret_env(p, c, provider) },
        { "redirect_uri", redirect(p, c) },
        { "scopes", json_get(c, "scopes") },
        { "userinfo_override", user_info(a, json_get(c, "userInfoOverride")) },
        { "additional_authorization_params", json_get(c, "additionalAuthorizationParams") },
        { "subject_claim", json_get(c, "subjectClaim") });
}

static struct json registration(struct proxy *p, struct json provider, struct json v)
{
    if (!json_present(v))
        return v;
    bool token = json_present(json_get(v, "initialAccessTokenRef"));
    return json_fields(p->a,
        { "discovery_url", json_get(v, "discoveryUrl") },
        { "registration_endpoint", json_get(v, "registrationEndpoint") },
        { "initial_access_token_env_var",
            json_if(token, json_str(provider_env(p->a, ACCESS_TOKEN, provider))) },
        { "software_id", json_get(v, "softwareId") },
        { "software_statement", json_get(v, "softwareStatement") });
}

static struct json oauth2_upstream(struct proxy *p, struct json provider)
{
    static const struct rename response[] = {
        { "accessTokenPath", "access_token_path" },
        { "scopePath", "scope_path" },
        { "refreshTokenPath", "refresh_token_path" },
        { "expiresInPath", "expires_in_path" },
    };
    static const struct rename identity[] = {
        { "subjectPath", "subject_path" },
        { "namePath", "name_path" },
        { "emailPath", "email_path" },
    };
    struct arena *a = p->a;
    struct json c = json_get(provider, "oauth2Config");
    if (!json_present(c))
        return c;
    return json_fields(a,
        { "authorization_endpoint", json_get(c, "authorizationEndpoint") },
        { "token_endpoint", json_get(c, "tokenEndpoint") },
        { "client_id", json_get(c, "clientId") },
        { "client_secret_env_var", secret_env(p, c, provider) },
        { "redirect_uri", redirect(p, c) },
        { "scopes", json_get(c, "scopes") },
        { "userinfo", user_info(a, json_get(c, "userInfo")) },
        { "token_response_mapping", RENAMED(a, json_get(c, "tokenResponseMapping"), response) },
        { "identity_from_token", RENAMED(a, json_get(c, "identityFromToken"), identity) },
        { "dcr_config", registration(p, provider, json_get(c, "dcrConfig")) },
        { "additional_authorization_params", json_get(c, "additionalAuthorizationParams") },
        { "allow_private_ips", json_get(c, "allowPrivateIPs") },
        { "insecure_allow_http", json_get(c, "insecureAllowHTTP") });
}

static struct json upstreams(struct proxy *p, struct json server)
{
    struct json_builder list;
    json_builder_init(&list, p->a);
    json_each (provider, json_get(server, "upstreamProviders"))
        json_push(&list,
            json_fields(p->a,
                { "name", json_get(*provider, "name") },
                { "type", json_get(*provider, "type") },
                { "oidc_config", oidc_upstream(p, *provider) },
                { "oauth2_config", oauth2_upstream(p, *provider) }));
    return json_list_end(&list);
}

/* ---- storage ---- */

static struct json redis_tls(struct arena *a, struct json v, const char *file)
{
    if (!json_present(v))
        return v;
    bool ca = json_present(json_get(v, "caCertSecretRef"));
    struct json fields = json_fields(a,
        { "insecure_skip_verify", json_get(v, "insecureSkipVerify") },
        { "ca_cert_file", json_if(ca, json_strf(a, REDIS_TLS "/%s", file)) });
    return json_present(fields) ? fields : json_empty_map();
}

static struct json sentinel(const struct proxy *p, struct json v)
{
    struct arena *a = p->a;
    if (!json_present(v))
        return v;
    struct json addresses = json_get(v, "sentinelAddrs"), service = json_get(v, "sentinelService");
    if (json_present(service))
        addresses = json_list(a,
            json_strf(a,
                "%s.%s.svc.cluster.local:%lld",
                toolhive_text(service, "name", ""),
                toolhive_text(service, "namespace", p->ns),
                (long long)json_get_int(service, "port", 26379)));
    return json_fields(a,
        { "master_name", json_get(v, "masterName") },
        { "sentinel_addrs", addresses },
        { "db", json_get(v, "db") });
}

static struct json storage(const struct proxy *p, struct json v)
{
    struct arena *a = p->a;
    struct json redis = json_get(v, "redis");
    if (!text_eq(json_get_text(v, "type"), "redis") || !json_present(redis))
        return json_none;
    bool user = json_present(json_get(redis, "aclUserConfig.usernameSecretRef"));
    return json_fields(a,
        { "type", json_str("redis") },
        { "redis_config.addr", json_get(redis, "addr") },
        { "redis_config.cluster_mode", json_get(redis, "clusterMode") },
        { "redis_config.sentinel_config", sentinel(p, json_get(redis, "sentinelConfig")) },
        { "redis_config.auth_type", json_str("aclUser") },
        { "redis_config.acl_user_config.username_env_var",
            json_str(user ? "TOOLHIVE_AUTH_SERVER_REDIS_USERNAME" : "") },
        { "redis_config.acl_user_config.password_env_var",
            json_str("TOOLHIVE_AUTH_SERVER_REDIS_PASSWORD") },
        { "redis_config.key_prefix", json_strf(a, "thv:auth:{%s:%s}:", p->ns, p->name) },
        { "redis_config.dial_timeout", json_get(redis, "dialTimeout") },
        { "redis_config.read_timeout", json_get(redis, "readTimeout") },
        { "redis_config.write_timeout", json_get(redis, "writeTimeout") },
        { "redis_config.tls", redis_tls(a, json_get(redis, "tls"), "ca.crt") },
        { "redis_config.sentinel_tls",
            redis_tls(a, json_get(redis, "sentinelTls"), "sentinel-ca.crt") });
}

/* ---- lists ---- */

static struct json files(struct arena *a, struct json refs, const char *format, size_t from)
{
    struct json_builder list;
    json_builder_init(&list, a);
    for (size_t i = from; i < refs.count; i++)
        json_push(&list,
            text_eq(format, "key") ? json_strf(a, "key-%zu.pem", i)
                                   : json_strf(a, HMACS "/hmac-%zu", i));
    return json_or_absent(json_list_end(&list));
}

static struct json signing(struct arena *a, struct json refs)
{
    if (!refs.count)
        return json_none;
    return json_fields(a,
        { "key_dir", json_str(KEYS) },
        { "signing_key_file", json_str("key-0.pem") },
        { "fallback_key_files", files(a, refs, "key", 1) });
}

static struct json trusted_issuers(struct arena *a, struct json issuers)
{
    static const struct rename rows[] = {
        { "issuerUrl", "issuer_url" },
        { "expectedAudience", "expected_audience" },
        { "jwksUrl", "jwks_url" },
        { "insecureAllowHTTP", "insecure_allow_http" },
        { "allowPrivateIPs", "allow_private_ips" },
        { "actorClaim", "actor_claim" },
        { "allowedActors", "allowed_actors" },
        { "allowedDelegateClients", "allowed_delegate_clients" },
        { "allowMayAct", "allow_may_act" },
    };
    struct json_builder list;
    json_builder_init(&list, a);
    json_each (issuer, issuers)
        json_push(&list, RENAMED(a, *issuer, rows));
    return json_or_absent(json_list_end(&list));
}

static bool delegates(struct proxy *p, struct json server, struct json scopes, struct json *ret)
{
    struct json_builder list;
    const char *what = p->gateway ? "invalid delegate clients in spec.authServerConfig"
                                  : "failed to build embedded auth server config";
    json_builder_init(&list, p->a);
    json_each (client, json_get(server, "delegateClients")) {
        const char *id = toolhive_text(*client, "clientId", "");
        json_each (scope, json_get(*client, "scopes"))
            if (!json_list_has(scopes, json_text(*scope)))
                return fault(p,
                    "%s: invalid embedded auth server delegate clients or trusted issuers: "
                    "delegate_clients[%s].scopes contains \"%s\" which is not in scopes_supported",
                    what,
                    id,
                    json_text(*scope));
        json_each (audience, json_get(*client, "audiences"))
            if (!text_eq(json_text(*audience), proxy_resource_url(p)))
                return fault(p,
                    "%s: invalid embedded auth server delegate clients or trusted issuers: "
                    "delegate_clients: client_id \"%s\": audience \"%s\" is not in "
                    "allowed_audiences",
                    what,
                    id,
                    json_text(*audience));
        json_push(&list,
            json_fields(p->a,
                { "client_id", json_get(*client, "clientId") },
                { "client_secret_env_var",
                    json_strf(p->a, "TOOLHIVE_DELEGATE_CLIENT_SECRET_%u", list.count) },
                { "scopes", json_get(*client, "scopes") },
                { "audiences", json_get(*client, "audiences") }));
    }
    *ret = json_or_absent(json_list_end(&list));
    return true;
}

static bool check(struct proxy *p)
{
    if (!json_present(p->oidc))
        return fault(p,
            "OIDC config is required for embedded auth server: set spec.oidcConfigRef with "
            "audience and resourceUrl");
    const char *audience = toolhive_text(p->spec, "oidcConfigRef.audience", "");
    const char *url = proxy_resource_url(p);
    if (!text_eq(audience, url))
        return fault(p,
            "oidcConfigRef.audience \"%s\" must match resourceUrl \"%s\" when an embedded auth "
            "server is active; set audience to \"%s\" or set resourceUrl to match audience",
            audience,
            url,
            url);
    return true;
}

bool proxy_auth_server_config(struct proxy *p, struct json server, struct json *ret)
{
    static const struct rename lifespans[] = {
        { "accessTokenLifespan", "access_token_lifespan" },
        { "refreshTokenLifespan", "refresh_token_lifespan" },
        { "authCodeLifespan", "auth_code_lifespan" },
    };
    static const struct rename cimd[] = {
        { "enabled", "enabled" },
        { "cacheMaxSize", "cache_max_size" },
        { "cacheFallbackTtl", "cache_fallback_ttl" },
    };
    struct arena *a = p->a;
    struct json scopes = json_get(p->spec, "oidcConfigRef.scopes"), clients;
    struct json usual = json_list(
        a, json_str("openid"), json_str("profile"), json_str("email"), json_str("offline_access"));
    if ((!p->gateway && !check(p)) ||
        !delegates(p, server, scopes.count ? scopes : usual, &clients))
        return false;
    bool documents = json_get_bool(server, "cimd.enabled", false);
    *ret = json_fields(a,
        { "schema_version", json_str("v0.1.0") },
        { "issuer", json_get(server, "issuer") },
        { "authorization_endpoint_base_url", json_get(server, "authorizationEndpointBaseUrl") },
        { "signing_key_config", signing(a, json_get(server, "signingKeySecretRefs")) },
        { "hmac_secret_files", files(a, json_get(server, "hmacSecretRefs"), "hmac", 0) },
        { "token_lifespans", RENAMED(a, json_get(server, "tokenLifespans"), lifespans) },
        { "upstreams", upstreams(p, server) },
        { "scopes_supported", scopes },
        { "baseline_client_scopes", json_get(server, "baselineClientScopes") },
        { "allowed_audiences", json_list(a, json_str(proxy_resource_url(p))) },
        { "storage", storage(p, json_get(server, "storage")) },
        { "insecure_allow_http", json_get(server, "insecureAllowHTTP") },
        { "insecure_allow_confidential_over_loopback_http",
            json_get(server, "insecureAllowConfidentialOverLoopbackHTTP") },
        { "disable_upstream_token_injection", json_get(server, "disableUpstreamTokenInjection") },
        { "cimd", json_if(documents, RENAMED(a, json_get(server, "cimd"), cimd)) },
        { "trusted_issuers", trusted_issuers(a, json_get(server, "trustedIssuers")) },
        { "allow_confidential_client_registration",
            json_get(server, "allowConfidentialClientRegistration") },
        { "force_confidential_redirect_uris", json_get(server, "forceConfidentialRedirectUris") },
        { "delegate_clients", clients });
    return true;
}

/* ---- variables and files of the pod ---- */

static void push_env(
    const struct proxy *p, struct json_builder *env, const char *name, struct json ref)
{
    if (json_present(ref))
        json_push(env, toolhive_env_secret(p->a, name, ref));
}

void proxy_auth_server_env(const struct proxy *p, struct json server, struct json_builder *env)
{
    struct arena *a = p->a;
    json_each (provider, json_get(server, "upstreamProviders")) {
        bool oidc = text_eq(json_get_text(*provider, "type"), "oidc");
        struct json config = json_get(*provider, oidc ? "oidcConfig" : "oauth2Config");
        push_env(
            p, env, provider_env(a, CLIENT_SECRET, *provider), json_get(config, "clientSecretRef"));
        push_env(p,
            env,
            provider_env(a, ACCESS_TOKEN, *provider),
            json_get(config, "dcrConfig.initialAccessTokenRef"));
    }
    size_t i = 0;
    json_each (client, json_get(server, "delegateClients"))
        push_env(p,
            env,
            arena_printf(a, "TOOLHIVE_DELEGATE_CLIENT_SECRET_%zu", i++),
            json_get(*client, "clientSecretRef"));
    if (!text_eq(json_get_text(server, "storage.type"), "redis"))
        return;
    struct json acl = json_get(server, "storage.redis.aclUserConfig");
    push_env(p, env, "TOOLHIVE_AUTH_SERVER_REDIS_USERNAME", json_get(acl, "usernameSecretRef"));
    push_env(p, env, "TOOLHIVE_AUTH_SERVER_REDIS_PASSWORD", json_get(acl, "passwordSecretRef"));
}

struct into {
    struct arena *a;
    struct json_builder *volumes, *mounts;
};

static void push_file(const struct into *to, const char *volume, struct json ref,
    const char *directory, const char *file)
{
    if (!json_present(ref))
        return;
    json_push(to->volumes,
        json_fields(to->a,
            { "name", json_str(volume) },
            { "secret.secretName", json_get(ref, "name") },
            { "secret.defaultMode", json_int(FILE_MODE) },
            { "secret.items",
                json_list(to->a,
                    json_fields(
                        to->a, { "key", json_get(ref, "key") }, { "path", json_str(file) })) }));
    json_push(to->mounts,
        json_fields(to->a,
            { "name", json_str(volume) },
            { "mountPath", json_strf(to->a, "%s/%s", directory, file) },
            { "subPath", json_str(file) },
            { "readOnly", json_bool(true) }));
}

void proxy_auth_server_volumes(const struct proxy *p, struct json server,
    struct json_builder *volumes, struct json_builder *mounts)
{
    struct arena *a = p->a;
    const struct into to = { a, volumes, mounts };
    size_t i = 0;
    json_each (ref, json_get(server, "signingKeySecretRefs")) {
        push_file(&to,
            arena_printf(a, "authserver-signing-key-%zu", i),
            *ref,
            KEYS,
            arena_printf(a, "key-%zu.pem", i));
        i++;
    }
    i = 0;
    json_each (ref, json_get(server, "hmacSecretRefs")) {
        push_file(&to,
            arena_printf(a, "authserver-hmac-secret-%zu", i),
            *ref,
            HMACS,
            arena_printf(a, "hmac-%zu", i));
        i++;
    }
    if (!text_eq(json_get_text(server, "storage.type"), "redis"))
        return;
    struct json redis = json_get(server, "storage.redis");
    push_file(
        &to, "redis-tls-ca-master", json_get(redis, "tls.caCertSecretRef"), REDIS_TLS, "ca.crt");
    push_file(&to,
        "redis-tls-ca-sentinel",
        json_get(redis, "sentinelTls.caCertSecretRef"),
        REDIS_TLS,
        "sentinel-ca.crt");
}
