#pragma once

/* The three admission webhooks of LLMKube, under its names and paths. The API server may call them
 * before it stores an object. They check the same things as the kinds, which report problems in
 * conditions where no webhook is installed. */

#include "base/json.h"
#include "engine/kind.h"

struct view;

struct admission_verdict {
    int status;          /* 0: admitted; otherwise the HTTP status of the refusal */
    const char *reason;  /* of a refusal: "Invalid", "Forbidden" */
    const char *message; /* likewise */
    struct json patch;   /* JSON patch to apply before storing; absent: no change */
};

struct admission {
    const char *name;        /* of the webhook */
    const char *path;        /* of the request */
    const struct kind *kind; /* of the objects; also defines what the view can be asked for */
    bool mutating;
    bool ignorable; /* failurePolicy Ignore: objects may be stored without it */
    /* in->object is the new object; old is the stored one, absent on create. */
    void (*review)(const struct view *in, struct json old, struct admission_verdict *ret);
};

/* The last one has no name. */
extern const struct admission llmkube_admissions[];
