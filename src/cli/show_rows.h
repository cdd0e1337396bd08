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
    const char *namespace; /* "" for what has none */
    const char *name;
    enum show_state state;
    const char *phase; /* a word for people: "pulling", "starting", "ready", … */
    const char
        *detail;   /* the endpoint, or why it is not there yet; "" if there is nothing to say */
    int64_t bytes; /* of what is being fetched, so far */
    int64_t total; /* 0: nothing is, or its size is not known */
};

/* What the status of a Model does not tell: how much of it is on the disk. */
struct show_disk {
    bool whole;        /* all of it, or of one of its files */
    int64_t partial;   /* bytes so far of what is being fetched; -1: nothing is */
    const char *place; /* where to, and how much is free there; NULL: nobody knows */
    int64_t free_bytes;
};
struct show_fetched {
    struct show_disk (*look)(void *ctx, const char *namespace, const char *cache_key);
    void *ctx;
};

/* One row for every object but pods, in the order of kind (a Model before its services), namespace
 * and name. Pods explain the rows of what they belong to. Objects that another one controls get no
 * row. fetched may be NULL. */
size_t show_rows(struct arena *a, struct json objects, const struct show_fetched *fetched,
    struct show_row **ret);
/* The row of one object, with the pods of its namespace. */
struct show_row show_row_of(
    struct arena *a, struct json object, struct json pods, const struct show_fetched *fetched);
/* Whether a pod was made for an object: by its Deployment or whatever else has the object's name.
 */
bool show_rows_belongs(struct json pod, struct json object);
