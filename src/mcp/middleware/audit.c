#include "mcp/middleware/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json_bind.h"
#include "base/time.h"
#include "base/timer.h"
#include "kube/file.h"
#include "mcp/middleware/subject.h"
#include "mcp/session.h"

#define CONFIG_BYTES_MAX ((size_t)1 << 20)
#define DATA_BYTES_DEFAULT 1024
#define ERROR_BYTES_MAX 4096 /* how much of an answer to search for a JSON-RPC error */
#define ERROR_TEXT_MAX 256
#define HOPS_DEFAULT 16
#define LINE_BYTES_MAX ((size_t)16 << 20)

struct audit_config {
    const char *component, *file;
    struct json include, exclude; /* event types */
    bool request_data, response_data, enabled;
    const bool *detect_errors;
    int64_t data_bytes, hops;
};

static const struct json_bind audit_bind[] = {
    BIND(struct audit_config, enabled, "enabled"),
    BIND(struct audit_config, component, "component"),
    BIND(struct audit_config, file, "logFile"),
    BIND(struct audit_config, include, "eventTypes"),
    BIND(struct audit_config, exclude, "excludeEventTypes"),
    BIND(struct audit_config, request_data, "includeRequestData"),
    BIND(struct audit_config, response_data, "includeResponseData"),
    BIND(struct audit_config, detect_errors, "detectApplicationErrors"),
    BIND(struct audit_config, data_bytes, "maxDataSize", .min = 0, .max = (int64_t)8 << 20),
    BIND(struct audit_config, hops, "maxDelegationDepth", .min = 1, .max = 1000),
    { 0 },
};

struct audit {
    struct audit_config c;
    struct mcp_open o;
    const char *transport;
    bool is_sse, trusts_proxy;
    int fd; /* -1: standard output */
};

/* ---- opening ---- */

static const struct {
    const char *method, *type;
} events[] = {
    { "initialize", "mcp_initialize" },
    { "tools/call", "mcp_tool_call" },
    { "tools/list", "mcp_tools_list" },
    { "resources/read", "mcp_resource_read" },
    { "resources/list", "mcp_resources_list" },
    { "prompts/get", "mcp_prompt_get" },
    { "prompts/list", "mcp_prompts_list" },
    { "notifications/message", "mcp_notification" },
    { "ping", "mcp_ping" },
    { "logging/setLevel", "mcp_logging" },
    { "completion/complete", "mcp_completion" },
    { "notifications/roots/list_changed", "mcp_roots_list_changed" },
    { NULL, "mcp_request" },
    { NULL, "http_request" },
    { NULL, "sse_connection" },
};

static bool check_types(const char *at, struct json list, struct error *err)
{
    json_each (item, list) {
        bool known = text_starts(json_text(*item), "vmcp_workflow_");
        for (size_t i = 0; i < lengthof(events); i++)
            known = known || text_eq(events[i].type, json_text(*item));
        if (!known)
            return fail(err,
                ERR_INVALID,
                "%s: \"%s\" is not an event type",
                at,
                json_text(*item) ? json_text(*item) : "");
    }
    return true;
}

static bool read_config(
    const struct mcp_open *o, struct json params, struct audit_config *c, struct error *err)
{
    struct json data = json_member(params, "config_data");
    const char *path = json_get_text(params, "config_path");
    struct str text;
    if (!json_is(data, JSON_MAP) && !text_empty(path) &&
        (!file_read(o->arena, path, CONFIG_BYTES_MAX, &text, err) ||
            !json_parse(o->arena, text, &data, err)))
        return fail_in(err, "parameters.config_path: %s", path);
    if (!json_bind(o->arena, data, "parameters.config_data", audit_bind, c, err) ||
        !check_types("parameters.config_data.eventTypes", c->include, err) ||
        !check_types("parameters.config_data.excludeEventTypes", c->exclude, err))
        return false;
    c->data_bytes = c->data_bytes ? c->data_bytes : DATA_BYTES_DEFAULT;
    c->hops = c->hops ? c->hops : HOPS_DEFAULT;
    if (text_empty(c->component))
        c->component = json_get_text(params, "component");
    if (text_empty(c->component))
        c->component = "toolhive-api";
    return true;
}

