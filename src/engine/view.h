#pragma once

/* What a kind sees: its object, the children that it owns, the objects that it reads by name, facts
 * from effects, and the time. The same view gives the same plan, byte for byte.
 *
 * Every query registers a dependency: when the result of view_get(), view_list(), view_child() or
 * view_served() changes, the kind runs again. Only resources in the kind's watch list
 * (engine/kind.h) may be queried. */

#include "base/json.h"

struct resource;
struct view_source;

struct view {
    struct arena *arena;
    struct json object; /* metadata, spec, status */
    /* Why the object could not be read; NULL: it was read. An unreadable object still has metadata
     * and status. */
    const char *unreadable;
    int64_t now_ms; /* wall clock */
    const void *settings;
    const struct view_source *source; /* what answers the queries: the engine, or a file */
    void *source_ctx;
};

/* What prevents us from writing a child. */
enum trouble {
    TROUBLE_NONE = 0,
    TROUBLE_FOREIGN,   /* an object of that name exists that our object does not control */
    TROUBLE_REFUSED,   /* the API server refuses our last plan: invalid or forbidden */
    TROUBLE_CONTESTED, /* another manager keeps taking fields back */
};

struct view_trouble {
    enum trouble what;
    const char *message; /* a sentence with the cause and the solution */
    const char *reason;  /* one word, for a condition: "Forbidden", "FieldTaken" */
    const char *cause; /* the API server's own message if it refused the child; else the message */
};

/* The callbacks behind a view; kinds use the functions below instead. */
struct view_source {
    struct json (*get)(void *ctx, const struct resource *r, const char *ns, const char *name);
    struct json (*list)(
        void *ctx, const struct resource *r, const char *ns, const char *label_selector);
    bool (*served)(void *ctx, const struct resource *r);
    struct json (*owned)(void *ctx, const struct resource *r, const char *name);
    struct view_trouble (*trouble)(void *ctx, const struct resource *r, const char *name);
    struct json (*fact)(void *ctx, const char *effect, struct json args);
    /* NULL: count the position in a list */
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

/* An object by name, in our object's namespace (view_get) or another one; absent if it does not
 * exist. Objects have the fields that the watch list keeps. */
struct json view_get(const struct view *in, const struct resource *r, const char *name);
struct json view_get_in(
    const struct view *in, const struct resource *r, const char *ns, const char *name);
/* All matching objects, sorted by namespace and name. namespace NULL: all; selector NULL: all. */
struct json view_list(
    const struct view *in, const struct resource *r, const char *ns, const char *label_selector);
/* The position, from 1 and by age, of our object among all objects of our kind whose field at a
 * dotted path has this text, whether or not our object has it already. Does not read the other
 * objects, and only changes before it in the queue run the kind again. Both texts are constants. */
int64_t view_queue_position(
    const struct view *in, const struct resource *own, const char *path, const char *value);
/* Whether the API server offers this resource (its CRD is installed). */
bool view_served(const struct view *in, const struct resource *r);

/* A child: absent unless our object is its controller, by uid. */
struct json view_child(const struct view *in, const struct resource *r, const char *name);
/* The fields of that child that we own, according to its managedFields. */
struct json view_owned(const struct view *in, const struct resource *r, const char *name);
/* What prevented us from writing this child. */
struct view_trouble view_trouble(const struct view *in, const struct resource *r, const char *name);

/* The result of an effect, see plan_effect(): absent before it has ended, else
 *   { "at": wall ms, "error": { "code": "NotFound", "message": … } }      or
 *   { "at": wall ms, "result": { … } }, and while it runs { "progress": { … } } */
struct json view_fact(const struct view *in, const char *effect, struct json args);
