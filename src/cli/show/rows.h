#pragma once

/* Converts objects to rows: one line per resource with what a person wants to know. Pure. */

#include "base/json.h"

enum show_state {
    SHOW_WAITS,  /* for another object, or for a person */
    SHOW_WORKS,  /* in progress */
    SHOW_READY,  /* complete */
    SHOW_FAILED, /* needs attention */
};

struct show_row {
    const char *kind;
    const char *ns; /* "" if cluster-scoped */
    const char *name;
    enum show_state state;
    const char *phase;  /* a word for people: "pulling", "starting", "ready", … */
    const char *detail; /* the endpoint, or why it is not ready; "" for none */
    int64_t bytes;      /* downloaded so far */
    int64_t total;      /* 0: no download, or its size is unknown */
};

/* Information that objects do not have: the size of model files on disk and the end of a
 * container's log. */
struct show_disk {
    bool whole;      /* it is complete, or one of its files is */
    int64_t partial; /* bytes downloaded so far; -1: no download */
    int64_t total;   /* its size by its own header; 0: unknown */
};
struct show_machine {
    struct show_disk (*model)(void *ctx, const char *ns, const char *cache_key);
    /* The end of the log of one run, by its containerID; "" if there is none. */
    const char *(*log_end)(void *ctx, struct arena *a, const char *container_id);
    /* Whether its disk is full: then the status of objects cannot report it, because it cannot be
     * stored. */
    bool (*is_full)(void *ctx);
    const char *folder; /* of the data */
    void *ctx;
};

/* One row for each object without a controller, sorted by kind (Models before their services),
 * namespace and name. The other objects provide details of these rows. machine may be NULL. */
size_t show_rows(struct arena *a, struct json objects, const struct show_machine *machine,
    struct show_row **ret);
