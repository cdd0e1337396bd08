#include "mcp/middleware/ratelimit.h"

#include <math.h>

#include "base/json_bind.h"
#include "base/time.h"
#include "http/tls.h"
#include "mcp/middleware/redis.h"

#define CHECKS_MAX 4

/* KEYS: buckets. ARGV: for each bucket its size, tokens per second, and expiry in seconds. The
 * result is 0, or the number of the empty bucket. A token is taken from all buckets or from none.
 * The clock is Redis's own, the same for all replicas. */
static const char script[] =
    "local t = redis.call('TIME')\n"
    "local now = t[1] * 1000000 + t[2]\n"
    "local level, empty = {}, 0\n"
    "for i, key in ipairs(KEYS) do\n"
    "  local size, rate = tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1])\n"
    "  local had = redis.call('HMGET', key, 'tokens', 'last_refill')\n"
    "  level[i] = size\n"
    "  if had[1] then\n"
    "    local passed = math.max(0, now - (tonumber(had[2]) or now)) / 1000000\n"
    "    level[i] = math.min(size, tonumber(had[1]) + passed * rate)\n"
    "  end\n"
    "  if empty == 0 and level[i] < 1 then empty = i end\n"
    "end\n"
    "for i, key in ipairs(KEYS) do\n"
    "  local left = level[i] - (empty == 0 and 1 or 0)\n"
    "  redis.call('HSET', key, 'tokens', left, 'last_refill', now)\n"
    "  redis.call('EXPIRE', key, ARGV[3 * i])\n"
    "end\n"
    "return empty\n";

struct bucket {
    const char *size, *rate, *keep_s; /* in the form that the script expects */
    int64_t retry_s;
};

struct limit {
    const struct bucket *shared, *per_user; /* NULL: none */
};

struct rate_limit {
    const char *prefix; /* of keys */
    struct limit all;
    struct json tools; /* name → index in of_tools */
    struct limit *of_tools;
    struct redis *redis;
};

struct rate_check {
    struct mcp_exchange *x;
    const struct bucket *buckets[CHECKS_MAX];
    const char *keys[CHECKS_MAX];
    size_t count;
    struct redis_call *call;
};

/* ---- opening ---- */

static bool read_bucket(
    struct arena *a, struct json v, const char *at, const struct bucket **ret, struct error *err)
{
    int64_t size = json_get_int(v, "maxTokens", 0), period_ns = 0;
    *ret = NULL;
    if (!json_present(v) || json_is(v, JSON_NULL))
        return true;
    if (size < 1 || size > INT32_MAX)
        return fail(err, ERR_INVALID, "%s.maxTokens: expected 1 to %d", at, INT32_MAX);
    const char *text = json_get_text(v, "refillPeriod");
    if (!time_duration_parse(text, &period_ns) || period_ns <= 0)
        return fail(err,
            ERR_INVALID,
            "%s.refillPeriod: \"%s\" is not a positive duration such as 1m",
            at,
            text ? text : "");
    double period_s = (double)period_ns / (double)TIME_NS_PER_S;
    double per_token_s = period_s / (double)size;
    struct bucket *b = arena_new(a, struct bucket);
    *b = (struct bucket){
        .size = arena_printf(a, "%lld", (long long)size),
        .rate = arena_printf(a, "%.9g", (double)size / period_s),
        .keep_s = arena_printf(a, "%.0f", ceil(2 * period_s)),
        .retry_s = per_token_s < 1 ? 1 : (int64_t)ceil(per_token_s),
    };
    *ret = b;
    return true;
}

static bool read_limit(
    struct arena *a, struct json v, const char *at, struct limit *ret, struct error *err)
{
    return read_bucket(
               a, json_member(v, "shared"), arena_printf(a, "%s.shared", at), &ret->shared, err) &&
           read_bucket(a,
               json_member(v, "perUser"),
               arena_printf(a, "%s.perUser", at),
               &ret->per_user,
               err);
}

static bool read_tools(struct arena *a, struct json list, struct rate_limit *s, struct error *err)
{
    struct json_builder places;
    int64_t count = 0;
    json_builder_init(&places, a);
    s->of_tools =
        arena_array(a, json_is(list, JSON_LIST) ? list.count + 1 : 1, sizeof(*s->of_tools));
    json_each (item, list) {
        const char *name = json_get_text(*item, "name");
        const char *at = arena_printf(a, "parameters.config.tools[%lld]", (long long)count);
        if (text_empty(name))
            return fail(err, ERR_INVALID, "%s.name: a tool needs a name", at);
        if (!read_limit(a, *item, at, &s->of_tools[count], err))
            return false;
        json_put(&places, name, json_int(count++));
    }
    s->tools = json_map_end(&places);
    return true;
}

struct rate_params {
    const char *ns, *server, *address;
    int64_t database;
    struct json config, tls;
};

static const struct json_bind rate_bind[] = {
    BIND(struct rate_params, ns, "namespace"),
    BIND(struct rate_params, server, "server_name"),
    BIND(struct rate_params, address, "redis_addr", .required = true),
    BIND(struct rate_params, database, "redis_db", .min = 0, .max = 1000000),
    BIND(struct rate_params, config, "config"),
    BIND(struct rate_params, tls, "redis_tls"),
    { 0 },
};

