#pragma once

/* The built-in API server in memory on a real loop, and a transport that calls it: for what needs a
 * loop, sockets and processes on one side and an API on the other.
 *
 *   cleanup(harbor_close) struct harbor h;
 *   harbor_open(&h);
 *   harbor_do(&h, "POST", "/api/v1/namespaces/default/pods", "{'metadata': …}");
 *   await(&h, …); */

#include "kube/transport.h"
#include "tests/http/rig.h"

struct apiserver;
struct store;

struct harbor {
    struct loop *loop;
    struct store *store;
    struct apiserver *server;
    struct kube_transport transport;
    struct timer flush;
    const char *dir; /* of its own, removed in the end */
};

void harbor_open(struct harbor *h);
void harbor_close(struct harbor *h);
/* Turns until it is answered. Body: JSON with single quotes allowed, or NULL. Status: of the
 * answer; harbor_do() insists on a good one. */
struct json harbor_ask(
    struct harbor *h, const char *method, const char *path, const char *body, int *ret_status);
struct json harbor_do(struct harbor *h, const char *method, const char *path, const char *body);
