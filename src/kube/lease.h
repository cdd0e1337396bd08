#pragma once

/* Leadership by a coordination.k8s.io/v1 Lease: of all processes with one lease name, at most one
 * writes.
 *
 *   standing by ── free or expired: compare-and-swap ──> leading ── deadline, or another ──> lost
 *        └────────────── every retry_ms ──┘                └── lease_release ──> released
 *
 * Others judge our lease by their own clock since they last saw it change, for duration_ms. We stop
 * renew_deadline_ms after *sending* the last renewal that was acknowledged, which is earlier than
 * anybody may take over, however long the answer took. The clock must be read fresh on every call
 * and count suspended time (CLOCK_BOOTTIME), so that a process that was stopped (SIGSTOP, a
 * sleeping machine) past its lease knows it by the time it looks. This is not fencing: ask
 * lease_may_write() immediately before each request that changes something.
 *
 * Lost and released are final: free it, and make a new one to stand again. */

#include "base/error.h"

struct env;
struct kube_client;
struct lease;

#define LEASE_NAME_DEFAULT "882d6afe.llmkube.dev"

struct lease_options {
    const char *ns;
    const char *name;          /* NULL: LEASE_NAME_DEFAULT */
    const char *identity;      /* of this process: unique, e.g. host name and a random part */
    int64_t duration_ms;       /* 0: 15 s; whole seconds */
    int64_t renew_deadline_ms; /* 0: 10 s; below duration_ms */
    int64_t retry_ms;          /* 0: 2 s; drawn out by up to a fifth at random */
};

enum lease_state { LEASE_STANDBY, LEASE_LEADING, LEASE_LOST, LEASE_RELEASED };

/* The lease may be freed inside lost() and released() only. */
struct lease_handlers {
    void (*gained)(void *ctx);
    void (*lost)(void *ctx, const struct error *why);
    /* Whom we wait for, whenever that changes; "" when free. */
    void (*holder)(void *ctx, const char *holder);
    /* A try that failed; the next one comes by itself. */
    void (*trouble)(void *ctx, const struct error *err);
    void (*released)(void *ctx);
};

struct lease *lease_new(struct kube_client *client, const struct env *env,
    const struct lease_options *options, const struct lease_handlers *handlers, void *ctx);
void lease_free(struct lease *l); /* without releasing it */
void lease_start(struct lease *l);
/* Gives it up, so that others need not wait; call it when no write is in flight any more.
 * released() comes at the latest after renew_deadline_ms, also when the server does not answer, and
 * at once (but not inside the call) when we do not lead. May not write from now on. */
void lease_release(struct lease *l);

bool lease_may_write(const struct lease *l);
/* For how long it may still write, if no renewal is acknowledged any more; 0: not at all. */
int64_t lease_left_ms(const struct lease *l);
enum lease_state lease_state(const struct lease *l);
/* How often the lease changed hands until now: an epoch of our leadership. */
int64_t lease_transitions(const struct lease *l);
