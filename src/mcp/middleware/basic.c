/* Steps without I/O: the body limit, allowed origins, headers for the backend, and steps with
 * nothing to do, because the core does their work for every request (mcp-parser, recovery) or
 * because there is none (usagemetrics: no usage is reported). */

#include "mcp/middleware/basic.h"

#include "base/json_bind.h"

/* ---- bodylimit ---- */

struct body_limit {
    int64_t max_bytes;
};

static const struct json_bind body_limit_bind[] = {
    BIND(struct body_limit, max_bytes, "max_bytes", .min = 1, .max = (int64_t)1 << 30),
    { 0 },
};

static void *body_limit_open(const struct mcp_open *o, struct json params, struct error *err)
{
    struct body_limit *s = arena_new(o->arena, struct body_limit);
    s->max_bytes = (int64_t)8 << 20;
    return json_bind(o->arena, params, "parameters", body_limit_bind, s, err) ? s : NULL;
}

static enum mcp_verdict body_limit_head(void *state, struct mcp_exchange *x, void **slot)
{
    (void)slot;
    mcp_set_body_limit(x, ((struct body_limit *)state)->max_bytes);
    return MCP_NEXT;
}

static const char *const body_limit_parameters[] = { "max_bytes", NULL };

const struct mcp_step mcp_step_body_limit = {
    .type = "bodylimit",
    .parameters = body_limit_parameters,
    .open = body_limit_open,
    .head = body_limit_head,
};

/* ---- origin ---- */

struct origins {
    struct json allowed;
};

static void *origins_open(const struct mcp_open *o, struct json params, struct error *err)
{
    struct origins *s = arena_new(o->arena, struct origins);
    s->allowed = json_get(params, "allowed_origins");
    if (!json_is(s->allowed, JSON_LIST)) {
        fail(err,
            ERR_INVALID,
            "parameters.allowed_origins: expected list, got %s",
            json_type_name(s->allowed));
        return NULL;
    }
    return s;
}

static struct str without_slash(struct str s)
{
    return str_ends(s, STR("/")) ? (struct str){ s.ptr, s.len - 1 } : s;
}

static bool is_allowed(const struct origins *s, struct str origin)
{
    json_each (item, s->allowed) {
        const char *text = json_text(*item);
        if (text && str_eq_nocase(without_slash(str_of(text)), without_slash(origin)))
            return true;
    }
    return false;
}

static enum mcp_verdict origins_head(void *state, struct mcp_exchange *x, void **slot)
{
    struct http_headers headers = mcp_headers(x);
    size_t count = 0;
    bool fine = true;
    (void)slot;
    for (size_t i = 0; i < headers.count; i++)
        if (str_eq_nocase(headers.list[i].name, STR("origin"))) {
            count++;
            fine = fine && is_allowed(state, headers.list[i].value);
        }
    if (fine && count <= 1)
        return MCP_NEXT;
    mcp_answer_error(x, 403, -32600, "Origin not allowed", json_none);
    return MCP_ANSWER;
}

static const char *const origin_parameters[] = { "allowed_origins", NULL };

const struct mcp_step mcp_step_origin = {
    .type = "origin",
    .parameters = origin_parameters,
    .open = origins_open,
    .head = origins_head,
};

/* ---- header-forward ---- */

struct forward {
    struct json headers; /* name → value */
};

/* The secret NAME is in the variable TOOLHIVE_SECRET_NAME. */
static bool add_secrets(
    const struct mcp_open *o, struct json params, struct json_builder *all, struct error *err)
{
    json_each_member (m, json_get(params, "add_headers_from_secret")) {
        const char *secret = json_text(m->value);
        const char *variable = arena_printf(o->arena, "TOOLHIVE_SECRET_%s", secret ? secret : "");
        const char *value = o->variable(o->ctx, variable);
        if (!value)
            return fail(err,
                ERR_INVALID,
                "parameters.add_headers_from_secret.%s: the variable %s is not set",
                m->key,
                variable);
        json_put(all, m->key, json_str(arena_strdup(o->arena, value)));
    }
    return true;
}

static void *forward_open(const struct mcp_open *o, struct json params, struct error *err)
{
    struct forward *s = arena_new(o->arena, struct forward);
    struct json_builder all;
    static const char *const names[] = { "add_headers", "add_plaintext_headers" };
    json_builder_init(&all, o->arena);
    for (size_t i = 0; i < lengthof(names); i++)
        json_each_member (m, json_get(params, names[i])) {
            if (!json_text(m->value)) {
                fail(err, ERR_INVALID, "parameters.%s.%s: expected string", names[i], m->key);
                return NULL;
            }
            json_put(&all, m->key, m->value);
        }
    if (!add_secrets(o, params, &all, err))
        return NULL;
    s->headers = json_map_end(&all);
    return s;
}

static enum mcp_verdict forward_head(void *state, struct mcp_exchange *x, void **slot)
{
    (void)slot;
    json_each_member (m, ((struct forward *)state)->headers)
        mcp_backend_header(x, m->key, json_text(m->value));
    return MCP_NEXT;
}

static const char *const header_forward_parameters[] = {
    "add_headers", "add_plaintext_headers", "add_headers_from_secret", NULL
};

const struct mcp_step mcp_step_header_forward = {
    .type = "header-forward",
    .parameters = header_forward_parameters,
    .open = forward_open,
    .head = forward_head,
};

/* ---- steps with nothing to do ---- */

static void *nothing_open(const struct mcp_open *o, struct json params, struct error *err)
{
    (void)params;
    (void)err;
    return o->arena;
}

static const char *const parser_parameters[] = { NULL };

const struct mcp_step mcp_step_parser = {
    .type = "mcp-parser", .parameters = parser_parameters, .open = nothing_open
};
const struct mcp_step mcp_step_recovery = { .type = "recovery", .open = nothing_open };
const struct mcp_step mcp_step_usage = { .type = "usagemetrics", .open = nothing_open };

/* ---- strip-auth: the client's token is only for the proxy ---- */

static enum mcp_verdict strip_head(void *state, struct mcp_exchange *x, void **slot)
{
    (void)state;
    (void)slot;
    mcp_backend_header(x, "authorization", NULL);
    return MCP_NEXT;
}

static const char *const strip_auth_parameters[] = { NULL };

const struct mcp_step mcp_step_strip_auth = {
    .type = "strip-auth",
    .parameters = strip_auth_parameters,
    .open = nothing_open,
    .head = strip_head,
};

/* ---- steps that need a built-in authorization server ---- */

static void *refuse_open(const struct mcp_open *o, struct json params, struct error *err)
{
    (void)o;
    (void)params;
    fail(err,
        ERR_UNSUPPORTED,
        "this version holds no tokens of other providers, because it has no embedded "
        "authorization server. Use tokenexchange, or remove this middleware.");
    return NULL;
}

const struct mcp_step mcp_step_upstream_swap = { .type = "upstreamswap", .open = refuse_open };
const struct mcp_step mcp_step_on_behalf = { .type = "obo", .open = refuse_open };
