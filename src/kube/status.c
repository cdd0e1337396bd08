#include "kube/status.h"

#include "base/buf.h"

static const struct {
    const char *reason;
    enum error_code code;
} reasons[] = {
    { "AlreadyExists", ERR_EXISTS },
    { "BadRequest", ERR_INVALID },
    { "Conflict", ERR_CONFLICT },
    { "Expired", ERR_GONE },
    { "Forbidden", ERR_FORBIDDEN },
    { "Gone", ERR_GONE },
    { "InternalError", ERR_INTERNAL },
    { "Invalid", ERR_INVALID },
    { "MethodNotAllowed", ERR_UNSUPPORTED },
    { "NotAcceptable", ERR_UNSUPPORTED },
    { "NotFound", ERR_NOT_FOUND },
    { "RequestEntityTooLarge", ERR_TOO_LARGE },
    { "ServerTimeout", ERR_TIMEOUT },
    { "ServiceUnavailable", ERR_UNAVAILABLE },
    { "Timeout", ERR_TIMEOUT },
    { "TooManyRequests", ERR_BUSY },
    { "Unauthorized", ERR_UNAUTHORIZED },
    { "UnsupportedMediaType", ERR_UNSUPPORTED },
};

static enum error_code code_of(const char *reason, int http_status)
{
    for (size_t i = 0; i < lengthof(reasons); i++)
        if (text_eq(reasons[i].reason, reason))
            return reasons[i].code;
    enum error_code code = error_code_of_http(http_status);
    return code ? code : ERR_INTERNAL;
}

/* Longer texts (an HTML page) add no information. */
#define EXCERPT_BYTES 200

const char *kube_status_excerpt(struct arena *a, struct str text)
{
    cleanup(buf_done) struct buf b = BUF_INIT(EXCERPT_BYTES);
    text = str_trim(text);
    for (size_t i = 0; i < text.len && b.len < EXCERPT_BYTES; i++)
        buf_add_char(&b, text.ptr[i] < ' ' || text.ptr[i] > '~' ? ' ' : text.ptr[i]);
    return arena_strndup(a, b.ptr, b.len);
}

/* An apply with a field that is not in the schema is refused with a plain 500, although a retry
 * does not help (seen in kube-apiserver 1.36). */
static bool is_unknown_field(const char *reason, const char *message)
{
    return !*reason && message && strstr(message, "failed to create typed patch object");
}

static struct kube_status read_status(struct json status, int http_status)
{
    struct kube_status s = {
        .reason = json_get_text(status, "reason"),
        .causes = json_get(status, "details.causes"),
        .from_server = true,
    };
    if (!s.reason)
        s.reason = "";
    const char *message = json_get_text(status, "message");
    if (is_unknown_field(s.reason, message))
        http_status = 422;
    fail(&s.error,
        code_of(s.reason, http_status),
        "%s",
        text_empty(message) ? "the server gave no message" : message);
    int64_t after_s = json_get_int(status, "details.retryAfterSeconds", 0);
    if (after_s > 0 && after_s < 86400)
        s.error.retry_after_ms = after_s * 1000;
    return s;
}

struct kube_status kube_status_of_object(struct json status)
{
    int64_t code = json_get_int(status, "code", 500);
    return read_status(status, code >= 400 && code < 600 ? (int)code : 500);
}

struct kube_status kube_status_of_answer(
    int http_status, int64_t retry_after_ms, struct json body, struct str text)
{
    struct kube_status s = { .reason = "" };
    if (text_eq(json_get_text(body, "kind"), "Status") && json_present(json_get(body, "status"))) {
        s = read_status(body, http_status);
    } else {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        const char *said = kube_status_excerpt(&a, text);
        fail(&s.error,
            code_of("", http_status),
            "HTTP status %d%s%s",
            http_status,
            *said ? ": " : "",
            said);
    }
    if (retry_after_ms > 0)
        s.error.retry_after_ms = retry_after_ms;
    return s;
}

bool kube_status_version_too_large(const struct kube_status *s)
{
    json_each (cause, s->causes)
        if (text_eq(json_get_text(*cause, "reason"), "ResourceVersionTooLarge"))
            return true;
    return strstr(s->error.text, "Too large resource version") != NULL;
}
