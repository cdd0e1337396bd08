#pragma once

/* What the API server may ask before it stores an object: the three admission webhooks of LLMKube,
 * under its names and paths. They look at the same things as the kinds, whose conditions tell where
 * no webhook is asked. */

#include "base/json.h"
#include "engine/kind.h"

struct view;

struct admission_verdict {
    int status;          /* 0: it may be stored; else the HTTP status of the refusal */
    const char *reason;  /* of a refusal: "Invalid", "Forbidden" */
    const char *message; /* likewise */
    struct json patch;   /* JSON patch of what it may be stored as; absent: as it came */
};

struct admission {
    const char *name;        /* of the webhook */
    const char *path;        /* of the request */
    const struct kind *kind; /* whose objects, and what the view can be asked for */
    bool mutating;
    bool ignorable; /* failurePolicy Ignore: nothing is lost without it */
    /* in->object is what is to be stored; old: what is, absent for a new one. */
    void (*review)(const struct view *in, struct json old, struct admission_verdict *ret);
};

/* Ended by one without a name. */
extern const struct admission llmkube_admissions[];
