#pragma once

/* Events (events.k8s.io/v1): as shown by `kubectl describe`.
 *
 * event_record() never fails and never waits. Equal events (type, reason, action, note, object)
 * become one event with a series and a count. Each object may have 25 different events, plus one
 * every five minutes; the table is bounded. Dropped events are counted. */

#include "base/json.h"

struct env;
struct event_recorder;
struct kube_client;

struct event {
    struct json regarding; /* the object: its apiVersion, kind and metadata are used */
    const char *field; /* the part of the object: "spec.containers{main}"; NULL: the whole object */
    struct json related; /* another related object, or absent */
    bool warning;        /* else normal */
    const char *reason;  /* "Created": one CamelCase word, at most 128 characters */
    const char *action;  /* the action in progress: "Reconcile" */
    const char *note;    /* a sentence; truncated at 1024 bytes, as the API requires */
};

struct event_recorder_options {
    const char *controller; /* reportingController: "leeboard" */
    const char *instance;   /* reportingInstance: the pod's name; truncated at 128 bytes */
};

struct event_recorder_stats {
    uint64_t recorded; /* calls of event_record() */
    uint64_t written;  /* successful requests */
    uint64_t spam;     /* dropped because the object has too many events */
    uint64_t overflow; /* dropped because the table was full */
    uint64_t failed;   /* given up after refusals or too many retries */
};

/* client and env must outlive it. */
struct event_recorder *event_recorder_new(struct kube_client *client, const struct env *env,
    const struct event_recorder_options *options);
void event_recorder_free(struct event_recorder *r);
void event_record(struct event_recorder *r, const struct event *event);
struct event_recorder_stats event_recorder_stats(const struct event_recorder *r);
/* The number of events that are not written yet. */
size_t event_recorder_pending(const struct event_recorder *r);
