#pragma once

/* A complete response in memory, for the parts of the server that do not stream. */

#include "apiserver/rules/field_errors.h"
#include "base/str.h"

struct document;

struct api_answer {
    int status;
    const char *content_type;
    struct str body;           /* valid until the next request */
    const char *etag;          /* NULL: none */
    const char *location;      /* for a redirect; NULL: none */
    struct document *document; /* contains body; held by the call that sends it; NULL: none */
};

/* A shared document stays in memory while it is held. document_release() accepts NULL. */
struct document *document_hold(struct document *doc);
void document_release(struct document *doc);

/* A Status: code, reason ("Forbidden") and message; details absent: none. */
void answer_status(struct arena *a, struct api_answer *ret, int code, const char *reason,
    const char *message, struct json details);
void answer_json(struct arena *a, struct api_answer *ret, int code, struct json body);
/* text/plain; charset=utf-8, for health checks. */
void answer_text(struct api_answer *ret, int code, const char *text);
/* 422: an invalid object by group, kind and name, each of which may be "". */
void answer_invalid(struct arena *a, struct api_answer *ret, const char *group, const char *kind,
    const char *name, const struct field_errors *errors);
