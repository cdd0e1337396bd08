#pragma once

/* What a kind sees: its object, the children it owns, the objects it asks for by name, facts that
 * effects brought, and the time. Same view, same plan, byte for byte.
 *
 * Asking is what registers a dependency: whatever view_get(), view_list(), view_child() and
 * view_served() were asked for re-runs the kind when it changes. Only resources that the kind
 * declared in its watch list (engine/kind.h) may be asked for. */

#include "base/json.h"

struct resource;
struct view_source;

struct view {
    struct arena *arena;
    struct json object; /* metadata, spec, status */
    /* Why the object could not be read; NULL: it could. It has metadata and status then. */
    const char *unreadable;
    int64_t now_ms; /* wall clock */
    const void *settings;
    const struct view_source *source; /* where answers come from: the engine, or a file */
    void *source_ctx;
};

/* What is in the way of a child. */
enum trouble {
    TROUBLE_NONE = 0,
    TROUBLE_FOREIGN,   /* an object of that name exists that our object does not control */
    TROUBLE_REFUSED,   /* the API server refuses what we last planned: invalid or forbidden */
    TROUBLE_CONTESTED, /* another manager keeps taking fields back */
};

struct view_trouble {
    enum trouble what;
    const char *message; /* a sentence with the cause and what to do */
    const char *reason;  /* one word, for a condition: "Forbidden", "FieldTaken" */
    const char *cause;   /* of what is refused, the API server's own words; else the message */
};

/* The ways a view is filled; kinds use the functions below instead. */
struct view_source {
    struct json (*get)(void *ctx, const struct resource *r, const char *ns, const char *name);
    struct json (*list)(
        void *ctx, const struct resource *r, const char *ns, const char *label_selector);
    bool (*served)(void *ctx, const struct resource *r);
    struct json (*owned)(void *ctx, const struct resource *r, const char *name);
    struct view_trouble (*trouble)(void *ctx, const struct resource *r, const char *name);
    struct json (*fact)(void *ctx, const char *effect, struct json args);
    /* NULL: counted in a list */
    int64_t (*queue_position)(
        void *ctx, const struct resource *own, const char *path, const char *value);
};

static inline const char *view_name(const struct view *in)
{
    return json_get_text(in->object, "metadata.name");
}
static inline const char *view_namespace(const struct view *in)
{
    return json_get_text(in->object, "metadata.namespace");
}

/* An object by name, in the namespace of ours (view_get) or another; absent if there is none.
 * Objects carry the fields that the watch list keeps. */
struct json view_get(const struct view *in, const struct resource *r, const char *name);
struct json view_get_in(
    const struct view *in, const struct resource *r, const char *ns, const char *name);
/* All objects that match, sorted by namespace and name. namespace NULL: all; selector NULL: all. */
struct json view_list(
    const struct view *in, const struct resource *r, const char *ns, const char *label_selector);
/* From 1: the place of our object, by age, among all objects of our kind whose field at a dotted
 * path has this text, whether or not its own has it already. Costs no look at the others, and only
 * changes before it in the queue run the kind again. Both texts are constants. */
int64_t view_queue_position(
    const struct view *in, const struct resource *own, const char *path, const char *value);
/* Whether the API server offers this resource (its CRD is installed). */
bool view_served(const struct view *in, const struct resource *r);

/* A child: absent unless our object is its controller, by uid. */
struct json view_child(const struct view *in, const struct resource *r, const char *name);
/* Of that child only the fields that we own, by its managedFields. */
struct json view_owned(const struct view *in, const struct resource *r, const char *name);
/* What stood in the way of writing this child. */
struct view_trouble view_trouble(const struct view *in, const struct resource *r, const char *name);

/* What an effect found, see plan_effect(): absent while it has not ended, else
 *   { "at": wall ms, "error": { "code": "NotFound", "message": … } }      or
 *   { "at": wall ms, "result": { … } }, and while it runs { "progress": { … } } */
struct json view_fact(const struct view *in, const char *effect, struct json args);
