#pragma once

/* What a kind wants: the complete set of children, status, conditions, events, effects, and exactly
 * one outcome. Building it does nothing; the engine compares it with the world and writes what
 * differs. Values may point into the view and the plan's arena. */

#include "base/json.h"

struct resource;

enum outcome {
    OUTCOME_NONE = 0, /* not decided yet: an assertion failure at the end */
    OUTCOME_DONE,     /* the wanted state is written; runs again when an input changes */
    OUTCOME_RECHECK,  /* fine; look again after a time */
    OUTCOME_WAIT,     /* cannot proceed until somebody changes something; slow recheck */
    OUTCOME_RETRY,    /* the world failed for now; exponential back-off */
};

/* How long a WAIT rests before it looks again by itself. */
#define PLAN_WAIT_RECHECK_MS ((int64_t)5 * 60 * 1000)

enum plan_child_mode {
    PLAN_OWNED,   /* applied, owner reference added by the engine, deleted when no longer planned */
    PLAN_SHARED,  /* created if missing, then never touched; owned by nobody */
    PLAN_ONCE,    /* owned; created if missing, never changed (immutable: a Job, a claim) */
    PLAN_ABSENT,  /* deleted if it is ours */
    PLAN_REMOVED, /* deleted, also if another client made it; also when the object itself goes */
};

/* Names the owner of a cluster-scoped child, which an owner reference cannot. */
#define PLAN_OWNER_ANNOTATION "leeboard.dev/owner"

struct plan_child {
    const struct resource *resource;
    enum plan_child_mode mode;
    struct json object;       /* exactly the fields that we own; metadata.name is required */
    const char *const *fixed; /* plan_replaceable() */
    struct {
        const struct resource *resource; /* NULL: none */
        const char *name;
    } after; /* plan_after() */
    struct {
        const char *list, *member; /* NULL: none */
    } exclusive;                   /* plan_exclusive() */
    bool orphan;                   /* plan_orphan() */
    bool disposable;               /* plan_disposable() */
    const char *random;            /* plan_random(); NULL: nothing */
    size_t random_bytes;
};

struct plan_condition {
    const char *type;
    bool status;
    bool unknown; /* status Unknown instead */
    const char *reason;
    const char *message;
};

struct plan_event {
    bool warning;
    const char *reason;
    const char *message;
};

struct plan_effect {
    const char *effect; /* "model.copy" */
    struct json args;   /* with the name, its identity */
    int64_t every_ms;   /* run again when the fact is older; 0: never */
};

struct plan_eviction {
    const struct resource *resource; /* of the pod */
    const char *pod;
    const char *uid;
};

#define PLAN_MAX_CHILDREN 64
#define PLAN_MAX_CONDITIONS 64
#define PLAN_MAX_EVENTS 16
#define PLAN_MAX_EFFECTS 16
#define PLAN_MAX_YIELDED 4
#define PLAN_MAX_RANDOM_BYTES 64

struct plan {
    struct arena *arena;
    struct plan_child children[PLAN_MAX_CHILDREN];
    size_t child_count;
    bool keep_children; /* children that are not planned stay as they are */
    struct json status; /* without conditions */
    const char *stamp;  /* field of the status that holds the time of its last change */
    bool has_status;
    const char *yielded[PLAN_MAX_YIELDED]; /* plan_yield() */
    size_t yielded_count;
    struct plan_condition conditions[PLAN_MAX_CONDITIONS];
    size_t condition_count;
    struct plan_event events[PLAN_MAX_EVENTS];
    size_t event_count;
    struct plan_effect effects[PLAN_MAX_EFFECTS];
    size_t effect_count;
    struct plan_eviction eviction; /* at most one pod per pass; pod NULL: none */
    struct json amendment;         /* plan_amend() */
    bool end;                      /* plan_end() */
    bool stay;                     /* plan_stay() */
    enum outcome outcome;
    int64_t after_ms;
    int64_t within_ms; /* plan_within(); 0: whenever */
    const char *cause;
};

void plan_init(struct plan *p, struct arena *a);

/* apiVersion and kind are added from the resource, the namespace from the object. */
void plan_child(struct plan *p, const struct resource *r, struct json object);
void plan_shared(struct plan *p, const struct resource *r, struct json object);
void plan_once(struct plan *p, const struct resource *r, struct json object);
/* For a claim, which does not go just because it is no longer planned: somebody may want the data
 * back. */
