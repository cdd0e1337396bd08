#pragma once

/* A world for the Kubernetes client: a clock that the test moves, and a wire whose far end the test
 * holds. Requests lie open until the test answers, cuts or ignores them; the wire keeps the
 * contract of kube/transport.h, its time limits included. */

#include "base/timer.h"
#include "kube/transport.h"
#include "tests/test.h"

struct world_call {
    struct world *world;
    struct world_call *next;
    char *method, *path, *body, *content_type;
    int64_t timeout_ms, idle_ms;
    int64_t opened_at_ms, heard_at_ms;
    const struct kube_handlers *handlers;
    void *ctx;
    bool seen; /* for the test's own use */
};

struct world {
    int64_t now_ms;
    uint64_t seed;
    struct timers timers;
    struct env env;
    struct kube_transport transport;
    struct world_call *calls; /* open, oldest first */
    unsigned opened;          /* ever */
};

void world_init(struct world *w);
/* Asserts that nothing was left open. */
void world_done(struct world *w);
/* Lets time pass, timer by timer, time limits of calls among them. */
void world_advance(struct world *w, int64_t ms);
/* Time passes, but this process does not run (SIGSTOP). */
void world_stop(struct world *w, int64_t ms);

/* The only open call; fails the test if there is none or several. */
struct world_call *world_only(struct world *w);
/* The oldest open call whose path or body contains this; NULL. */
struct world_call *world_find(struct world *w, const char *part);
size_t world_open_calls(const struct world *w);

/* JSON text with single quotes allowed, as in check_json(). The call is gone after the first, the
 * fourth and the fifth. */
void world_answer(struct world_call *c, int status, const char *json);
void world_head(struct world_call *c, int status);
void world_data(struct world_call *c, const char *json);
void world_end(struct world_call *c);
void world_break(struct world_call *c, enum error_code code, bool sent);
/* All of it by hand. */
void world_head_of(struct world_call *c, const struct kube_head *head);
void world_bytes(struct world_call *c, struct str bytes);
