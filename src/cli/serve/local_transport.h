#pragma once

/* The way to an API server in the same process: a call of the library, as an administrator. No
 * socket, no TLS, no HTTP; what is asked for is handed in at the end of the turn, and answered with
 * the server's next flush.
 *
 * Nothing on this way can hang, so the time limits of requests are not watched. */

#include "base/timer.h"
#include "kube/transport.h"

struct apiserver;
struct local_transport;

/* user names itself in managedFields and logs: "leeboard". All three outlive it. Whoever hosts the
 * server flushes it when it asks for that (apiserver_set_wake). */
struct local_transport *local_transport_new(
    struct apiserver *server, const struct env *env, const char *user) must_check;
/* Cancels what is under way; no handler runs any more. NULL is fine. */
void local_transport_free(struct local_transport *t);
const struct kube_transport *local_transport_kube(struct local_transport *t);