static void *audit_open(const struct mcp_open *o, struct json params, struct error *err)
{
    struct audit *s = arena_new(o->arena, struct audit);
    s->o = *o;
    s->fd = -1;
    s->transport = json_get_text(params, "transport_type");
    s->is_sse = text_eq(s->transport, "sse");
    s->trusts_proxy = json_get_bool(o->config, "trust_proxy_headers", false);
    if (!read_config(o, params, &s->c, err))
        return NULL;
    if (text_empty(s->c.file))
        return s;
    s->fd = open(s->c.file, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    if (s->fd >= 0)
        return s;
    fail_errno(err, errno, "parameters.config_data.logFile: %s", s->c.file);
    return NULL;
}

static void audit_close(void *state)
{
    struct audit *s = state;
    if (s->fd >= 0)
        close(s->fd);
}

/* ---- parts of the line ---- */

static void put_text(struct buf *b, const char *key, struct str value)
{
    if (b->len && b->ptr[b->len - 1] != '{')
        buf_add_char(b, ',');
    buf_printf(b, "\"%s\":", key);
    json_print(
        b, (struct json){ .type = JSON_STR, .count = (uint32_t)value.len, .string = value.ptr });
}

static void put_member(struct buf *b, const char *key, const char *value)
{
    if (!text_empty(value))
        put_text(b, key, str_of(value));
}

static const char *event_type(const struct audit *s, struct mcp_exchange *x)
{
    const struct mcp_message *m = mcp_request(x);
    if (m->method) {
        for (size_t i = 0; events[i].method; i++)
            if (text_eq(events[i].method, m->method))
                return events[i].type;
        return "mcp_request";
    }
    if (s->is_sse && str_eq(mcp_method(x), STR("GET")))
        return "sse_connection";
    return s->is_sse && str_eq(mcp_method(x), STR("POST")) ? "mcp_request" : "http_request";
}

static const char *outcome_of(struct mcp_exchange *x)
{
    int status = mcp_status(x);
    if (mcp_is_denied(x) || status == 401 || status == 403)
        return "denied";
    return status >= 500 ? "error" : status >= 400 || !status ? "failure" : "success";
}

static void put_source(const struct audit *s, struct buf *b, struct mcp_exchange *x)
{
    struct http_headers headers = mcp_headers(x);
    struct str forwarded = http_header_find(headers, "x-forwarded-for");
    struct str real = http_header_find(headers, "x-real-ip");
    struct str address = str_of(mcp_remote_address(x)), first = forwarded;
    first = str_trim(str_cut(&first, ','));
    if (s->trusts_proxy && (first.len || real.len))
        address = first.len ? first : real;
    buf_add_text(b, ",\"source\":{\"type\":\"network\"");
    put_text(b, "value", address);
    buf_add_text(b, ",\"extra\":{");
    struct str agent = http_header_find(headers, "user-agent");
    struct str id = http_header_find(headers, "x-request-id");
    if (agent.len)
        put_text(b, "user_agent", agent);
    if (id.len)
        put_text(b, "request_id", id);
    /* Any client can send this header. */
    if (!s->trusts_proxy && forwarded.len)
        put_text(b, "forwarded_for", forwarded);
    buf_add_text(b, "}}");
}

static void put_subjects(struct buf *b, const struct mcp_identity *who)
{
    const char *preferred = json_text(json_member(who->claims, "preferred_username"));
    const char *user = !text_empty(who->name)    ? who->name
                       : !text_empty(preferred)  ? preferred
                       : !text_empty(who->email) ? who->email
                                                 : "anonymous";
    buf_add_text(b, ",\"subjects\":{");
    put_member(b, "user", user);
    put_member(b, "user_id", who->subject);
    put_member(b, "client_name", json_text(json_member(who->claims, "client_name")));
    put_member(b, "client_version", json_text(json_member(who->claims, "client_version")));
    buf_add_char(b, '}');
}

/* The delegation chain (RFC 8693, claim "act"), with the current actor first. */
static void put_delegation(const struct audit *s, struct buf *b, struct json act)
{
    int64_t hops = 0, omitted = 0;
    bool malformed = false;
    if (!json_present(act) || json_is(act, JSON_NULL))
        return;
    buf_add_text(b, ",\"delegation\":{\"chain\":[");
    for (; json_present(act) && !json_is(act, JSON_NULL); act = json_member(act, "act")) {
        if (!json_is(act, JSON_MAP)) {
            malformed = true;
            break;
        }
        if (hops + omitted >= s->c.hops) {
            omitted++;
            continue;
        }
        buf_add_text(b, hops++ ? ",{" : "{");
        put_member(b, "iss", json_text(json_member(act, "iss")));
        put_member(b, "sub", json_text(json_member(act, "sub")));
        buf_add_char(b, '}');
    }
    buf_printf(b,
        "],\"truncated\":%s,\"omitted\":%lld,\"malformed\":%s}",
        omitted ? "true" : "false",
        (long long)omitted,
        malformed ? "true" : "false");
}

static void put_target(struct buf *b, struct mcp_exchange *x, const char *type)
{
    static const char *const kinds[][2] = { { "mcp_tool_call", "tool" },
        { "mcp_resource_read", "resource" },
        { "mcp_prompt_get", "prompt" },
        { "sse_connection", "sse_endpoint" } };
    const struct mcp_message *m = mcp_request(x);
    const char *kind = "endpoint";
    for (size_t i = 0; i < lengthof(kinds); i++)
        if (text_eq(kinds[i][0], type))
            kind = kinds[i][1];
    buf_add_text(b, ",\"target\":{");
    put_text(b, "endpoint", mcp_path(x));
    put_text(b, "method", m->method ? str_of(m->method) : mcp_method(x));
    put_member(b, "name", message_subject(mcp_arena(x), m));
    put_member(b, "type", kind);
    buf_add_char(b, '}');
}

/* A JSON-RPC error in an answer with status 200; absent: none. */
static struct json error_of(const struct audit *s, struct mcp_exchange *x)
{
    struct str body = mcp_captured(x);
    struct json answer;
    bool detects = !s->c.detect_errors || *s->c.detect_errors;
    if (!detects || !body.len || body.ptr[0] != '{' ||
        !memmem(body.ptr, body.len, "\"error\"", 7) ||
        !json_parse(mcp_arena(x), body, &answer, NULL))
        return json_none;
    struct json error = json_member(answer, "error");
    return json_if(json_is(error, JSON_MAP), error);
}

static void put_metadata(
    const struct audit *s, struct buf *b, struct mcp_exchange *x, bool is_stream, struct json error)
{
    int64_t ms = env_mono_ms(s->o.env) - mcp_started_ms(x);
    buf_add_text(b, ",\"metadata\":{\"extra\":{");
    if (is_stream) {
        put_text(b, "transport", str_of(s->transport ? s->transport : ""));
        struct str agent = http_header_find(mcp_headers(x), "user-agent");
        put_text(b, "user_agent", agent.ptr ? agent : STR(""));
    } else {
        buf_printf(b, "\"duration_ms\":%lld", (long long)ms);
        put_member(b, "transport", s->is_sse ? "sse" : "http");
        if (s->c.response_data)
            buf_printf(b, ",\"response_size_bytes\":%lld", (long long)mcp_answer_bytes(x));
    }
    if (json_present(error)) {
        const char *text = json_text(json_member(error, "message"));
        struct str cut = str_of(text ? text : "");
        cut.len = cut.len > ERROR_TEXT_MAX ? ERROR_TEXT_MAX : cut.len;
        buf_printf(b, ",\"jsonrpc_error_code\":%lld", (long long)json_get_int(error, "code", 0));
        put_text(b, "jsonrpc_error_message", cut);
    }
    buf_add_text(b, "}}");
}

static void put_body(struct buf *b, struct mcp_exchange *x, const char *key, struct str body)
{
    struct json v;
    if (!body.len)
        return;
    if (!json_parse(mcp_arena(x), body, &v, NULL)) {
        put_text(b, key, body);
        return;
    }
    buf_printf(b, "%s\"%s\":", b->ptr[b->len - 1] == '{' ? "" : ",", key);
    json_print(b, v);
}

static void put_data(const struct audit *s, struct buf *b, struct mcp_exchange *x)
{
    size_t before = b->len;
    bool fits = mcp_answer_bytes(x) <= s->c.data_bytes;
    buf_add_text(b, ",\"data\":{");
    if (s->c.request_data)
        put_body(b, x, "request", mcp_captured_request(x));
    if (s->c.response_data && fits)
        put_body(b, x, "response", mcp_captured(x));
    if (b->ptr[b->len - 1] == '{')
        b->len = before;
    else
        buf_add_char(b, '}');
}

/* ---- the line ---- */

static void write_line(const struct audit *s, struct buf *b)
{
    if (s->fd < 0) {
        s->o.print_line(s->o.ctx, buf_str(b));
        return;
    }
    buf_add_char(b, '\n');
    for (size_t at = 0; at < b->len;) {
        ssize_t n = write(s->fd, b->ptr + at, b->len - at);
        if (n < 0 && errno != EINTR)
            return;
        at += n > 0 ? (size_t)n : 0;
    }
}

static void write_event(const struct audit *s, struct mcp_exchange *x, bool is_stream)
{
    const char *type = is_stream ? "sse_connection" : event_type(s, x);
    const char *outcome = outcome_of(x);
    struct json error = { 0 };
    if (json_list_has(s->c.exclude, type) ||
        (json_is(s->c.include, JSON_LIST) && s->c.include.count &&
            !json_list_has(s->c.include, type)))
        return;
    if (!is_stream && text_eq(outcome, "success"))
        error = error_of(s, x);
    cleanup(buf_done) struct buf line = BUF_INIT(LINE_BYTES_MAX);
    const char *now = time_format_micro(mcp_arena(x), env_wall_ms(s->o.env) * 1000);
    char id[37];
    session_new_id(s->o.env, id);
    buf_add_char(&line, '{');
    put_member(&line, "time", now);
    put_member(&line, "level", "AUDIT");
    put_member(&line, "msg", "audit_event");
    put_member(&line, "audit_id", id);
    put_member(&line, "type", type);
    put_member(&line, "logged_at", now);
    put_member(&line, "outcome", json_present(error) ? "application_error" : outcome);
    put_member(&line, "component", s->c.component);
    put_source(s, &line, x);
    put_subjects(&line, mcp_identity(x));
    put_delegation(s, &line, json_member(mcp_identity(x)->claims, "act"));
    put_target(&line, x, type);
    put_metadata(s, &line, x, is_stream, error);
    if (!is_stream && (s->c.request_data || s->c.response_data))
        put_data(s, &line, x);
    buf_add_char(&line, '}');
    write_line(s, &line);
}

/* ---- hooks ---- */

static bool opens_stream(struct mcp_exchange *x)
{
    return str_eq(mcp_method(x), STR("GET")) &&
           (http_header_has_token(mcp_headers(x), "accept", "text/event-stream") ||
               str_starts(http_header_find(mcp_headers(x), "accept"), STR("text/event-stream")));
}

static enum mcp_verdict audit_head(void *state, struct mcp_exchange *x, void **slot)
{
    const struct audit *s = state;
    (void)slot;
    if (s->c.request_data)
        mcp_capture_request(x, s->c.data_bytes);
    if (opens_stream(x))
        return MCP_NEXT;
    bool detects = !s->c.detect_errors || *s->c.detect_errors;
    size_t max = detects ? ERROR_BYTES_MAX : 0;
    if (s->c.response_data && (size_t)s->c.data_bytes > max)
        max = (size_t)s->c.data_bytes;
    if (max)
        mcp_capture_answer(x, max);
    return MCP_NEXT;
}

static void audit_begun(void *state, struct mcp_exchange *x, void **slot)
{
    if (!opens_stream(x))
        return;
    *slot = state; /* logged */
    write_event(state, x, true);
}

static void audit_end(void *state, struct mcp_exchange *x, void **slot)
{
    if (!*slot)
        write_event(state, x, opens_stream(x));
}

static const char *const audit_parameters[] = { "config_path",
    "component",
    "transport_type",
    "config_data.enabled",
    "config_data.component",
    "config_data.logFile",
    "config_data.eventTypes",
    "config_data.excludeEventTypes",
    "config_data.includeRequestData",
    "config_data.includeResponseData",
    "config_data.detectApplicationErrors",
    "config_data.maxDataSize",
    "config_data.maxDelegationDepth",
    NULL };

const struct mcp_step mcp_step_audit = {
    .type = "audit",
    .parameters = audit_parameters,
    .open = audit_open,
    .close = audit_close,
    .head = audit_head,
    .begun = audit_begun,
    .end = audit_end,
};
