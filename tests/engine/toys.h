#pragma once

/* Toys for tests of the engine: two small kinds, an engine that runs one of them, and a server that
 * the test plays, request by request. */

#include "base/resource.h"
#include "engine/engine.h"
#include "engine/kind.h"
#include "kube/client.h"
#include "tests/kube/world.h"

extern const struct resource TOYS_WIDGET, TOYS_GADGET;
/* A widget makes a gadget in the cluster's scope. The usual one makes a ConfigMap of its own and a
 * claim that all share. */
extern const struct kind toys_gadget_kind;

/* Of a widget's status, in OpenAPI. */
#define TOYS_ALL_FIELDS "'color': {'type': 'string'}, 'trouble': {'type': 'string'}"

struct toys {
    struct world w;
    struct kube_client *client;
    struct schemas *schemas;
    const struct kind *kinds[2];
    struct engine_family family;
    struct engine *engine;
    int version;      /* of the last object that the server stored */
    const char *spec; /* of the widget whose status it stores */
    bool follows;     /* the engine leads no more */
};

void toys_init(struct toys *b);
void toys_init_with(struct toys *b, const struct kind *kind);
void toys_done(struct toys *b);

/* The open request of this method whose path has this part; fails the test without one. */
struct world_call *toys_request(struct toys *b, const char *method, const char *part);
/* How many there are. */
size_t toys_requests(struct toys *b, const char *method, const char *part);
/* The same as toys_request(), once it is sent, within so many seconds. */
struct world_call *toys_await(struct toys *b, const char *method, const char *part, int seconds);
/* What was sent with it. */
struct json toys_body(const struct world_call *c);

/* Objects with all that the server adds. */
struct json toys_object(struct toys *b, const struct resource *r, const char *name);
struct json toys_widget(struct toys *b, const char *name, const char *spec);
struct json toys_crd(int generation);
/* The ConfigMap as somebody else left it: our color is not ours any more. */
struct json toys_taken(struct toys *b);

/* Ends the list of a resource with these objects; its watch goes on. */
struct world_call *toys_load(
    struct toys *b, const struct resource *r, const struct json *objects, size_t count);
void toys_event(struct world_call *watch, const char *type, struct json object);
/* What the server makes of an apply. */
struct json toys_store(
    struct toys *b, const struct world_call *c, const struct resource *r, bool status);
/* As if applied: what was sent, with the identity and the field set that a server adds. */
void toys_accept(struct toys *b, struct world_call *c, const struct resource *r, bool status);
/* A widget with its ConfigMap and a status; returns the watch of ConfigMaps. */
struct world_call *toys_settle(struct toys *b);
void toys_answer_openapi(struct toys *b, const char *status_fields);
void toys_answer_gadget_schema(struct toys *b);

/* Texts of answers. */
const char *toys_print(struct json v);
const char *toys_status_text(int code, const char *reason);
/* What the server says of an object that it does not have. */
const char *toys_gone_text(const char *name);
