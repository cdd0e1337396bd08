#include "mcp/middleware/aws_sts.h"

#include "base/hash.h"
#include "base/json_bind.h"
#include "base/sigv4.h"
#include "base/time.h"
#include "base/timer.h"
#include "base/url.h"
#include "mcp/middleware/aws_role.h"
#include "mcp/middleware/fetch.h"
#include "mcp/middleware/token_cache.h"

#define MARGIN_MS 60000 /* keys are not used for this long before they expire */
#define DURATION_MIN 900
#define DURATION_MAX 43200
#define DURATION_DEFAULT 3600
#define NAME_MIN 2
#define NAME_MAX 64

struct fields {
    const char *region, *service, *name_claim;
    int64_t duration;
};

struct aws {
    struct fields f;
    struct aws_roles *roles;
    struct fetch_target *sts;
    struct token_cache cache;
    const struct env *env;
};

struct check {
    struct aws *s;
    struct mcp_exchange *x;
    const char *key; /* in the cache */
    struct fetch *fetch;
    struct aws_keys keys;
};

/* ---- opening ---- */

static bool check_fields(struct fields *f, struct error *err)
{
    for (const char *c = f->region; *c; c++)
        if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9') && *c != '-')
            return fail(err, ERR_INVALID, "region: \"%s\" is not a region", f->region);
    if (text_empty(f->region))
        return fail(err, ERR_INVALID, "region: needed");
    if (text_empty(f->service))
        f->service = "aws-mcp";
    if (text_empty(f->name_claim))
        f->name_claim = "sub";
    if (!f->duration)
        f->duration = DURATION_DEFAULT;
    return f->duration >= DURATION_MIN ||
           fail(err, ERR_INVALID, "session_duration: %d s at least", DURATION_MIN);
}

/* AWS_ENDPOINT_URL_STS is AWS's own variable for another endpoint, such as one in a private
 * network. */
static const char *endpoint_of(const struct mcp_open *o, const struct fields *f)
{
    const char *given = o->variable(o->ctx, "AWS_ENDPOINT_URL_STS");
    if (!text_empty(given))
        return given;
    return arena_printf(o->arena,
        "https://sts.%s.amazonaws.com%s",
        f->region,
        text_starts(f->region, "cn-") ? ".cn" : "");
}

static void *aws_open(const struct mcp_open *o, struct json params, struct error *err)
{
    static const struct json_bind bind[] = {
        BIND(struct fields, region, "region", .required = true),
        BIND(struct fields, service, "service"),
        BIND(struct fields, name_claim, "session_name_claim"),
        BIND(struct fields, duration, "session_duration", .min = 0, .max = DURATION_MAX),
        { 0 },
    };
    struct json config = json_member(params, "aws_sts_config");
    struct aws *s = arena_new(o->arena, struct aws);
    s->env = o->env;
    bool fine = json_bind(o->arena, config, "", bind, &s->f, err) && check_fields(&s->f, err);
    s->roles = fine ? aws_roles_new(o->arena, config, err) : NULL;
    if (s->roles)
        s->sts = fetch_target_new(o, &(struct fetch_options){ .url = endpoint_of(o, &s->f) }, err);
    if (!s->sts) {
        fail_in(err, "parameters.aws_sts_config");
        return NULL;
    }
    token_cache_init(&s->cache, o->env);
    return s;
}

static void aws_close(void *state)
{
    struct aws *s = state;
    fetch_target_free(s->sts);
    token_cache_done(&s->cache);
}

/* ---- the response of STS ---- */

/* The text of the first such element; keys contain no characters that XML would escape. */
static const char *element(struct arena *a, struct str xml, const char *name)
{
    const char *open = arena_printf(a, "<%s>", name);
    const char *from = memmem(xml.ptr, xml.len, open, strlen(open));
    if (!from)
        return NULL;
    from += strlen(open);
    size_t left = xml.len - (size_t)(from - xml.ptr);
    const char *to = memchr(from, '<', left);
    if (!to || to == from || memchr(from, '&', (size_t)(to - from)))
        return NULL;
    return arena_strndup(a, from, (size_t)(to - from));
}

