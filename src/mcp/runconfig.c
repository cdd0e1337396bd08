#include "mcp/runconfig.h"

#include "base/json_bind.h"
#include "base/url.h"

static const char *const transport_names[] = {
    [TRANSPORT_STREAMABLE_HTTP] = "streamable-http",
    [TRANSPORT_SSE] = "sse",
    [TRANSPORT_STDIO] = "stdio",
};

const char *runconfig_transport_name(enum runconfig_transport t)
{
    return transport_names[t];
}

struct fields {
    struct runconfig config;
    const char *schema, *transport, *proxy_mode, *base_name, *container_name;
    struct json auth_server;
};

static const struct json_bind fields_bind[] = {
    BIND(struct fields, schema, "schema_version"),
    BIND(struct fields, transport, "transport", .required = true),
    BIND(struct fields, proxy_mode, "proxy_mode"),
    BIND(struct fields, base_name, "base_name"),
    BIND(struct fields, container_name, "container_name"),
    BIND(struct fields, auth_server, "embedded_auth_server_config"),
    BIND(struct fields, config.name, "name"),
    BIND(struct fields, config.image, "image"),
    BIND(struct fields, config.host, "host"),
    BIND(struct fields, config.port, "port", .min = 0, .max = 65535),
    BIND(struct fields, config.target_port, "target_port", .min = 0, .max = 65535),
    BIND(struct fields, config.remote_url, "remote_url"),
    BIND(struct fields, config.generation, "mcpserver_generation"),
    BIND(struct fields, config.backend_replicas, "scaling_config.backend_replicas"),
    BIND(struct fields, config.args, "cmd_args"),
    BIND(struct fields, config.env_vars, "env_vars"),
    BIND(struct fields, config.labels, "container_labels"),
    BIND(struct fields, config.middleware, "middleware_configs"),
    BIND(struct fields, config.allowed_origins, "allowed_origins"),
    BIND(struct fields, config.header_forward, "header_forward"),
    BIND(struct fields, config.endpoint_prefix, "endpoint_prefix"),
    BIND(struct fields, config.trust_proxy_headers, "trust_proxy_headers"),
    BIND(struct fields, config.stateless, "stateless"),
    { 0 },
};

static bool read_transport(
    const char *at, const char *word, enum runconfig_transport *ret, struct error *err)
{
    for (size_t i = 0; i < lengthof(transport_names); i++)
        if (text_eq(word, transport_names[i])) {
            *ret = (enum runconfig_transport)i;
            return true;
        }
    return fail(err,
        ERR_INVALID,
        "%s: \"%s\" is not a transport. Use stdio, sse or streamable-http.",
        at,
        word);
}

/* stdio is served as proxy_mode says; the other transports are served as themselves. */
static bool read_mode(const struct fields *f, struct runconfig *c, struct error *err)
{
    enum runconfig_transport mode = TRANSPORT_STREAMABLE_HTTP;
    if (!text_empty(f->proxy_mode) && !read_transport("proxy_mode", f->proxy_mode, &mode, err))
        return false;
    if (c->transport != TRANSPORT_STDIO)
        mode = c->transport;
    if (mode == TRANSPORT_STDIO)
        return fail(
            err, ERR_INVALID, "proxy_mode: \"stdio\" is not served. Use sse or streamable-http.");
    c->serves_sse = mode == TRANSPORT_SSE;
    return true;
}

static const char *read_generation(struct arena *a, const char *text, struct runconfig *c)
{
    int64_t value;
    if (text_empty(text))
        return NULL;
    if (str_to_int(str_of(text), &value) && value >= 0) {
        c->generation = value;
        return NULL;
    }
    return arena_printf(a,
        "THV_MCPSERVER_GENERATION: \"%s\" is not a generation; the RunConfig's %lld is used",
        text,
        (long long)c->generation);
}

static bool check_remote(struct arena *a, const struct runconfig *c, struct error *err)
{
    struct url url;
    if (!c->remote_url)
        return true;
    if (!url_parse(a, c->remote_url, &url, err))
        return fail_in(err, "remote_url");
    if (!text_eq(url.scheme, "http") && !text_eq(url.scheme, "https"))
        return fail(err, ERR_INVALID, "remote_url: \"%s\" is not http or https", url.scheme);
    if (c->transport == TRANSPORT_STDIO)
        return fail(err,
            ERR_INVALID,
            "transport: stdio cannot reach a remote_url. Use streamable-http or sse.");
    return true;
}

bool runconfig_read(struct arena *a, struct str text, const char *generation_text,
    struct runconfig *ret, const char **ret_warning, struct error *err)
{
    struct fields f = { .config = { .host = "127.0.0.1" } };
    struct json document;
    if (!json_parse(a, text, &document, err))
        return false;
    if (!json_is(document, JSON_MAP))
        return fail(err, ERR_INVALID, "expected an object, got %s", json_type_name(document));
    if (!json_bind(a, document, "", fields_bind, &f, err))
        return false;
    struct runconfig *c = &f.config;
    c->document = document;
    c->name = !text_empty(c->name)            ? c->name
              : !text_empty(f.container_name) ? f.container_name
                                              : f.base_name;
    if (text_empty(c->remote_url))
        c->remote_url = NULL;
    if (json_present(f.auth_server))
        return fail(err,
            ERR_UNSUPPORTED,
            "embedded_auth_server_config: this version has no embedded authorization server. "
            "Use an external OIDC issuer (oidc_config).");
    *ret_warning = read_generation(a, generation_text, c);
    if (!read_transport("transport", f.transport, &c->transport, err) || !read_mode(&f, c, err) ||
        !check_remote(a, c, err))
        return false;
    if (!c->remote_url && text_empty(c->name))
        return fail(err, ERR_INVALID, "name: a workload needs a name");
    if (!c->remote_url && !c->target_port && c->transport != TRANSPORT_STDIO)
        c->target_port = 8080;
    *ret = *c;
    return true;
}
