#include "mcp/rpc.h"

#include "base/base64.h"
#include "base/buf.h"

#define BOM "\xef\xbb\xbf"

/* ---- spans: only for text that json_parse() has accepted ---- */

static size_t skip_blanks(struct str s, size_t at)
{
    while (at < s.len &&
           (s.ptr[at] == ' ' || s.ptr[at] == '\t' || s.ptr[at] == '\n' || s.ptr[at] == '\r'))
        at++;
    return at;
}

/* The position after the string that starts at `at`. */
static size_t skip_string(struct str s, size_t at)
{
    for (at++; at < s.len && s.ptr[at] != '"'; at++)
        if (s.ptr[at] == '\\')
            at++;
    return at < s.len ? at + 1 : s.len;
}

static size_t skip_value(struct str s, size_t at)
{
    size_t depth = 0;
    do {
        if (at >= s.len)
            return s.len;
        char c = s.ptr[at];
        if (c == '"') {
            at = skip_string(s, at);
            continue;
        }
        if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth--;
        else if (!depth) {
            while (at < s.len && !strchr(",]} \t\r\n", s.ptr[at]))
                at++;
            return at;
        }
        at++;
    } while (depth);
    return at;
}

/* Finds the value of the last member with that key in the map at `at`. */
static bool find_member(struct str s, size_t at, struct str key, size_t *ret_from, size_t *ret_to)
{
    bool found = false;
    at = skip_blanks(s, at);
    if (at >= s.len || s.ptr[at] != '{')
        return false;
    at = skip_blanks(s, at + 1);
    while (at < s.len && s.ptr[at] == '"') {
        size_t name = at + 1;
        at = skip_string(s, at);
        bool is = str_eq((struct str){ s.ptr + name, at - 1 - name }, key);
        at = skip_blanks(s, at);
        at = skip_blanks(s, at + 1); /* the colon */
        size_t from = at;
        at = skip_value(s, at);
        if (is) {
            *ret_from = from;
            *ret_to = at;
            found = true;
        }
        at = skip_blanks(s, at);
        if (at < s.len && s.ptr[at] == ',')
            at = skip_blanks(s, at + 1);
    }
    return found;
}

static size_t first_byte(struct str raw)
{
    return str_starts(raw, STR(BOM)) ? sizeof(BOM) - 1 : 0;
}

static bool find_path(struct str raw, const char *path, size_t *ret_from, size_t *ret_to)
{
    size_t from = first_byte(raw), to = raw.len;
    struct str rest = str_of(path);
    if (!rest.len) {
        *ret_from = skip_blanks(raw, from);
        *ret_to = to;
        return true;
    }
    while (rest.ptr) {
        struct str key = str_cut(&rest, '.');
        if (!find_member(raw, from, key, &from, &to))
            return false;
    }
    *ret_from = from;
    *ret_to = to;
    return true;
}

bool rpc_span(struct str raw, const char *path, struct str *ret)
{
    size_t from, to;
    if (!find_path(raw, path, &from, &to))
        return false;
    *ret = (struct str){ raw.ptr + from, to - from };
    return true;
}

static struct str replaced(
    struct arena *a, struct str raw, size_t from, size_t to, struct str first, struct str second)
{
    size_t length = from + first.len + second.len + (raw.len - to);
    char *text = arena_alloc(a, length + 1);
    char *at = mempcpy(text, raw.ptr, from);
    at = mempcpy(at, first.ptr ? first.ptr : "", first.len);
    at = mempcpy(at, second.ptr ? second.ptr : "", second.len);
    memcpy(at, raw.ptr + to, raw.len - to);
    return (struct str){ text, length };
}

bool rpc_splice(
    struct arena *a, struct str raw, const char *path, struct str value, struct str *ret)
{
    size_t from, to;
    if (!find_path(raw, path, &from, &to))
        return false;
    *ret = replaced(a, raw, from, to, value, (struct str){ 0 });
    return true;
}

bool rpc_insert(struct arena *a, struct str raw, const char *path, const char *key,
    struct str value, struct str *ret)
{
    size_t from, to;
    if (!find_path(raw, path, &from, &to) || from >= raw.len || raw.ptr[from] != '{')
        return false;
    size_t next = skip_blanks(raw, from + 1);
    bool empty = next < raw.len && raw.ptr[next] == '}';
    cleanup(buf_done) struct buf head = BUF_INIT(4096);
    buf_add_char(&head, '{');
    json_print(&head, json_str(key));
    buf_add_char(&head, ':');
    struct str tail = empty ? value : replaced(a, value, value.len, value.len, STR(","), STR(""));
    *ret = replaced(a, raw, from, from + 1, buf_str(&head), tail);
    return true;
}

/* ---- reading ---- */

static const char *resource_of(const char *method, struct json params)
{
    static const struct {
        const char *method, *key;
    } table[] = {
        { "tools/call", "name" },
        { "prompts/get", "name" },
        { "resources/read", "uri" },
        { "resources/subscribe", "uri" },
        { "resources/unsubscribe", "uri" },
    };
    for (size_t i = 0; i < lengthof(table); i++)
        if (text_eq(method, table[i].method))
            return json_text(json_member(params, table[i].key));
    return NULL;
}

static bool has_arguments(const char *method)
{
    return text_eq(method, "tools/call") || text_eq(method, "prompts/get");
}

