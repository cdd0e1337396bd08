#pragma once

/* One action of a probe or a lifecycle hook, run once with a time limit: an HTTP request, a
 * grpc.health.v1 check, a TCP connection, a command in the container, or a sleep. */

#include "base/json.h"
#include "node/runtime.h"

struct action;
struct http_client;
struct loop;
struct tls_context;

struct action_place {
    struct loop *loop;
    struct http_client *http;
    struct tls_context *tls; /* accepts any certificate, as the kubelet does */
    const struct node_runtime *runtime;
    struct runtime_task *task; /* the container's task; for commands */
    const char *address;       /* of the pod */
    struct json container;     /* to resolve port names */
    /* For commands: */
    const char *directory; /* each command makes its own directory in it */
    const char *const *envp;
    const char *cwd;
    const char *const *cgroup;
    const struct runtime_user *user;
    bool no_new_privs;
    const char *(*translate)(void *ctx, struct arena *a, const char *word); /* NULL: none */
    void *translate_ctx;
};

/* done() is called once, never from inside action_start(), and not at all after a cancel. All
 * arguments are copied except task, http, tls and runtime, which must outlive the action. */
struct action *action_start(const struct action_place *place, struct json handler,
    int64_t timeout_ms, void (*done)(void *ctx, bool ok, const char *message),
    void *ctx) must_check;
void action_cancel(struct action *a);
/* Whether this node supports the handler. */
bool action_known(struct json handler);
