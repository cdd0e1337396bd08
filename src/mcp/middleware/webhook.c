#include "mcp/middleware/webhook.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/json_bind.h"
#include "base/time.h"
#include "base/timer.h"
#include "kube/file.h"
#include "mcp/middleware/fetch.h"
#include "mcp/middleware/patch.h"
#include "mcp/session.h"

#define API_VERSION "v0.1.0"
#define BYTES_MAX ((size_t)1 << 20) /* limit of a message, and of a response */
#define SECRET_BYTES_MAX ((size_t)64 << 10)
#define PATCH_ROOT "/mcp_request/"

struct webhook {
    const char *name;
    struct fetch_target *target;
    int64_t timeout_ms;
    bool ignores_failure;
    const char *secret_file; /* read for each call, because it is rotated; NULL: none, or secret */
    const char *secret;
};

struct webhooks {
    struct webhook *list;
    size_t count;
    bool mutates;
    const struct env *env;
    const char *server, *transport;
};

/* One message on its way through the webhooks. */
struct webhook_check {
    const struct webhooks *s;
    struct mcp_exchange *x;
    size_t next;
    struct fetch *fetch;
};

/* ---- opening ---- */

struct webhook_fields {
    const char *name, *url, *policy, *secret, *ca, *certificate, *key;
    bool verify_off;
    struct json timeout;
};

static const struct json_bind webhook_bind[] = {
    BIND(struct webhook_fields, name, "name", .required = true),
    BIND(struct webhook_fields, url, "url", .required = true),
    BIND(struct webhook_fields, policy, "failure_policy"),
    BIND(struct webhook_fields, secret, "hmac_secret_ref"),
    BIND(struct webhook_fields, timeout, "timeout"),
    BIND(struct webhook_fields, ca, "tls_config.ca_bundle_path"),
    BIND(struct webhook_fields, certificate, "tls_config.client_cert_path"),
    BIND(struct webhook_fields, key, "tls_config.client_key_path"),
    BIND(struct webhook_fields, verify_off, "tls_config.insecure_skip_verify"),
    { 0 },
};

static bool read_timeout(struct json v, int64_t *ret_ms, struct error *err)
{
    int64_t ns = json_is(v, JSON_INT) ? v.integer : 0;
    if (json_is(v, JSON_STR) && !time_duration_parse(json_text(v), &ns))
        return fail(err, ERR_INVALID, "timeout: \"%s\" is not a duration", json_text(v));
    *ret_ms = ns ? ns / TIME_NS_PER_MS : 10000;
    if (*ret_ms < 1000 || *ret_ms > 30000)
        return fail(err, ERR_INVALID, "timeout: expected 1s to 30s");
    return true;
}

/* An absolute path is a file; NAME or NAME,target=… is the variable TOOLHIVE_SECRET_NAME. */
static bool read_secret(
    const struct mcp_open *o, const char *ref, struct webhook *w, struct error *err)
{
    struct str text, rest = str_of(ref), name = str_cut(&rest, ',');
    if (text_empty(ref))
        return true;
    if (*ref == '/') {
        w->secret_file = ref;
        return file_read(o->arena, ref, SECRET_BYTES_MAX, &text, err) &&
               (text.len || fail(err, ERR_INVALID, "hmac_secret_ref: %s is empty", ref));
    }
    const char *variable = arena_printf(o->arena, "TOOLHIVE_SECRET_%.*s", (int)name.len, name.ptr);
    const char *value = o->variable(o->ctx, variable);
    if (text_empty(value))
        return fail(err, ERR_INVALID, "hmac_secret_ref: the variable %s is not set", variable);
    w->secret = arena_strdup(o->arena, value);
    return true;
}

static bool open_one(const struct mcp_open *o, struct json v, struct webhook *w, struct error *err)
{
    struct webhook_fields f = { .policy = "fail" };
    if (!json_bind(o->arena, v, "", webhook_bind, &f, err) ||
        !read_timeout(f.timeout, &w->timeout_ms, err) || !read_secret(o, f.secret, w, err))
        return false;
    if (!text_eq(f.policy, "fail") && !text_eq(f.policy, "ignore"))
        return fail(
            err, ERR_INVALID, "failure_policy: \"%s\" is not known. Use fail or ignore.", f.policy);
    if (text_empty(f.certificate) != text_empty(f.key))
        return fail(
            err, ERR_INVALID, "tls_config: set client_cert_path and client_key_path, or neither");
    w->name = f.name;
    w->ignores_failure = text_eq(f.policy, "ignore");
    w->target = fetch_target_new(o,
        &(struct fetch_options){
            .url = f.url,
            .ca_file = f.ca,
            .certificate_file = f.certificate,
            .key_file = f.key,
            .verify_off = f.verify_off,
        },
        err);
    if (!w->target)
        return fail_in(err, "url");
    return fetch_target_is_tls(w->target) || f.verify_off ||
           fail(err,
               ERR_INVALID,
               "url: must be https. tls_config.insecure_skip_verify allows http.");
}

