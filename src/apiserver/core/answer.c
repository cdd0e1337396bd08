#include "apiserver/core/answer.h"

#include "apiserver/core/status.h"

#include "base/arena.h"

void answer_json(struct arena *a, struct api_answer *ret, int code, struct json body)
{
    *ret = (struct api_answer){
        .status = code,
        .content_type = "application/json",
        .body = str_of(json_to_text(a, body)),
    };
}

void answer_status(struct arena *a, struct api_answer *ret, int code, const char *reason,
    const char *message, struct json details)
{
    answer_json(a,
        ret,
        code,
        json_map(a,
            { "kind", json_str("Status") },
            { "apiVersion", json_str("v1") },
            { "metadata", json_empty_map() },
            { "status", json_str("Failure") },
            { "message", json_str(message) },
            { "reason", json_str_or_absent(reason) },
            { "details", details },
            { "code", json_int(code) }));
}

void answer_text(struct api_answer *ret, int code, const char *text)
{
    *ret = (struct api_answer){
        .status = code,
        .content_type = "text/plain; charset=utf-8",
        .body = str_of(text),
    };
}

void answer_invalid(struct arena *a, struct api_answer *ret, const char *group, const char *kind,
    const char *name, const struct field_errors *errors)
{
    struct api_status s = status_invalid(a, group, kind, name, errors);
    answer_status(a, ret, s.code, s.reason, s.message, s.details);
}