/* As in ToolHive, an empty object means TLS with the system's roots. False: err. */
static bool read_tls(struct json v, struct tls_context **ret, struct error *err)
{
    const char *file = json_get_text(v, "caCertFile");
    *ret = NULL;
    if (!json_is(v, JSON_MAP))
        return true;
    *ret = tls_client_new(
        &(struct tls_client_options){
            .ca_file = text_empty(file) ? NULL : file,
            .verify_off = json_get_bool(v, "insecureSkipVerify", false),
        },
        err);
    return *ret || fail_in(err, "parameters.redis_tls");
}

static void *rate_open(const struct mcp_open *o, struct json params, struct error *err)
{
    struct rate_limit *s = arena_new(o->arena, struct rate_limit);
    struct rate_params p = { .ns = "", .server = "" };
    struct tls_context *tls;
    if (!json_bind(o->arena, params, "parameters", rate_bind, &p, err) ||
        !read_limit(o->arena, p.config, "parameters.config", &s->all, err) ||
        !read_tools(o->arena, json_member(p.config, "tools"), s, err) ||
        !read_tls(p.tls, &tls, err))
        return NULL;
    s->prefix = arena_printf(o->arena, "thv:rl:{%s:%s}:", p.ns, p.server);
    s->redis = redis_new(o,
        &(struct redis_options){
            .address = p.address,
            .password = o->variable(o->ctx, "THV_SESSION_REDIS_PASSWORD"),
            .database = p.database,
            .script = script,
            .tls = tls,
        },
        err);
    tls_context_unref(tls);
    if (s->redis)
        return s;
    fail_in(err, "parameters.redis_addr");
    return NULL;
}

static void rate_close(void *state)
{
    redis_free(((struct rate_limit *)state)->redis);
}

/* ---- calls ---- */

static void add(struct rate_check *c, const struct bucket *b, const char *key)
{
    if (!b)
        return;
    c->buckets[c->count] = b;
    c->keys[c->count++] = key;
}

static void on_counted(void *ctx, int64_t value, const struct error *err)
{
    struct rate_check *c = ctx;
    c->call = NULL;
    if (err || value < 1 || (size_t)value > c->count) {
        mcp_step_continue(c->x, MCP_NEXT);
        return;
    }
    struct arena *a = mcp_arena(c->x);
    int64_t retry_s = c->buckets[value - 1]->retry_s;
    mcp_answer_header(c->x, "retry-after", arena_printf(a, "%lld", (long long)retry_s));
    mcp_answer_error(c->x,
        429,
        429,
        "Rate limit exceeded",
        json_map(a, { "retryAfterSeconds", json_int(retry_s) }));
    mcp_step_continue(c->x, MCP_ANSWER);
}

static enum mcp_verdict rate_message(void *state, struct mcp_exchange *x, void **slot)
{
    const struct rate_limit *s = state;
    const struct mcp_message *m = mcp_request(x);
    const char *user = mcp_identity(x)->subject, *tool = m->resource;
    struct arena *a = mcp_arena(x);
    if (!text_eq(m->method, "tools/call"))
        return MCP_NEXT;
    struct rate_check *c = arena_new(a, struct rate_check);
    struct json place = json_member(s->tools, tool ? tool : "");
    const struct limit *own = json_present(place) ? &s->of_tools[place.integer] : NULL;
    c->x = x;
    add(c, s->all.shared, arena_printf(a, "%sshared", s->prefix));
    if (own)
        add(c, own->shared, arena_printf(a, "%sshared:tool:%s", s->prefix, tool));
    if (!text_empty(user)) {
        add(c, s->all.per_user, arena_printf(a, "%suser:%s", s->prefix, user));
        if (own)
            add(c, own->per_user, arena_printf(a, "%suser-tool:%s:%s", s->prefix, tool, user));
    }
    if (!c->count)
        return MCP_NEXT;
    const char *args[3 * CHECKS_MAX];
    for (size_t i = 0; i < c->count; i++) {
        args[3 * i] = c->buckets[i]->size;
        args[3 * i + 1] = c->buckets[i]->rate;
        args[3 * i + 2] = c->buckets[i]->keep_s;
    }
    *slot = c;
    c->call = redis_run(s->redis, c->keys, c->count, args, 3 * c->count, on_counted, c);
    return MCP_LATER;
}

static void rate_end(void *state, struct mcp_exchange *x, void **slot)
{
    struct rate_check *c = *slot;
    (void)state;
    (void)x;
    if (c)
        redis_cancel(c->call);
}

static const char *const rate_limit_parameters[] = { "namespace",
    "server_name",
    "redis_addr",
    "redis_db",
    "redis_tls.caCertFile",
    "redis_tls.insecureSkipVerify",
    "config.shared.maxTokens",
    "config.shared.refillPeriod",
    "config.perUser.maxTokens",
    "config.perUser.refillPeriod",
    "config.tools.*.shared.maxTokens",
    "config.tools.*.shared.refillPeriod",
    "config.tools.*.perUser.maxTokens",
    "config.tools.*.perUser.refillPeriod",
    "config.tools.*.name",
    NULL };

const struct mcp_step mcp_step_rate_limit = {
    .type = "ratelimit",
    .parameters = rate_limit_parameters,
    .open = rate_open,
    .close = rate_close,
    .message = rate_message,
    .end = rate_end,
};
