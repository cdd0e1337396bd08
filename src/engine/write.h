#pragma once

/* What the write_*.c files share. A struct write is one object that a run changes. */

#include "engine/internal.h"

/* A refused child is retried after this time. */
#define WRITE_HELD_MS ((int64_t)5 * 60 * 1000)

struct engine *write_engine(const struct write *w);
struct write *write_new(struct run *run, struct cache_resource *r, const char *name);
/* The write of this object that is in flight; NULL if there is none. */
struct write *write_under_way(const struct cache_resource *r, const char *ns, const char *name);
struct kube_target write_target(const struct write *w);
uint64_t write_hash(struct write *w); /* of its body */
/* A request for the object is in flight, until write_end(). */
void write_begin(struct write *w, struct kube_op *op);
/* The preconditions of a change: this uid and this version. */
struct json write_with_preconditions(struct write *w, const char *uid, uint64_t version);
/* Checks leadership immediately before sending; without it the run stops. */
bool write_allowed(struct run *run);
void write_sent(struct write *w, struct kube_op *op);
/* Reads the current object; then the run ends and plans again. */
void write_look(struct write *w);
/* The write was refused: remembered for WRITE_HELD_MS, and planned again with the refusal in the
 * view. */
void write_hold(
    struct write *w, struct memo *m, const struct kube_reply *reply, uint64_t plan_hash);
/* The usual completion of a request that changes something. */
void write_answered(void *ctx, const struct kube_reply *reply);
/* The done and known callbacks of a kube_then for w. */
#define WRITE_THEN(done_, w_)                                                                      \
    (struct kube_then)                                                                             \
    {                                                                                              \
        .done = (done_), .ctx = (w_), .known = write_known                                         \
    }
bool write_known(void *ctx, const struct stream_identity *id);
uint64_t write_version(const struct write *w, const struct kube_reply *reply); /* of the answer */
/* Only the object itself can be reported as missing. */
bool write_is_gone(const struct write *w, const struct kube_reply *reply);
/* The write is finished: the run continues, and so do the runs that waited for the same object. */
void write_end(struct write *w);
void write_say(const struct write *w, const char *what);

/* write_manager.c */
/* Takes over the fields of a predecessor, then the run starts again. */
void write_adopt(struct write *w);
/* Finds out which manager keeps changing the child, and leaves the child to it for a while. */
void write_contest(struct write *w);
