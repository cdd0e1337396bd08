#pragma once

/* A kind: a pure function, and a description of what it reads. One static constant per kind. */

#include "base/resource.h"

struct error;
struct view;
struct plan;
struct scrape;

/* A resource whose objects the engine keeps in its cache for this kind. */
struct kind_watch {
    const struct resource *resource;
    bool optional; /* its API may not be installed (a CRD of another client) */
    bool child;    /* planned as a child: our fields and the controller are kept too */
    bool lasting;  /* … and only deleted with its owner: a claim, whose data may be needed */
    const char *label_selector; /* only matching objects; NULL: all */
    const char *index_label;    /* view_list(…, "LABEL=value") is then a look-up; NULL: none */
    const char *const *keep;    /* dotted paths that the kind reads, NULL-terminated; metadata.name,
                                   namespace, uid and deletionTimestamp are always kept */
};

/* A right that a kind's children grant in Roles. A client that grants a right must have it
 * itself. */
struct kind_grant {
    const char *group; /* NULL: urls */
    const char *what;  /* plurals or URLs, separated by spaces */
    const char *verbs; /* separated by spaces */
    bool cluster;      /* cluster-scoped */
};

struct kind {
    const struct resource *resource;
    const char *ns;                   /* only objects of this namespace; NULL: all */
    const char *field_selector;       /* only these; NULL: all */
    const struct kind_watch *watches; /* ended by one without a resource */
    const struct kind_grant *grants;  /* ended by one without `what`; NULL: none */
    /* For kinds with cluster-scoped children. Added to every object before its children are
     * created, and removed from a terminating object as soon as their deletion was requested,
     * whatever the result: an object must not keep its namespace from terminating. NULL: none. */
    const char *finalizer;
    /* Another program writes other fields of the status, perhaps under the name of an upstream
     * operator: no status field is adopted. */
    bool shares_status;
    void (*reconcile)(const struct view *in, struct plan *out);
    /* Called instead of reconcile() for an object that has a value of the wrong type because the
     * installed CRD was edited; err names the path. NULL: reconcile() handles everything. */
    void (*unreadable)(const struct view *in, struct plan *out, const struct error *err);
    /* Adds the metrics of an object for dashboards (engine/scrape.h). The view supports only
     * view_get(). May be NULL. */
    void (*measure)(const struct view *in, struct scrape *to);
};