void plan_absent(struct plan *p, const struct resource *r, const char *name);
/* For what the workload of an object made under a known name, without an owner reference: deleted,
 * also if another client made it. With kind.finalizer it is deleted when the object goes, too. */
void plan_remove(struct plan *p, const struct resource *r, const char *name);
/* The whole child as it is applied: with apiVersion, kind, namespace and, unless shared, the owner
 * reference to `owner`, an object of the given apiVersion and kind; a cluster-scoped child, which
 * needs kind.finalizer, has PLAN_OWNER_ANNOTATION instead. */
struct json plan_child_object(struct arena *a, const struct plan_child *c, const char *api_version,
    const char *kind, struct json owner);
/* What PLAN_OWNER_ANNOTATION says: "ModelService.model.otterscale.io/NAMESPACE/NAME". */
const char *plan_owner_id(
    struct arena *a, const char *api_version, const char *kind, struct json owner);
/* Of the child planned last: these dotted paths (NULL-terminated) cannot be changed in place. When
 * one differs from what we own, the child is deleted and made again. */
void plan_replaceable(struct plan *p, const char *const *paths);
/* The child planned last is created only once this other child exists: without all rights, a role
 * can be bound only if it exists. */
void plan_after(struct plan *p, const struct resource *r, const char *name);
/* Of the child planned last: the values of `member` in the items of `list` (a dotted path) exist
 * once in the cluster, like node ports. While another object asks for the same value, this one
 * waits, so that the earlier of two gets it. */
void plan_exclusive(struct plan *p, const char *list, const char *member);
/* The child planned last may be there without a controller: then it becomes ours. */
void plan_orphan(struct plan *p);
/* The child planned last, a Secret of plan_once(), gets a random text at this path of its data when
 * it is made: the base64 of so many bytes. A kind never sees them. */
void plan_random(struct plan *p, const char *path, size_t bytes);
/* Others delete the child planned last to have it replaced, as people do with pods: that is never
 * taken for a fight. */
void plan_disposable(struct plan *p);
/* For a pass that cannot tell what it wants (a reference is missing): existing children are left
 * alone instead of being deleted as no longer wanted. */
void plan_keep_children(struct plan *p);

/* A merge patch of the object itself outside its status: an annotation that tells what was found,
 * the volume of a claim. Sent before the children unless the object is like that already. */
void plan_amend(struct plan *p, struct json patch);
/* The object itself is deleted, and nothing else is done. */
void plan_end(struct plan *p);

/* The object is deleted but must be there for now, with its children as they are: the kind's
 * finalizer stays. Its status is told. */
void plan_stay(struct plan *p);

/* The status we own, whole: what is not in it is released. Conditions that it has itself are those
 * of built-in kinds, whose fields differ: then plan_condition() says nothing. stamp names the field
 * (or is NULL) that gets the time when something else in the status changed, and only then. */
void plan_status(struct plan *p, struct json status, const char *stamp);
/* Another program writes this field of the status too, or the condition of this type. What it has
 * written since stays: we say it only while nobody else does. The name is a constant. */
void plan_yield(struct plan *p, const char *name);
/* lastTransitionTime is kept while the status stays the same; observedGeneration is set. */
void plan_condition(struct plan *p, const char *type, bool status, const char *reason,
    const char *format, ...) printf_like(5, 6);
/* The same with the status Unknown. */
void plan_condition_unknown(struct plan *p, const char *type, const char *reason,
    const char *format, ...) printf_like(4, 5);
/* Goes out only together with a change of this object's status: an event tells of a change. */
void plan_event(struct plan *p, bool warning, const char *reason, const char *format, ...)
    printf_like(4, 5);
void plan_effect(struct plan *p, const char *effect, struct json args, int64_t every_ms);
/* Asks the eviction API to end this pod. */
void plan_evict(struct plan *p, const char *pod, const char *uid);

/* The outcome, exactly once. */
void plan_done(struct plan *p);
void plan_recheck(struct plan *p, int64_t after_ms);
void plan_wait(struct plan *p, const char *format, ...) printf_like(2, 3);
void plan_retry(struct plan *p, const char *format, ...) printf_like(2, 3);
/* Besides, whatever the outcome: look again after this time at the latest. */
void plan_within(struct plan *p, int64_t within_ms);
