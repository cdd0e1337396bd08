#pragma once

/* Leader election with a coordination.k8s.io/v1 Lease: at most one of the processes with the same
 * lease name writes.
 *
 *   standing by ── free or expired: compare-and-swap ──> leading ── deadline, or another ──> lost
 *        └────────────── every retry_ms ──┘                └── lease_release ──> released
 *
 * Other processes consider our lease expired when they have not seen it change for duration_ms, by
 * their own clock. We stop renew_deadline_ms after *sending* the last acknowledged renewal. This is
 * before any other process may take over, however long the response took. The clock must be read on
 * every call and must include suspended time (CLOCK_BOOTTIME), so that a process that was stopped
 * (SIGSTOP, a sleeping machine) until its lease expired notices this at its next check. This is not
 * fencing: check lease_may_write() immediately before each write.
 *
 * Lost and released are final states: free the lease, and create a new one to run for election
 * again. */

#include "base/error.h"

struct env;
struct kube_client;
struct lease;

#define LEASE_NAME_DEFAULT "882d6afe.llmkube.dev"

struct lease_options {
    const char *ns;
    const char *name;          /* NULL: LEASE_NAME_DEFAULT */
    const char *identity;      /* unique for this process, e.g. host name and a random part */
    int64_t duration_ms;       /* 0: 15 s; whole seconds */
    int64_t renew_deadline_ms; /* 0: 10 s; below duration_ms */
    int64_t retry_ms;          /* 0: 2 s; extended at random by up to a fifth */
};

enum lease_state { LEASE_STANDBY, LEASE_LEADING, LEASE_LOST, LEASE_RELEASED };

/* The lease may be freed only inside lost() and released(). */
struct lease_handlers {
    void (*gained)(void *ctx);
    void (*lost)(void *ctx, const struct error *why);
    /* The current holder, each time it changes; "" if the lease is free. */
    void (*holder)(void *ctx, const char *holder);
    /* A failed attempt; the next one follows automatically. */
    void (*trouble)(void *ctx, const struct error *err);
    void (*released)(void *ctx);
};

struct lease *lease_new(struct kube_client *client, const struct env *env,
    const struct lease_options *options, const struct lease_handlers *handlers, void *ctx);
void lease_free(struct lease *l); /* without releasing it */
void lease_start(struct lease *l);
/* Releases the lease, so that other processes need not wait. Call it when no write is in flight any
 * more. released() is called after renew_deadline_ms at the latest, even if the server does not
 * respond, and soon (but not inside the call) if we do not lead. From now on we may not write. */
void lease_release(struct lease *l);

bool lease_may_write(const struct lease *l);
/* The time for which writes are allowed if no further renewal is acknowledged; 0: not allowed. */
int64_t lease_left_ms(const struct lease *l);
enum lease_state lease_state(const struct lease *l);
/* The number of transitions so far: an epoch of our leadership. */
int64_t lease_transitions(const struct lease *l);
