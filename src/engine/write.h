#pragma once

/* What the files share that write: one struct write is one object that a run changes. */

#include "engine/internal.h"

/* A refused child is tried again after this. */
#define WRITE_HELD_MS ((int64_t)5 * 60 * 1000)

struct engine *write_engine(const struct write *w);
struct write *write_new(struct run *run, struct cache_resource *r, const char *name);
/* The write of this object that is in flight; NULL if there is none. */
struct write *write_under_way(const struct cache_resource *r, const char *ns, const char *name);
struct kube_target write_target(const struct write *w);
uint64_t write_hash(struct write *w); /* of its body */
/* A request about it is under way, until write_end(). */
void write_begin(struct write *w, struct kube_op *op);
/* Preconditions of a change: this very object, in this very version. */
struct json write_with_preconditions(struct write *w, const char *uid, uint64_t version);
/* Leadership, asked at the last moment; without it the run stops. */
bool write_allowed(struct run *run);
void write_sent(struct write *w, struct kube_op *op);
/* Sees what is there; the run ends and decides again. */
void write_look(struct write *w);
/* It was refused: remembered for WRITE_HELD_MS, and planned again with it in the view. */
void write_hold(
    struct write *w, struct memo *m, const struct kube_reply *reply, uint64_t plan_hash);
/* The usual end of a request that changes something. */
void write_answered(void *ctx, const struct kube_reply *reply);
/* What done and known of a kube_then are for w. */
#define WRITE_THEN(done_, w_)                                                                      \
    (struct kube_then)                                                                             \
    {                                                                                              \
        .done = (done_), .ctx = (w_), .known = write_known                                         \
    }
bool write_known(void *ctx, const struct stream_identity *id);
uint64_t write_version(const struct write *w, const struct kube_reply *reply); /* of the answer */
/* Nobody else than the object itself is told to be missing. */
bool write_is_gone(const struct write *w, const struct kube_reply *reply);
/* Nothing more comes of it: the run goes on, as do those who waited for the same object. */
void write_end(struct write *w);
void write_say(const struct write *w, const char *what);

/* write_manager.c */
/* Takes the fields of a predecessor over, then the run starts again. */
void write_adopt(struct write *w);
/* Finds out who keeps changing the child, and leaves it to them for a while. */
void write_contest(struct write *w);
