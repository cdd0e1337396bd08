#pragma once

/* An API server in memory with a clock that the test moves, and requests that are one line each.
 *
 *   struct desk r;
 *   desk_init(&r);
 *   struct desk_answer got = desk_ask(&r, "GET", "/api/v1/namespaces/default/configmaps", NULL);
 *   check_int(got.status, 200);                     … got.body is JSON
 *   struct desk_stream *w = desk_watch(&r, "/api/v1/configmaps?watch=1");
 *   desk_done(&r); */

#include "apiserver/core/server.h"
#include "apiserver/store/store.h"
#include "base/buf.h"
#include "tests/test.h"

struct desk {
    int64_t now_ms;
    uint64_t seed;
    struct timers timers;
    struct env env;
    struct store *store;
    struct apiserver *server;
    struct desk_stream *streams;
    const struct api_user *user; /* who asks from now on; NULL: an administrator */
    const void *connection; /* of what is asked from now on; NULL: each of its own */
};

struct desk_answer {
    int status;
    struct json body; /* absent if it is no JSON */
    const char *text; /* as it came */
    const char *content_type;
    const char *warnings[8]; /* NULL-terminated */
};

/* A request whose answer may come in pieces. */
struct desk_stream {
    struct desk *desk;
    struct api_call *call; /* NULL: ended */
    int status;
    int64_t body_bytes;
    char content_type[100];
    const char *warnings[8];
    size_t warning_count;
    struct buf text;
    size_t read;  /* lines of it that the test has seen */
    bool blocked; /* takes one piece, then no more */
    size_t pieces;
    struct desk_stream *next;
};

void desk_init(struct desk *r);
/* With other options; env, store and kinds are filled in. */
void desk_init_with(struct desk *r, struct apiserver_options options, struct store_options store);
/* The same with the kinds of Kubernetes. */
void desk_init_builtin(struct desk *r, struct apiserver_options options);
void desk_init_store(struct desk *r, struct apiserver_options options, struct store_options store);
void desk_done(struct desk *r);
/* Flushes until nothing is left to do. */
void desk_settle(struct desk *r);
/* Lets time pass, timer by timer. */
void desk_advance(struct desk *r, int64_t ms);

/* Body: JSON with single quotes allowed; NULL: none. */
struct desk_answer desk_ask(
    struct desk *r, const char *method, const char *target, const char *body);
/* "application/merge-patch+json", … */
struct desk_answer desk_ask_as(struct desk *r, const char *method, const char *target,
    const char *content_type, const char *accept, const char *body);
/* It went well; the body. */
struct json desk_do(struct desk *r, const char *method, const char *target, const char *body);

struct desk_stream *desk_open(struct desk *r, const char *method, const char *target,
    const char *content_type, const char *accept, struct str body);
struct desk_stream *desk_watch(struct desk *r, const char *target);
/* The next event as "ADDED name"; "" if there is none, "end" after the last of an ended stream.
 * ret_object may be NULL. */
const char *desk_event(struct desk_stream *w, struct json *ret_object);
void desk_cancel(struct desk_stream *w);

/* Replaces ' by ". */
struct str desk_quotes(const char *text);
/* ConfigMaps, Secrets, Namespaces, a Deployment-like kind, a custom kind: enough for tests of what
 * all kinds have in common. */
bool desk_kinds(struct registry *r);
