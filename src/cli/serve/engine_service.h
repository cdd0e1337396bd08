#pragma once

/* The engine with everything that it uses: client, events, effects, schemas. */

#include "base/json.h"
#include "cli/families.h"

struct engine;
struct event_recorder;
struct fetch;
struct http_client;
struct kube_client;
struct kube_transport;
struct loop;
struct schemas;

struct engine_service_options {
    struct loop *loop;
    const struct kube_transport *transport;
    const struct families *families;
    const char *instance; /* the reporting instance of events: the pod or the machine */
    const char *ns;       /* only this one; NULL: all */
    bool own_crds;        /* the installed CRDs are this program's */
    struct json self;     /* our pod; absent: none */
    bool (*may_write)(void *ctx);
    void *ctx;
};

struct engine_service {
    struct kube_client *client;
    struct event_recorder *events;
    struct http_client *http;
    struct fetch *fetch;
    struct schemas *schemas;
    struct engine *engine;
};

/* Everything that options points to must outlive it. Does not start the engine. */
void engine_service_init(struct engine_service *s, const struct engine_service_options *options);
/* Accepts a zeroed struct. */
void engine_service_done(struct engine_service *s);
/* POD_NAME, or else the machine's name. */
const char *engine_service_instance(struct arena *a);
