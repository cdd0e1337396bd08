#pragma once

/* Objects in, rows out: what a person wants to know of each resource, in one line. Pure. */

#include "base/json.h"

enum show_state {
    SHOW_WAITS,  /* for something else, or for somebody */
    SHOW_WORKS,  /* under way */
    SHOW_READY,  /* nothing is missing */
    SHOW_FAILED, /* needs somebody */
};

struct show_row {
    const char *kind;
    const char *ns; /* "" for what has none */
    const char *name;
    enum show_state state;
    const char *phase; /* a word for people: "pulling", "starting", "ready", … */
    const char
        *detail;   /* the endpoint, or why it is not there yet; "" if there is nothing to say */
    int64_t bytes; /* of what is being fetched, so far */
    int64_t total; /* 0: nothing is, or its size is not known */
};

/* What objects do not tell: how much of a model is on the disk, and what a container wrote last. */
struct show_disk {
    bool whole;      /* all of it, or of one of its files */
    int64_t partial; /* bytes so far of what is being fetched; -1: nothing is */
    int64_t total;   /* of it, by its own header; 0: not known */
};
struct show_machine {
    struct show_disk (*model)(void *ctx, const char *ns, const char *cache_key);
    /* The end of the log of one run, by its containerID; "" if there is none. */
    const char *(*log_end)(void *ctx, struct arena *a, const char *container_id);
    /* Whether its disk is full: then objects cannot tell it any more, because they lie there too.
     */
    bool (*is_full)(void *ctx);
    const char *folder; /* of the data */
    void *ctx;
};

/* One row for every object that no other one controls, in the order of kind (a Model before its
 * services), namespace and name. The others explain these rows. machine may be NULL. */
size_t show_rows(struct arena *a, struct json objects, const struct show_machine *machine,
    struct show_row **ret);
