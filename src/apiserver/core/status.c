#include "apiserver/core/status.h"

#include <string.h>

const char *status_reason(int code)
{
    static const struct {
        int code;
        const char *reason;
    } reasons[] = {
        { 400, "BadRequest" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "NotFound" },
        { 405, "MethodNotAllowed" },
        { 406, "NotAcceptable" },
        { 409, "Conflict" },
        { 410, "Gone" },
        { 413, "RequestEntityTooLarge" },
        { 415, "UnsupportedMediaType" },
        { 422, "Invalid" },
        { 429, "TooManyRequests" },
        { 500, "InternalError" },
        { 503, "ServiceUnavailable" },
        { 504, "Timeout" },
    };
    for (size_t i = 0; i < lengthof(reasons); i++)
        if (reasons[i].code == code)
            return reasons[i].reason;
    return "";
}

struct json status_to_json(struct arena *a, const struct api_status *s)
{
    return json_map(a,
        { "kind", json_str("Status") },
        { "apiVersion", json_str("v1") },
        { "metadata", json_empty_map() },
        { "status", json_str("Failure") },
        { "message", json_str_or_absent(s->message) },
        { "reason", json_str_or_absent(s->reason) },
        { "details", s->details },
        { "code", json_int(s->code) });
}

struct json status_success(struct arena *a, struct json details)
{
    return json_map(a,
        { "kind", json_str("Status") },
        { "apiVersion", json_str("v1") },
        { "metadata", json_empty_map() },
        { "status", json_str("Success") },
        { "details", details });
}

const char *status_resource_text(struct arena *a, const char *group, const char *plural)
{
    return *group ? arena_printf(a, "%s.%s", plural, group) : plural;
}

static struct json details(struct arena *a, const char *name, const char *group, const char *kind)
{
    return json_map(a,
        { "name", json_str_or_absent(name) },
        { "group", json_str_or_absent(group) },
        { "kind", json_str_or_absent(kind) });
}

static const char *kind_text(struct arena *a, const struct api_kind *k)
{
    return status_resource_text(a, k->resource.group, k->resource.plural);
}

static struct json kind_details(struct arena *a, const struct api_kind *k, const char *name)
{
    return details(a, name, k->resource.group, k->resource.plural);
}

struct api_status status_bad_request(const char *message)
{
    return (struct api_status){ 400, "BadRequest", message, .details = { 0 } };
}

struct api_status status_internal(struct arena *a, const char *message)
{
    struct json cause = json_map(a, { "message", json_str(message) });
    return (struct api_status){
        500,
        "InternalError",
        arena_printf(a, "Internal error occurred: %s", message),
        .details = json_map(a, { "causes", json_list(a, cause) }),
    };
}

struct api_status status_not_served(void)
{
    return (struct api_status){
        404,
        "NotFound",
        "the server could not find the requested resource",
        .details = json_empty_map(),
    };
}

struct api_status status_not_found(struct arena *a, const struct api_kind *k, const char *name)
{
    return (struct api_status){
        404,
        "NotFound",
        arena_printf(a, "%s \"%s\" not found", kind_text(a, k), name),
        .details = kind_details(a, k, name),
    };
}

struct api_status status_exists(struct arena *a, const struct api_kind *k, const char *name)
{
    return (struct api_status){
        409,
        "AlreadyExists",
        arena_printf(a, "%s \"%s\" already exists", kind_text(a, k), name),
        .details = kind_details(a, k, name),
    };
}

struct api_status status_conflict(
    struct arena *a, const struct api_kind *k, const char *name, const char *why)
{
    return (struct api_status){
        409,
        "Conflict",
        arena_printf(
            a, "Operation cannot be fulfilled on %s \"%s\": %s", kind_text(a, k), name, why),
        .details = kind_details(a, k, name),
    };
}

struct api_status status_forbidden(
    struct arena *a, const struct api_kind *k, const char *name, const char *why)
{
    const char *what = text_empty(name) ? "" : arena_printf(a, " \"%s\"", name);
    return (struct api_status){
        403,
        "Forbidden",
        arena_printf(a, "%s%s is forbidden: %s", kind_text(a, k), what, why),
        .details = kind_details(a, k, name),
    };
}

struct api_status status_invalid(struct arena *a, const char *group, const char *kind,
    const char *name, const struct field_errors *errors)
{
    struct json_builder causes;
    json_builder_init(&causes, a);
    for (size_t i = 0; i < errors->count; i++)
        json_push(&causes,
            json_map(a,
                { "reason", json_str(field_error_reason(errors->items[i].type)) },
                { "message", json_str(errors->items[i].message) },
                { "field", json_str_or_absent(errors->items[i].path) }));
    struct json d = json_with_member(
        a, details(a, name, group, kind), "causes", json_or_absent(json_list_end(&causes)));
    return (struct api_status){
        422,
        "Invalid",
        arena_printf(a,
            "%s \"%s\" is invalid: %s",
            status_resource_text(a, group, kind),
            name,
            field_errors_text(errors)),
        .details = d,
    };
}

struct api_status status_too_large_version(struct arena *a, uint64_t asked, uint64_t current)
{
    struct json cause = json_map(a,
        { "reason", json_str("ResourceVersionTooLarge") },
        { "message", json_str("Too large resource version") });
    return (struct api_status){
        504,
        "Timeout",
        arena_printf(a,
            "Timeout: Too large resource version: %llu, current: %llu",
            (unsigned long long)asked,
            (unsigned long long)current),
        .details =
            json_map(a, { "causes", json_list(a, cause) }, { "retryAfterSeconds", json_int(1) }),
        .retry_after_s = 1,
    };
}

struct api_status status_expired(const char *message)
{
    return (struct api_status){ 410, "Expired", message, .details = { 0 } };
}

struct api_status status_of_error(struct arena *a, const struct error *err)
{
    static const struct {
        enum error_code error;
        int code;
    } codes[] = {
        { ERR_INVALID, 400 },
        { ERR_UNAUTHORIZED, 401 },
        { ERR_FORBIDDEN, 403 },
        { ERR_NOT_FOUND, 404 },
        { ERR_EXISTS, 409 },
        { ERR_UNSUPPORTED, 415 },
        { ERR_TOO_LARGE, 413 },
        { ERR_CONFLICT, 409 },
        { ERR_GONE, 410 },
        { ERR_TIMEOUT, 504 },
        { ERR_BUSY, 429 },
        { ERR_UNAVAILABLE, 503 },
    };
    for (size_t i = 0; i < lengthof(codes); i++)
        if (codes[i].error == err->code)
            return (struct api_status){
                codes[i].code,
                status_reason(codes[i].code),
                arena_strdup(a, err->text),
                .details = { 0 },
            };
    return status_internal(a, arena_strdup(a, err->text));
}
