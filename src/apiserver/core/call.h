#pragma once

/* A request in progress, and the functions that answer it.
 *
 * A handler runs inside apiserver_open(), uses the call's arena and sets an answer: a JSON value, a
 * stored object (whose text is sent unchanged), or a stream (a list, a watch). The answer is sent
 * with the next flush. A handler that fails calls call_fail() and returns. */

#include "apiserver/core/accept.h"
#include "apiserver/core/server.h"
#include "apiserver/core/status.h"
#include "apiserver/core/table.h"
#include "apiserver/store/store.h"

struct list_stream;
struct log_stream;
struct pod_session_request;
struct watch_stream;

struct call_param {
    const char *key, *value; /* decoded */
};

enum field_validation { VALIDATION_IGNORE, VALIDATION_WARN, VALIDATION_STRICT };

struct api_call {
    struct apiserver *server;
    struct api_handlers handlers;
    void *ctx;
    struct arena arena;
    struct budget budget;

    /* the request; invalid after apiserver_open() */
    const struct api_request *request;
    struct call_param *params;
    size_t param_count;
    const struct api_kind *kind; /* NULL: not for a resource */
    const char *ns;              /* "" for all namespaces and cluster-scoped kinds */
    const char *name;            /* NULL: the collection */
    const char *subresource;     /* "": the object itself */
    bool watch_path;             /* …/watch/…, the old form */
    struct accept accept;        /* the form of the response */
    enum accept_media refusal;   /* … and of an error response */
    enum table_include include;
    bool pretty; /* JSON is indented */
    bool dry_run;
    bool applies; /* the body is an apply configuration */
    enum field_validation validation;
    const char *manager; /* field manager */
    struct json given;   /* the object from the body, or after the patch, before decoding */
    struct json twice;   /* a line for each duplicate key in a YAML body */

    /* the response */
    int status;
    const char *content_type;
    const char *etag;
    int64_t retry_after_s;
    const char **warnings;
    size_t warning_count;
    struct str parts[3];       /* the body, in parts; in the arena, or in held */
    bool head_only;            /* only checks whether the head is refused */
    struct document *document; /* held; NULL: parts do not belong to one */
    const struct store_object *held;
    struct list_stream *list;
    struct watch_stream *watch;
    struct log_stream *log;
    const struct pod_session_request *session; /* what the host does after a 101 */

    /* sending */
    bool answered, head_sent, paused, busy, cancelled, ended;
    uint8_t next_part;
    bool queued;
    struct api_call *next_ready;
    struct api_call *next, **link; /* in the list of all calls */
};

/* Further warnings are not sent. */
#define CALL_WARNINGS_MAX 64

/* ---- answers ---- */

/* All return false, so that failing takes one line. */
bool call_fail(struct api_call *c, struct api_status status);
bool call_fail_bad(struct api_call *c, const char *format, ...) printf_like(2, 3);
void call_fail_json(struct api_call *c, int status, struct json body);
/* A value that has only one form, such as a Status. */
void call_json(struct api_call *c, int status, struct json body);
void call_text(struct api_call *c, int status, const char *content_type, struct str text);
/* Whether the object (NULL: a new one) can be read or written in the requested version. False: only
 * a webhook could convert it, and webhooks are not called; answered. */
bool call_check_version(struct api_call *c, const struct store_object *o, bool written) must_check;
/* A stored object, in the requested version and form. */
void call_object(struct api_call *c, int status, const struct store_object *o);
/* An object that is not stored (a dry run), in the version of the request and the requested
 * form. */
void call_value(struct api_call *c, int status, struct json object);
/* Chooses the form of the response. False: answered with 406. */
bool call_negotiate(struct api_call *c, enum accept_target target) must_check;
/* Whether the result can be shown in that form; checked when the request is done. False:
 * answered. */
bool call_check_form(struct api_call *c, bool list) must_check;
/* An answer from another part of the server. */
void call_answer(struct api_call *c, const struct api_answer *answer);
/* The same for an object of the call's kind, which is shown in the requested form. */
void call_answer_object(struct api_call *c, const struct api_answer *answer);
/* Adds a Warning header; the text is quoted here. Duplicates are sent once. */
void call_warn(struct api_call *c, const char *text);
/* Drops all but the first count warnings. */
void call_unwarn(struct api_call *c, size_t count);

/* ---- the query ---- */

/* NULL: absent. The first one if there are several. */
const char *call_param(const struct api_call *c, const char *key);
bool call_param_bool(const struct api_call *c, const char *key);
