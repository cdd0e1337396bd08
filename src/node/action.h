#pragma once

/* One thing that a probe or a lifecycle hook does, once, with a time limit: an HTTP request, a
 * question for grpc.health.v1, a TCP connection, a command in the container, a sleep. */

#include "base/json.h"
#include "node/runtime.h"

struct action;
struct http_client;
struct loop;
struct tls_context;

struct action_place {
    struct loop *loop;
    struct http_client *http;
    struct tls_context *tls; /* takes any certificate, as the kubelet does */
    const struct node_runtime *runtime;
    struct runtime_task *task; /* the container's; for commands */
    const char *address;       /* of the pod */
    struct json container;     /* for names of ports */
    /* For commands: */
    const char *directory; /* to make a directory of its own in */
    const char *const *envp;
    const char *cwd;
    const char *const *cgroup;
    const struct runtime_user *user;
    bool no_new_privs;
    const char *(*translate)(void *ctx, struct arena *a, const char *word); /* NULL: none */
    void *translate_ctx;
};

/* done() is called once, never from inside, unless cancelled. Everything is copied, but task, http,
 * tls and runtime stay. */
struct action *action_start(const struct action_place *place, struct json handler,
    int64_t timeout_ms, void (*done)(void *ctx, bool ok, const char *message),
    void *ctx) must_check;
void action_cancel(struct action *a);
/* Whether this node can do it. */
bool action_known(struct json handler);
