#pragma once

/* The gate decides what happens to one planned child. It is a pure function. Its inputs are the
 * planned child, the cache entry, the memo and the time; its outputs are an action, a change of the
 * memo and a trouble. It sends nothing and changes nothing. */

#include "engine/internal.h"

/* Whether the cache knows the objects of the child's resource. */
enum gate_access {
    GATE_READABLE,
    GATE_LOADING,  /* its first list is not complete */
    GATE_UNSERVED, /* the API server does not offer it */
};

/* State of the child that must exist before this one, see plan_after(). */
enum gate_before {
    GATE_BEFORE_READY,   /* it exists, or no such child was named */
    GATE_BEFORE_COMING,  /* this run is creating it */
    GATE_BEFORE_MISSING, /* neither of them */
};

struct gate_input {
    struct arena *arena; /* for scratch and the result */
    const struct plan_child *child;
    struct json wanted;              /* the child's desired object, plan_child_object() */
    const struct cache_entry *there; /* NULL: it does not exist */
    const struct memo *memo;         /* NULL: nothing is remembered */
    int64_t now_ms;                  /* monotonic */
    const char *owner;               /* controller_uid of our children */
    const char *owner_kind;          /* for messages */
    bool owner_settled;              /* it has a status, or was planned for before */
    enum gate_access access;
    enum gate_before before;
    bool taken;   /* another key is creating it */
    bool clashes; /* another key is writing one of its exclusive values */
};

enum gate_action {
    GATE_SKIP,    /* nothing changed, or nothing can be done */
    GATE_LOOK,    /* the result of the last write is unknown */
    GATE_LATER,   /* wait until the child before it exists */
    GATE_YIELD,   /* another key writes first; its result decides */
    GATE_FOLLOW,  /* another key is creating the same shared object */
    GATE_CREATE,  /* by apply, without force */
    GATE_SHARE,   /* by POST: it has no owner and is never changed */
    GATE_APPLY,   /* with force, and with uid and version of the existing object */
    GATE_ADOPT,   /* take over the fields of our predecessor, then plan again */
    GATE_DELETE,  /* not wanted, or immutable and to be created again */
    GATE_CONTEST, /* other writers keep changing or deleting it: pause for a while */
};

struct gate_decision {
    enum gate_action action;
    uint64_t hash;               /* of the desired object; 0: not computed */
    bool settled;                /* the remembered trouble is over */
    bool recount;                /* the plan is new: count its writes from 0 */
    struct view_trouble trouble; /* to be remembered; TROUBLE_NONE: nothing new */
};

struct gate_decision gate_child(const struct gate_input *in);
/* Whether an existing child that is not in the plan is deleted. */
bool gate_is_leftover(
    const struct plan *p, const struct kind_watch *watches, const struct cache_entry *entry);
