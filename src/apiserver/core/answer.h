#pragma once

/* A whole answer, made in memory: of the parts of the server that stream nothing. */

#include "apiserver/rules/field_errors.h"
#include "base/str.h"

struct document;

struct api_answer {
    int status;
    const char *content_type;
    struct str body;           /* valid until the next request */
    const char *etag;          /* NULL: none */
    const char *location;      /* of a redirect; NULL: none */
    struct document *document; /* whose text body is, held by the call that sends it; NULL: none */
};

/* The text of a document that is equal for everybody stays as long as somebody holds it. NULL is
 * taken by the second. */
struct document *document_hold(struct document *doc);
void document_release(struct document *doc);

/* A Status: code, reason ("Forbidden") and message; details absent: none. */
void answer_status(struct arena *a, struct api_answer *ret, int code, const char *reason,
    const char *message, struct json details);
void answer_json(struct arena *a, struct api_answer *ret, int code, struct json body);
/* text/plain; charset=utf-8, as health checks answer. */
void answer_text(struct api_answer *ret, int code, const char *text);
/* 422: what is invalid by group, kind and name, each of which may be "". */
void answer_invalid(struct arena *a, struct api_answer *ret, const char *group, const char *kind,
    const char *name, const struct field_errors *errors);
