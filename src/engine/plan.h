#pragma once

/* The desired state: the complete set of children, status, conditions, events, effects, and exactly
 * one outcome. Building a plan has no side effects; the engine compares it with the cluster and
 * writes the differences. Values may point into the view and the plan's arena. */

#include "base/json.h"

struct resource;

enum outcome {
    OUTCOME_NONE = 0, /* not set; an assertion fails at the end */
    OUTCOME_DONE,     /* the desired state is written; runs again when an input changes */
    OUTCOME_RECHECK,  /* fine; look again after a time */
    OUTCOME_WAIT,     /* cannot proceed until a person or program changes something; slow recheck */
    OUTCOME_RETRY,    /* an external failure; exponential back-off */
};

/* A WAIT is rechecked after this time even if nothing changes. */
#define PLAN_WAIT_RECHECK_MS ((int64_t)5 * 60 * 1000)

enum plan_child_mode {
    PLAN_OWNED,   /* applied, owner reference added by the engine, deleted when no longer planned */
    PLAN_SHARED,  /* created if missing, then never changed; has no owner */
    PLAN_ONCE,    /* owned; created if missing, never changed (immutable: a Job, a claim) */
    PLAN_ABSENT,  /* deleted if it is ours */
    PLAN_REMOVED, /* deleted even if another client created it; also when the object itself is
                     deleted */
};

/* Names the owner of a cluster-scoped child, for which an owner reference is not possible. */
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
    const char *random;            /* NULL: none */
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
    const char *effect; /* for example "model.copy" */
    struct json args;   /* together with the name, its identity */
    int64_t every_ms;   /* run again when the fact is older than this; 0: never */
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
    bool keep_children; /* children that are not planned are left alone */
    struct json status; /* without conditions */
    const char *stamp;  /* status field that holds the time of the last change */
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

/* The engine adds apiVersion and kind from the resource, and the namespace from the object. */
void plan_child(struct plan *p, const struct resource *r, struct json object);
void plan_shared(struct plan *p, const struct resource *r, struct json object);
void plan_once(struct plan *p, const struct resource *r, struct json object);
/* For a claim, which is not deleted just because it is no longer planned: its data may still be
 * needed. */
void plan_absent(struct plan *p, const struct resource *r, const char *name);
/* For objects that the workload itself creates under a known name, without an owner reference.
 * Deleted even if another client created it. With kind.finalizer it is deleted with the object,
 * too. */
void plan_remove(struct plan *p, const struct resource *r, const char *name);
/* The whole child as it is applied: with apiVersion, kind, namespace and, unless shared, the owner
 * reference to `owner`, an object of the given apiVersion and kind. A cluster-scoped child, which
 * needs kind.finalizer, has PLAN_OWNER_ANNOTATION instead. */
struct json plan_child_object(struct arena *a, const struct plan_child *c, const char *api_version,
    const char *kind, struct json owner);
/* The value of PLAN_OWNER_ANNOTATION: "ModelService.model.otterscale.io/NAMESPACE/NAME". */
const char *plan_owner_id(
    struct arena *a, const char *api_version, const char *kind, struct json owner);
/* For the last planned child: these dotted paths (NULL-terminated) are immutable. If one differs
 * from the value that we own, the child is deleted and created again. */
void plan_replaceable(struct plan *p, const char *const *paths);
/* The last planned child is created only after this other child exists. For example, a client
 * without all rights can bind a role only if the role exists. */
void plan_after(struct plan *p, const struct resource *r, const char *name);
/* For the last planned child: the values of `member` in the items of `list` (a dotted path) are
 * unique in the cluster, like node ports. While another object requests the same value, this one
 * waits, so that the older of the two gets it. */
void plan_exclusive(struct plan *p, const char *list, const char *member);
/* The last planned child may exist without a controller; then we become its controller. */
void plan_orphan(struct plan *p);
/* The last planned child, a Secret of plan_once(), gets a random text at this path of its data when
 * it is created: the base64 encoding of this many bytes. A kind never sees them. */
void plan_random(struct plan *p, const char *path, size_t bytes);
/* The last planned child may be deleted by others to have it replaced, as people do with pods. Its
 * deletion never counts as a conflict between writers. */
void plan_disposable(struct plan *p);
/* For a pass that cannot compute the desired state (a reference is missing): existing children are
 * left alone instead of being deleted as no longer wanted. */
void plan_keep_children(struct plan *p);

/* A merge patch of the object itself outside its status, such as an annotation with a result, or
 * the volume of a claim. Sent before the children unless the object has these values already. */
void plan_amend(struct plan *p, struct json patch);
/* Deletes the object itself, and does nothing else. */
void plan_end(struct plan *p);

/* The object is terminating but must be kept for now, with its children as they are. The kind's
 * finalizer stays, and the status is reported. */
void plan_stay(struct plan *p);

/* The complete status that we own; fields that are not in it are released. If the status contains
 * conditions itself, they are those of built-in kinds, whose fields differ; then plan_condition()
 * has no effect. stamp names the field (or is NULL) that gets the time when another field of the
 * status changes, and only then. */
void plan_status(struct plan *p, struct json status, const char *stamp);
/* Another program also writes this field of the status, or the condition of this type. A value that
 * it has written since is kept: we write the field only while no other program does. The name is a
 * constant. */
void plan_yield(struct plan *p, const char *name);
/* lastTransitionTime is kept while the status is unchanged; observedGeneration is set. */
void plan_condition(struct plan *p, const char *type, bool status, const char *reason,
    const char *format, ...) printf_like(5, 6);
/* The same with status Unknown. */
void plan_condition_unknown(struct plan *p, const char *type, const char *reason,
    const char *format, ...) printf_like(4, 5);
/* Sent only together with a change of this object's status, because an event reports a change. */
void plan_event(struct plan *p, bool warning, const char *reason, const char *format, ...)
    printf_like(4, 5);
void plan_effect(struct plan *p, const char *effect, struct json args, int64_t every_ms);
/* Evicts this pod through the eviction API. */
void plan_evict(struct plan *p, const char *pod, const char *uid);

/* The outcome. Set exactly one. */
void plan_done(struct plan *p);
void plan_recheck(struct plan *p, int64_t after_ms);
void plan_wait(struct plan *p, const char *format, ...) printf_like(2, 3);
void plan_retry(struct plan *p, const char *format, ...) printf_like(2, 3);
/* In addition to any outcome: run again after this time at the latest. */
void plan_within(struct plan *p, int64_t within_ms);
