#pragma once

/* A request on its way through the server, and how the parts of the server answer it.
 *
 * A handler runs inside apiserver_open(), works in the call's arena and leaves an answer: a JSON
 * value, a stored object (whose text is sent as it is), or a stream (a list, a watch). What it
 * leaves goes out with the next flush. A handler that fails says call_fail() and returns. */

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

    /* the request; gone after apiserver_open() */
    const struct api_request *request;
    struct call_param *params;
    size_t param_count;
    const struct api_kind *kind; /* NULL: not about a resource */
    const char *ns;              /* "" for all namespaces and cluster-scoped kinds */
    const char *name;            /* NULL: the collection */
    const char *subresource;     /* "" : the object itself */
    bool watch_path;             /* …/watch/…, the old form */
    struct accept accept;        /* the form of the answer */
    enum accept_media refusal;   /* … and of one that refuses it */
    enum table_include include;
    bool pretty; /* JSON is laid out for people */
    bool dry_run;
    bool applies; /* what is sent is an apply's configuration */
    enum field_validation validation;
    const char *manager; /* field manager */
    struct json given;   /* the object that was sent, or patched, before it was decoded */
    struct json twice;   /* a line about each key that is there twice in a body of YAML */

    /* the answer */
    int status;
    const char *content_type;
    const char *etag;
    int64_t retry_after_s;
    const char **warnings;
    size_t warning_count;
    struct str parts[3];       /* the body, in pieces; of the arena, or of held */
    bool head_only;            /* it is only asked whether the head is refused */
    struct document *document; /* held; NULL: parts are not of one */
    const struct store_object *held;
    struct list_stream *list;
    struct watch_stream *watch;
    struct log_stream *log;
    const struct pod_session_request *session; /* what the host goes on with, after a 101 */

    /* on its way out */
    bool answered, head_sent, paused, busy, cancelled, ended;
    uint8_t next_part;
    bool queued;
    struct api_call *next_ready;
    struct api_call *next, **link; /* of all */
};

/* More are not sent. */
#define CALL_WARNINGS_MAX 64

/* ---- answers ---- */

/* All return false, so that failing is one line. */
bool call_fail(struct api_call *c, struct api_status status);
bool call_fail_bad(struct api_call *c, const char *format, ...) printf_like(2, 3);
void call_fail_json(struct api_call *c, int status, struct json body);
/* A value that has no other form than its own: a Status, for one. */
void call_json(struct api_call *c, int status, struct json body);
void call_text(struct api_call *c, int status, const char *content_type, struct str text);
/* Whether the object (NULL: a new one) can be read, or written, in the version that was asked for.
 * False: only a webhook could convert it, and none is called; answered. */
bool call_check_version(struct api_call *c, const struct store_object *o, bool written) must_check;
/* An object as it is stored, in the version and form that was asked for. */
void call_object(struct api_call *c, int status, const struct store_object *o);
/* An object that is not stored (a dry run), in the version of the request and the form asked for.
 */
void call_value(struct api_call *c, int status, struct json object);
/* In which form the client wants the answer. False: answered, 406. */
bool call_negotiate(struct api_call *c, enum accept_target target) must_check;
/* Whether what came out can be shown in that form, as seen when all is done. False: answered. */
bool call_check_form(struct api_call *c, bool list) must_check;
/* What another part of the server made. */
void call_answer(struct api_call *c, const struct api_answer *answer);
/* The same of an object of the call's kind, which is shown in the form that was asked for. */
void call_answer_object(struct api_call *c, const struct api_answer *answer);
/* A Warning header; the text is quoted here. The same one twice is sent once. */
void call_warn(struct api_call *c, const char *text);
/* Takes back all but the first count. */
void call_unwarn(struct api_call *c, size_t count);

/* ---- the query ---- */

/* NULL: not there. The first of several. */
const char *call_param(const struct api_call *c, const char *key);
bool call_param_bool(const struct api_call *c, const char *key);