static void webhooks_close(void *state)
{
    struct webhooks *s = state;
    for (size_t i = 0; i < s->count; i++)
        fetch_target_free(s->list[i].target);
}

static void *webhooks_open(
    const struct mcp_open *o, struct json params, bool mutates, struct error *err)
{
    struct webhooks *s = arena_new(o->arena, struct webhooks);
    struct json list = json_member(params, "webhooks");
    if (!json_is(list, JSON_LIST) || !list.count) {
        fail(err, ERR_INVALID, "parameters.webhooks: at least one is required");
        return NULL;
    }
    *s = (struct webhooks){
        .list = arena_array(o->arena, list.count, sizeof(*s->list)),
        .mutates = mutates,
        .env = o->env,
        .server = json_get_text(params, "server_name"),
        .transport = json_get_text(params, "transport"),
    };
    json_each (item, list)
        if (!open_one(o, *item, &s->list[s->count++], err)) {
            fail_in(err, "parameters.webhooks[%zu]", s->count - 1);
            webhooks_close(s);
            return NULL;
        }
    return s;
}

static void *mutating_open(const struct mcp_open *o, struct json params, struct error *err)
{
    return webhooks_open(o, params, true, err);
}

static void *validating_open(const struct mcp_open *o, struct json params, struct error *err)
{
    return webhooks_open(o, params, false, err);
}

/* ---- answers ---- */

static enum mcp_verdict refuse(struct webhook_check *c, int status, const char *text)
{
    bool is_denial = status == 403 || status == 422;
    if (is_denial)
        mcp_set_denied(c->x);
    mcp_answer_error(c->x,
        status,
        is_denial       ? 403
        : status == 413 ? -32600
                        : -32603,
        text,
        json_none);
    return MCP_ANSWER;
}

static enum mcp_verdict denied(struct webhook_check *c, int mutating_status)
{
    return c->s->mutates ? refuse(c, mutating_status, "Request denied by webhook policy")
                         : refuse(c, 403, "Request denied by policy");
}

/* MCP_NEXT: the failure is ignored. */
static enum mcp_verdict failed(struct webhook_check *c, const struct webhook *w)
{
    if (w->ignores_failure)
        return MCP_NEXT;
    return c->s->mutates ? refuse(c, 500, "Webhook error")
                         : refuse(c, 403, "Request denied by policy");
}

static enum mcp_verdict apply(struct webhook_check *c, const struct webhook *w, struct json answer)
{
    const char *type = json_get_text(answer, "patch_type");
    struct json patch = json_member(answer, "patch"), patched;
    struct error err;
    if (text_empty(type) || !json_present(patch) || json_is(patch, JSON_NULL))
        return MCP_NEXT;
    if (text_eq(type, "json_patch") &&
        patch_apply(
            mcp_arena(c->x), mcp_request(c->x)->document, patch, PATCH_ROOT, &patched, &err) &&
        mcp_request_replace(c->x, patched, &err))
        return MCP_NEXT;
    return failed(c, w);
}

static enum mcp_verdict judge(
    struct webhook_check *c, const struct webhook *w, int status, struct str body)
{
    struct json answer;
    if (status == 422)
        return denied(c, 422);
    if (status != 200 || !json_parse(mcp_arena(c->x), body, &answer, NULL) ||
        !json_is(answer, JSON_MAP))
        return failed(c, w);
    if (!json_get_bool(answer, "allowed", false))
        return denied(c, 403);
    return c->s->mutates ? apply(c, w, answer) : MCP_NEXT;
}

/* ---- requests ---- */

static enum mcp_verdict ask_next(struct webhook_check *c);

static void on_answer(void *ctx, int status, struct str body, const struct error *err)
{
    struct webhook_check *c = ctx;
    const struct webhook *w = &c->s->list[c->next];
    c->fetch = NULL;
    enum mcp_verdict verdict = err ? failed(c, w) : judge(c, w, status, body);
    if (verdict == MCP_NEXT) {
        c->next++;
        verdict = ask_next(c);
    }
    if (verdict != MCP_LATER)
        mcp_step_continue(c->x, verdict);
}

static struct json principal(struct arena *a, const struct mcp_identity *who)
{
    if (!who->subject)
        return json_null();
    return json_map(a,
        { "sub", json_str(who->subject) },
        { "name", json_str_or_absent(who->name) },
        { "email", json_str_or_absent(who->email) },
        { "claims", json_or_absent(who->claims) });
}

