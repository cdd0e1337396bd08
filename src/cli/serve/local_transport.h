#pragma once

/* A transport to an API server in the same process: direct calls, as an administrator, without
 * socket, TLS and HTTP. Requests are passed on at the end of the turn, and answered at the server's
 * next flush.
 *
 * No request can hang here, so time limits are ignored. */

#include "base/timer.h"
#include "kube/transport.h"

struct apiserver;
struct local_transport;

/* user is the name in managedFields and logs: "leeboard". All three arguments must outlive it. The
 * owner of the server flushes it when requested (apiserver_set_wake). */
struct local_transport *local_transport_new(
    struct apiserver *server, const struct env *env, const char *user) must_check;
/* Cancels all requests; no handler is called any more. NULL is allowed. */
void local_transport_free(struct local_transport *t);
const struct kube_transport *local_transport_kube(struct local_transport *t);