static enum rpc_result read_call(struct json v, struct mcp_message *m, struct error *err)
{
    struct json method = json_member(v, "method");
    m->method = json_text(method);
    if (!m->method) {
        fail(err, ERR_INVALID, "method must be a string");
        return RPC_INVALID;
    }
    m->params = json_member(v, "params");
    if (json_present(m->params) && !json_is(m->params, JSON_MAP)) {
        if (!json_is(m->params, JSON_NULL)) {
            fail(err, ERR_INVALID, "params must be an object");
            return RPC_INVALID;
        }
        m->params = json_none;
    }
    m->kind = m->id_raw.ptr ? MCP_REQUEST : MCP_NOTIFICATION;
    m->resource = resource_of(m->method, m->params);
    if (has_arguments(m->method))
        m->arguments = json_member(m->params, "arguments");
    const char *version = json_text(json_member(json_member(m->params, "_meta"), RPC_META_VERSION));
    m->modern = version != NULL;
    return RPC_OK;
}

static enum rpc_result read_object(struct json v, struct mcp_message *m, struct error *err)
{
    m->id = json_member(v, "id");
    bool has_id = json_present(m->id) && !json_is(m->id, JSON_NULL);
    if (!rpc_span(m->raw, "id", &m->id_raw) || !has_id)
        m->id_raw = (struct str){ 0 };
    if (json_present(json_member(v, "method")))
        return read_call(v, m, err);
    m->result = json_member(v, "result");
    m->error = json_member(v, "error");
    if (json_present(m->result) == json_present(m->error)) {
        fail(err, ERR_INVALID, "a message has a method, a result or an error");
        return RPC_INVALID;
    }
    m->kind = MCP_RESPONSE;
    return RPC_OK;
}

/* Whether a key of the message, its params or their _meta is written with an escape: spans would
 * not find it. */
static bool has_escaped_keys(struct str raw, struct json v)
{
    static const char *const paths[] = { "id",
        "method",
        "params",
        "result",
        "error",
        "params.name",
        "params.uri",
        "params._meta",
        "params._meta.progressToken",
        "params.requestId",
        "params.progressToken" };
    struct str span;
    for (size_t i = 0; i < lengthof(paths); i++)
        if (json_present(json_get(v, paths[i])) && !rpc_span(raw, paths[i], &span))
            return true;
    return false;
}

enum rpc_result rpc_read(
    struct arena *a, struct str raw, struct mcp_message *ret, struct error *err)
{
    struct json v;
    bool twice = false;
    struct str text = { raw.ptr + first_byte(raw), raw.len - first_byte(raw) };
    *ret = (struct mcp_message){ .raw = raw };
    if (!raw.len) {
        fail(err, ERR_INVALID, "the body is empty");
        return RPC_PARSE_ERROR;
    }
    if (!json_parse_keys(a, text, &v, &twice, err))
        return RPC_PARSE_ERROR;
    if (json_is(v, JSON_LIST)) {
        fail(err, ERR_INVALID, "batches are not supported; send one message per request");
        return RPC_INVALID;
    }
    if (!json_is(v, JSON_MAP)) {
        fail(err, ERR_INVALID, "a message is a JSON object, not %s", json_type_name(v));
        return RPC_INVALID;
    }
    if (twice || has_escaped_keys(raw, v))
        ret->raw = str_of(json_to_text(a, v));
    ret->document = v;
    return read_object(v, ret, err);
}

/* ---- writing ---- */

static struct str finished(struct arena *a, struct buf *b)
{
    struct str text = { arena_strndup(a, b->ptr ? b->ptr : "", b->len), b->len };
    buf_done(b);
    return text;
}

static void begin(struct buf *b, struct str id)
{
    buf_add_text(b, "{\"jsonrpc\":\"2.0\",");
    if (id.ptr) {
        buf_add_text(b, "\"id\":");
        buf_add(b, id.ptr, id.len);
        buf_add_char(b, ',');
    }
}

struct str rpc_error(
    struct arena *a, struct str id, int64_t code, const char *message, struct json data)
{
    struct buf b = BUF_INIT((size_t)16 << 20);
    begin(&b, id);
    buf_printf(&b, "\"error\":{\"code\":%lld,\"message\":", (long long)code);
    json_print(&b, json_str(message));
    if (json_present(data)) {
        buf_add_text(&b, ",\"data\":");
        json_print(&b, data);
    }
    buf_add_text(&b, "}}");
    return finished(a, &b);
}

struct str rpc_response(struct arena *a, struct str id, struct json result)
{
    struct buf b = BUF_INIT((size_t)64 << 20);
    begin(&b, id);
    buf_add_text(&b, "\"result\":");
    json_print(&b, result);
    buf_add_char(&b, '}');
    return finished(a, &b);
}

struct str rpc_header_value(struct arena *a, const char *name)
{
    size_t length = strlen(name);
    bool plain = length && name[0] != ' ' && name[length - 1] != ' ' && !text_starts(name, "=?");
    for (size_t i = 0; i < length; i++)
        plain = plain && name[i] >= ' ' && name[i] <= '~';
    return str_of(
        plain ? arena_strdup(a, name)
              : arena_printf(a, "=?base64?%s?=", base64_encode(a, (struct str){ name, length })));
}
