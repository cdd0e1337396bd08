#pragma once

/* The gate decides what happens to one planned child. It is a pure function: what is planned, what
 * is there, what is remembered and the time go in; an action, a change of the memory and a trouble
 * come out. It sends nothing and changes nothing. */

#include "engine/internal.h"

/* Whether the cache can answer for the child's resource. */
enum gate_access {
    GATE_READABLE,
    GATE_LOADING,  /* its first list is not complete */
    GATE_UNSERVED, /* the API server does not offer it */
};

/* The child that this one comes after, see plan_after(). */
enum gate_before {
    GATE_BEFORE_READY,   /* it exists, or there is none */
    GATE_BEFORE_COMING,  /* this run is creating it */
    GATE_BEFORE_MISSING, /* neither */
};

struct gate_input {
    struct arena *arena; /* for scratch and the result */
    const struct plan_child *child;
    struct json wanted;              /* of it, plan_child_object() */
    const struct cache_entry *there; /* NULL: it does not exist */
    const struct memo *memo;         /* NULL: nothing is remembered */
    int64_t now_ms;                  /* monotonic */
    const char *owner;               /* controller_uid of a child of ours */
    const char *owner_kind;          /* for messages */
    bool owner_settled;              /* it has a status, or was planned for before */
    enum gate_access access;
    enum gate_before before;
    bool taken;   /* another key is creating it */
    bool clashes; /* another key is writing one of its exclusive values */
};

enum gate_action {
    GATE_SKIP,    /* as planned already, or nothing can be done */
    GATE_LOOK,    /* what became of the last write is not known */
    GATE_LATER,   /* once the child before it exists */
    GATE_YIELD,   /* another key writes first; its answer decides */
    GATE_FOLLOW,  /* another key is creating the same shared object */
    GATE_CREATE,  /* by apply, without force */
    GATE_SHARE,   /* by POST: it has no owner and never changes */
    GATE_APPLY,   /* with force, and with uid and version of what is there */
    GATE_ADOPT,   /* take the fields over from our predecessor, then plan again */
    GATE_DELETE,  /* not wanted, or to be created again since it cannot be changed */
    GATE_CONTEST, /* others keep changing or deleting it: stop for a while */
};

struct gate_decision {
    enum gate_action action;
    uint64_t hash;               /* of what is wanted; 0: not computed */
    bool settled;                /* the trouble that is remembered is over */
    bool recount;                /* this plan is new: its writes are counted from 0 */
    struct view_trouble trouble; /* to be remembered; what NONE: nothing new */
};

struct gate_decision gate_child(const struct gate_input *in);
/* A child that is there and that the plan does not name: whether it is deleted. */
bool gate_is_leftover(
    const struct plan *p, const struct kind_watch *watches, const struct cache_entry *entry);