/* Sends the original text of the message: the webhook checks exactly what the server gets. */
static void write_question(struct webhook_check *c, struct buf *b)
{
    struct arena *a = mcp_arena(c->x);
    const struct webhooks *s = c->s;
    char id[37];
    session_new_id(s->env, id);
    struct json context = json_map(a,
        { "server_name", json_str(s->server ? s->server : "") },
        { "source_ip", json_strf(a, "%s:%u", mcp_remote_address(c->x), mcp_remote_port(c->x)) },
        { "transport", json_str(s->transport ? s->transport : "") });
    struct str raw = mcp_request(c->x)->raw;
    buf_printf(b,
        "{\"version\":\"" API_VERSION "\",\"uid\":\"%s\",\"timestamp\":\"%s\",\"principal\":",
        id,
        time_format_micro(a, env_wall_ms(s->env) * 1000));
    json_print(b, principal(a, mcp_identity(c->x)));
    buf_add_text(b, ",\"mcp_request\":");
    if (str_starts(raw, STR("\xef\xbb\xbf")))
        raw = (struct str){ raw.ptr + 3, raw.len - 3 };
    buf_add(b, raw.ptr, raw.len);
    buf_add_text(b, ",\"context\":");
    json_print(b, context);
    buf_add_char(b, '}');
}

/* False: the secret cannot be read. */
static bool sign(const struct webhook_check *c, const struct webhook *w, struct str body,
    struct http_header *headers, size_t *count)
{
    struct arena *a = mcp_arena(c->x);
    struct str secret = str_of(w->secret);
    uint8_t digest[SHA256_BYTES];
    if (w->secret_file &&
        (!file_read(a, w->secret_file, SECRET_BYTES_MAX, &secret, NULL) || !secret.len))
        return false;
    if (!secret.len)
        return true;
    const char *now = arena_printf(a, "%lld", (long long)(env_wall_ms(c->s->env) / 1000));
    struct buf text = BUF_INIT(BYTES_MAX * 3);
    buf_printf(&text, "%s.", now);
    buf_add(&text, body.ptr, body.len);
    hmac_sha256(secret, buf_str(&text), digest);
    buf_done(&text);
    const char *hex = hex_encode(a, (struct str){ (const char *)digest, sizeof(digest) });
    headers[(*count)++] = (struct http_header){ STR("x-toolhive-signature"),
        str_of(arena_printf(a, "sha256=%s", hex)) };
    headers[(*count)++] = (struct http_header){ STR("x-toolhive-timestamp"), str_of(now) };
    return true;
}

static enum mcp_verdict ask_next(struct webhook_check *c)
{
    while (c->next < c->s->count) {
        const struct webhook *w = &c->s->list[c->next];
        struct http_header headers[3] = { { STR("content-type"), STR("application/json") } };
        size_t count = 1;
        cleanup(buf_done) struct buf body = BUF_INIT(BYTES_MAX * 2);
        write_question(c, &body);
        if (sign(c, w, buf_str(&body), headers, &count)) {
            c->fetch = fetch_start(w->target,
                &(struct fetch_request){
                    .method = "POST",
                    .headers = { headers, count },
                    .body = buf_str(&body),
                    .timeout_ms = w->timeout_ms,
                    .bytes_max = BYTES_MAX,
                },
                on_answer,
                c);
            return MCP_LATER;
        }
        enum mcp_verdict verdict = failed(c, w);
        if (verdict != MCP_NEXT)
            return verdict;
        c->next++;
    }
    return MCP_NEXT;
}

static enum mcp_verdict webhooks_message(void *state, struct mcp_exchange *x, void **slot)
{
    struct webhook_check *c = arena_new(mcp_arena(x), struct webhook_check);
    *c = (struct webhook_check){ .s = state, .x = x };
    *slot = c;
    if (mcp_request(x)->raw.len > BYTES_MAX)
        return refuse(c, 413, "Request body exceeds maximum size");
    return ask_next(c);
}

static void webhooks_end(void *state, struct mcp_exchange *x, void **slot)
{
    struct webhook_check *c = *slot;
    (void)state;
    (void)x;
    if (c)
        fetch_cancel(c->fetch);
}

static const char *const mutating_webhook_parameters[] = { "server_name",
    "transport",
    "webhooks.*.name",
    "webhooks.*.url",
    "webhooks.*.timeout",
    "webhooks.*.failure_policy",
    "webhooks.*.hmac_secret_ref",
    "webhooks.*.tls_config.ca_bundle_path",
    "webhooks.*.tls_config.client_cert_path",
    "webhooks.*.tls_config.client_key_path",
    "webhooks.*.tls_config.insecure_skip_verify",
    NULL };

const struct mcp_step mcp_step_mutating_webhook = {
    .type = "mutating-webhook",
    .parameters = mutating_webhook_parameters,
    .open = mutating_open,
    .close = webhooks_close,
    .message = webhooks_message,
    .end = webhooks_end,
};

const struct mcp_step mcp_step_validating_webhook = {
    .type = "validating-webhook",
    .parameters = mutating_webhook_parameters,
    .open = validating_open,
    .close = webhooks_close,
    .message = webhooks_message,
    .end = webhooks_end,
};
