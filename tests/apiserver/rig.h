#pragma once

/* An API server in memory with a clock that the test moves, and requests that are one line each.
 *
 *   struct rig r;
 *   rig_init(&r);
 *   struct rig_answer got = rig_ask(&r, "GET", "/api/v1/namespaces/default/configmaps", NULL);
 *   check_int(got.status, 200);                     … got.body is JSON
 *   struct rig_stream *w = rig_watch(&r, "/api/v1/configmaps?watch=1");
 *   rig_done(&r); */

#include "apiserver/server.h"
#include "apiserver/store.h"
#include "base/buf.h"
#include "tests/test.h"

struct rig {
    int64_t now_ms;
    uint64_t seed;
    struct timers timers;
    struct env env;
    struct store *store;
    struct apiserver *server;
    struct rig_stream *streams;
};

struct rig_answer {
    int status;
    struct json body;        /* absent if it is no JSON */
    const char *text;        /* as it came */
    const char *content_type;
    const char *warnings[8]; /* NULL-terminated */
};

/* A request whose answer may come in pieces. */
struct rig_stream {
    struct rig *rig;
    struct api_call *call; /* NULL: ended */
    int status;
    int64_t body_bytes;
    char content_type[100];
    const char *warnings[8];
    size_t warning_count;
    struct buf text;
    size_t read;   /* lines of it that the test has seen */
    bool blocked;  /* takes one piece, then no more */
    size_t pieces;
    struct rig_stream *next;
};

void rig_init(struct rig *r);
/* With other options; env, store and kinds are filled in. */
void rig_init_with(struct rig *r, struct apiserver_options options, struct store_options store);
void rig_done(struct rig *r);
/* Flushes until nothing is left to do. */
void rig_settle(struct rig *r);
/* Lets time pass, timer by timer. */
void rig_advance(struct rig *r, int64_t ms);

/* Body: JSON with single quotes allowed; NULL: none. */
struct rig_answer rig_ask(struct rig *r, const char *method, const char *target, const char *body);
/* "application/merge-patch+json", … */
struct rig_answer rig_ask_as(struct rig *r, const char *method, const char *target,
    const char *content_type, const char *accept, const char *body);
/* It went well; the body. */
struct json rig_do(struct rig *r, const char *method, const char *target, const char *body);

struct rig_stream *rig_open(struct rig *r, const char *method, const char *target,
    const char *content_type, const char *accept, struct str body);
struct rig_stream *rig_watch(struct rig *r, const char *target);
/* The next event as "ADDED name"; "" if there is none, "end" after the last of an ended stream.
 * ret_object may be NULL. */
const char *rig_event(struct rig_stream *w, struct json *ret_object);
void rig_cancel(struct rig_stream *w);

/* Replaces ' by ". */
struct str rig_quotes(const char *text);
/* ConfigMaps, Secrets, Namespaces, a Deployment-like kind, a custom kind: enough for tests of what
 * all kinds have in common. */
bool rig_kinds(struct registry *r);
