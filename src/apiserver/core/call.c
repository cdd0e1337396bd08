#include "apiserver/core/call.h"

#include <string.h>

#include "apiserver/core/internal.h"
#include "apiserver/core/object.h"
#include "base/yaml.h"

static void answer(struct api_call *c, int status, const char *content_type)
{
    c->status = status;
    c->content_type = content_type;
    c->answered = true;
}

void call_text(struct api_call *c, int status, const char *content_type, struct str text)
{
    answer(c, status, content_type);
    c->parts[0] = text;
}

static void print(struct api_call *c, int status, struct json body, enum accept_media media)
{
    cleanup(buf_done) struct buf b = BUF_INIT(SIZE_MAX / 2);
    if (media == MEDIA_YAML)
        yaml_print(&b, body);
    else if (c->pretty)
        json_print_pretty(&b, body, 2);
    else if (json_present(json_member(body, "kind")))
        object_print(&b, body);
    else
        json_print(&b, body);
    char *copy = arena_strndup(&c->arena, b.ptr, b.len);
    call_text(c,
        status,
        media == MEDIA_YAML ? "application/yaml" : "application/json",
        (struct str){ copy, b.len });
}

void call_json(struct api_call *c, int status, struct json body)
{
    print(c, status, body, c->accept.media);
}

void call_fail_json(struct api_call *c, int status, struct json body)
{
    print(c, status, body, c->refusal);
}

bool call_fail(struct api_call *c, struct api_status status)
{
    c->retry_after_s = status.retry_after_s;
    call_fail_json(c, status.code, status_to_json(&c->arena, &status));
    return false;
}

bool call_fail_bad(struct api_call *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = arena_vprintf(&c->arena, format, args);
    va_end(args);
    return call_fail(c, status_bad_request(message));
}

void call_answer(struct api_call *c, const struct api_answer *answer)
{
    struct json body;
    struct error err;
    if (answer->status >= 400 && text_eq(answer->content_type, "application/json") &&
        c->refusal != MEDIA_JSON && json_parse(&c->arena, answer->body, &body, &err)) {
        call_fail_json(c, answer->status, body);
        return;
    }
    call_text(c, answer->status, answer->content_type, answer->body);
    c->etag = answer->etag;
    if (!answer->body.len)
        return;
    if (answer->document) {
        c->document = document_hold(answer->document);
        c->parts[0] = answer->body;
        return;
    }
    char *copy = arena_strndup(&c->arena, answer->body.ptr, answer->body.len);
    c->parts[0] = (struct str){ copy, answer->body.len };
}

bool call_negotiate(struct api_call *c, enum accept_target target)
{
    struct api_answer refusal;
    const char *header = c->request->accept;
    if (text_empty(header) || text_eq(header, "application/json"))
        c->accept = (struct accept){ .content_type = "application/json", .pretty = c->pretty };
    else if (!accept_choose(&c->arena, header, c->kind, target, &c->accept, &refusal)) {
        call_answer(c, &refusal);
        return false;
    }
    c->accept.pretty = c->accept.pretty || c->pretty;
    return true;
}

bool call_check_form(struct api_call *c, bool list)
{
    struct api_answer refusal;
    struct error err;
    if (c->accept.form == ACCEPT_TABLE &&
        !table_include_parse(call_param(c, "includeObject"), &c->include, &err))
        return call_fail_bad(c, "%s", err.text);
    if (accept_fits(&c->arena, c->accept.form, c->kind, list, &refusal))
        return true;
    call_answer(c, &refusal);
    return false;
}

/* Whether the response is exactly the JSON of the object. */
static bool wants_text(const struct api_call *c)
{
    return c->accept.form == ACCEPT_OBJECT && c->accept.media == MEDIA_JSON && !c->accept.pretty;
}