bool aws_read_keys(struct arena *a, struct str xml, struct aws_keys *ret)
{
    const char *begin = memmem(xml.ptr, xml.len, "<Credentials>", strlen("<Credentials>"));
    if (!begin)
        return false;
    struct str part = { begin, xml.len - (size_t)(begin - xml.ptr) };
    ret->id = element(a, part, "AccessKeyId");
    ret->secret = element(a, part, "SecretAccessKey");
    ret->token = element(a, part, "SessionToken");
    const char *until = element(a, part, "Expiration");
    return ret->id && ret->secret && ret->token && until && time_parse(until, &ret->expires_ms);
}

/* ---- requests ---- */

static enum mcp_verdict refuse(struct mcp_exchange *x, int status, const char *text)
{
    mcp_answer_header(x, "x-content-type-options", "nosniff");
    mcp_answer(
        x, status, "text/plain; charset=utf-8", str_of(arena_printf(mcp_arena(x), "%s\n", text)));
    return MCP_ANSWER;
}

/* Such headers from the client would have to be signed. */
static void drop_amazon_headers(struct mcp_exchange *x)
{
    struct http_headers all = mcp_headers(x);
    for (size_t i = 0; i < all.count; i++)
        if (all.list[i].name.len > 6 &&
            str_eq_nocase((struct str){ all.list[i].name.ptr, 6 }, STR("x-amz-")))
            mcp_backend_header(x, str_dup(mcp_arena(x), all.list[i].name), NULL);
}

static enum mcp_verdict sign(struct check *c, struct str body)
{
    struct mcp_exchange *x = c->x;
    struct arena *a = mcp_arena(x);
    const char *where = mcp_backend_url(x);
    struct url url;
    struct error err;
    if (!where || !url_parse(a, where, &url, &err))
        return refuse(x, 500, "Request signing failed");
    struct sigv4_header headers[] = { { "host", str_of(url_authority(a, &url)) } };
    struct sigv4_keys keys = { c->keys.id, c->keys.secret, c->keys.token };
    struct sigv4_signature made = sigv4_sign(a,
        &keys,
        &(struct sigv4_request){
            .method = str_dup(a, mcp_method(x)),
            .path = url.path,
            .query = url.query,
            .region = c->s->f.region,
            .service = c->s->f.service,
            .headers = headers,
            .header_count = 1,
            .body_sha256 = sha256_hex(a, body),
            .now_ms = env_wall_ms(c->s->env),
        });
    drop_amazon_headers(x);
    mcp_backend_header(x, "authorization", made.authorization);
    mcp_backend_header(x, "x-amz-date", made.date);
    mcp_backend_header(x, "x-amz-security-token", c->keys.token);
    mcp_set_signed(x);
    return MCP_NEXT;
}

/* A request without a body is signed now, any other when its final message is known. */
static enum mcp_verdict have_keys(struct check *c)
{
    return str_eq(mcp_method(c->x), STR("POST")) ? MCP_NEXT : sign(c, STR(""));
}

static void on_answer(void *ctx, int status, struct str body, const struct error *err)
{
    struct check *c = ctx;
    c->fetch = NULL;
    if (err || status != 200 || !aws_read_keys(mcp_arena(c->x), body, &c->keys)) {
        bool is_refused = !err && status >= 400 && status < 500;
        refuse(c->x, is_refused ? 401 : 503, "AWS credential exchange failed");
        mcp_step_continue(c->x, MCP_ANSWER);
        return;
    }
    if (c->keys.expires_ms - MARGIN_MS > env_wall_ms(c->s->env)) {
        struct token_entry *e = token_entry_new(str_of(c->key));
        e->identity.claims = json_map(&e->arena,
            { "id", json_str(arena_strdup(&e->arena, c->keys.id)) },
            { "secret", json_str(arena_strdup(&e->arena, c->keys.secret)) },
            { "token", json_str(arena_strdup(&e->arena, c->keys.token)) });
        e->expires_ms = c->keys.expires_ms - MARGIN_MS;
        token_cache_add(&c->s->cache, e);
        token_entry_unref(e);
    }
    mcp_step_continue(c->x, have_keys(c));
}

