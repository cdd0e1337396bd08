#pragma once

/* A kind: a pure function and what it needs to know of the world. One static constant a kind. */

#include "base/resource.h"

struct error;
struct view;
struct plan;
struct scrape;

/* A resource whose objects the engine keeps in its cache for this kind. */
struct kind_watch {
    const struct resource *resource;
    bool optional;              /* its API may not be installed (a CRD of another client) */
    bool child;                 /* planned as a child: our fields and the controller are kept too */
    bool lasting;               /* … and not deleted when it is no longer planned, only with its
                                 * owner: a claim, whose data somebody may want back */
    const char *label_selector; /* only these; NULL: all */
    const char *index_label;    /* view_list(…, "LABEL=value") is then a look-up; NULL: none */
    const char *const *keep;    /* dotted paths that the kind reads, NULL-terminated; metadata.name,
                                 * namespace, uid, deletionTimestamp always */
};

/* A right that children of a kind hand out, in Roles: a caller that gives it must have it. */
struct kind_grant {
    const char *group; /* NULL: urls */
    const char *what;  /* plurals, or URLs; with blanks between them */
    const char *verbs; /* with blanks between them */
    bool cluster;      /* of no namespace */
};

struct kind {
    const struct resource *resource;
    const char *ns;                   /* only objects of this namespace; NULL: all */
    const char *field_selector;       /* only these; NULL: all */
    const struct kind_watch *watches; /* ended by one without a resource */
    const struct kind_grant *grants;  /* ended by one without `what`; NULL: none */
    /* For kinds with cluster-scoped children: put on every object before its children are made,
     * taken off a deleted one as soon as they were told to go, whatever came of that: an object
     * must not keep its namespace from ending. NULL: none. */
    const char *finalizer;
    /* Another program writes other fields of its status, perhaps under the name of an upstream
     * operator: nothing there is taken over. */
    bool shares_status;
    void (*reconcile)(const struct view *in, struct plan *out);
    /* Instead of it for an object that got past an edited CRD with a value of the wrong type: err
     * names the path. NULL: reconcile() copes with everything. */
    void (*unreadable)(const struct view *in, struct plan *out, const struct error *err);
    /* What dashboards know an object by (engine/scrape.h); the view answers view_get() alone. NULL:
     * nothing. */
    void (*measure)(const struct view *in, struct scrape *to);
};