void call_value(struct api_call *c, int status, struct json object)
{
    struct arena *a = &c->arena;
    if (!c->accept.content_type || wants_text(c)) {
        call_json(c, status, object);
        return;
    }
    if (!call_check_form(c, false))
        return;
    if (c->accept.form == ACCEPT_TABLE)
        object = table_of_object(
            a, c->kind, &c->accept, c->include, object, true, env_wall_ms(c->server->env));
    else if (c->accept.form != ACCEPT_OBJECT)
        object = partial_of_object(a, c->kind, &c->accept, object);
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)256 << 20);
    if (c->accept.media == MEDIA_YAML)
        yaml_print(&b, object);
    else if (c->accept.pretty)
        json_print_pretty(&b, object, 2);
    else
        json_print(&b, object);
    char *copy = arena_strndup(a, b.ptr, b.len);
    call_text(c, status, c->accept.content_type, (struct str){ copy, b.len });
}

void call_answer_object(struct api_call *c, const struct api_answer *answer)
{
    struct json object;
    struct error err;
    if (answer->status >= 400 || wants_text(c) ||
        !json_parse(&c->arena, answer->body, &object, &err))
        call_answer(c, answer);
    else
        call_value(c, answer->status, object);
}

bool call_check_version(struct api_call *c, const struct store_object *o, bool written)
{
    const struct api_kind *k = c->kind;
    if (!k->converter)
        return true;
    struct str own = str_of(object_api_version(&c->arena, k));
    struct str from = o ? object_version(o) : own;
    if (str_eq(from, own) && (!written || str_eq(own, str_of(k->storage_version))))
        return true;
    return call_fail(c,
        (struct api_status){ 500,
            "",
            arena_printf(&c->arena,
                "conversion webhook for %.*s, Kind=%s failed: Post \"%s?timeout=30s\": this server "
                "calls no webhooks",
                (int)from.len,
                from.ptr,
                k->resource.kind,
                k->converter) });
}

void call_object(struct api_call *c, int status, const struct store_object *o)
{
    bool same;
    if (!call_check_version(c, o, false))
        return;
    if (!wants_text(c) || !object_is_plain(c->kind, o, &same)) {
        bool itself = c->accept.form == ACCEPT_OBJECT;
        call_value(c, status, object_read_as(c->kind, &c->arena, o, itself));
        return;
    }
    answer(c, status, "application/json");
    store_object_hold(o);
    c->held = o;
    if (same) {
        c->parts[0] = o->text;
        return;
    }
    size_t head = object_head_bytes(o->text);
    c->parts[0] = str_of(arena_printf(&c->arena,
        "{\"apiVersion\":\"%s\",\"kind\":\"%s\"",
        object_api_version(&c->arena, c->kind),
        c->kind->resource.kind));
    c->parts[1] = (struct str){ o->text.ptr + head, o->text.len - head };
}

/* Formats an HTTP quoted string, without characters that are not allowed in a header. */
void call_warn(struct api_call *c, const char *text)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 10);
    buf_add_text(&b, "299 - \"");
    for (const char *at = text; *at; at++) {
        if (*at == '"' || *at == '\\')
            buf_add_char(&b, '\\');
        if ((unsigned char)*at >= ' ' && *at != 0x7f)
            buf_add_char(&b, *at);
    }
    buf_add_char(&b, '"');
    for (size_t i = 0; i < c->warning_count; i++)
        if (text_eq(c->warnings[i], buf_text(&b)))
            return;
    if (c->warning_count == CALL_WARNINGS_MAX)
        return;
    if (!c->warnings)
        c->warnings = arena_array(&c->arena, CALL_WARNINGS_MAX + 1, sizeof(*c->warnings));
    c->warnings[c->warning_count++] = arena_strdup(&c->arena, buf_text(&b));
}

void call_unwarn(struct api_call *c, size_t count)
{
    while (c->warning_count > count)
        c->warnings[--c->warning_count] = NULL;
}

const char *call_param(const struct api_call *c, const char *key)
{
    for (size_t i = 0; i < c->param_count; i++)
        if (strcmp(c->params[i].key, key) == 0)
            return c->params[i].value;
    return NULL;
}

bool call_param_bool(const struct api_call *c, const char *key)
{
    const char *value = call_param(c, key);
    return value && strcasecmp(value, "false") != 0 && strcmp(value, "0") != 0;
}