static bool is_session_name(const char *name)
{
    size_t length = name ? strlen(name) : 0;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && !strchr("_+=,.@-", c))
            return false;
    }
    return length >= NAME_MIN && length <= NAME_MAX;
}

static bool find_keys(struct check *c)
{
    struct token_entry *known = token_cache_find(&c->s->cache, str_of(c->key));
    if (!known)
        return false;
    struct arena *a = mcp_arena(c->x);
    struct json v = known->identity.claims;
    c->keys = (struct aws_keys){
        .id = arena_strdup(a, json_get_text(v, "id")),
        .secret = arena_strdup(a, json_get_text(v, "secret")),
        .token = arena_strdup(a, json_get_text(v, "token")),
    };
    token_entry_unref(known);
    return true;
}

static enum mcp_verdict aws_head(void *state, struct mcp_exchange *x, void **slot)
{
    struct aws *s = state;
    struct arena *a = mcp_arena(x);
    const struct mcp_identity *who = mcp_identity(x);
    if (text_empty(who->token))
        return refuse(x, 401, "Bearer token required");
    const char *role = aws_roles_choose(s->roles, a, who->claims);
    if (!role) {
        mcp_set_denied(x);
        return refuse(x, 403, "Failed to determine IAM role");
    }
    const char *name = json_text(json_member(who->claims, s->f.name_claim));
    if (!is_session_name(name))
        return refuse(
            x, 401, text_empty(name) ? "Missing session name claim" : "Invalid session name");
    struct check *c = arena_new(a, struct check);
    *c = (struct check){
        .s = s, .x = x, .key = arena_printf(a, "%s\n%s\n%s", role, name, who->token)
    };
    *slot = c;
    if (find_keys(c))
        return have_keys(c);
    struct http_header headers[] = {
        { STR("content-type"), STR("application/x-www-form-urlencoded") },
    };
    c->fetch = fetch_start(s->sts,
        &(struct fetch_request){
            .method = "POST",
            .headers = { headers, 1 },
            .body = str_of(arena_printf(a,
                "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=%s&"
                "RoleSessionName=%s&WebIdentityToken=%s&DurationSeconds=%lld",
                url_encode(a, str_of(role)),
                url_encode(a, str_of(name)),
                url_encode(a, str_of(who->token)),
                (long long)s->f.duration)),
        },
        on_answer,
        c);
    return MCP_LATER;
}

static enum mcp_verdict aws_message(void *state, struct mcp_exchange *x, void **slot)
{
    (void)state;
    return sign(*slot, mcp_request(x)->raw);
}

static void aws_end(void *state, struct mcp_exchange *x, void **slot)
{
    struct check *c = *slot;
    (void)state;
    (void)x;
    if (c)
        fetch_cancel(c->fetch);
}

static const char *const aws_parameters[] = { "target_url",
    "aws_sts_config.region",
    "aws_sts_config.service",
    "aws_sts_config.fallback_role_arn",
    "aws_sts_config.role_mappings",
    "aws_sts_config.role_claim",
    "aws_sts_config.session_duration",
    "aws_sts_config.session_name_claim",
    NULL };

const struct mcp_step mcp_step_aws_sts = {
    .type = "awssts",
    .parameters = aws_parameters,
    .open = aws_open,
    .close = aws_close,
    .head = aws_head,
    .message = aws_message,
    .end = aws_end,
};
