#pragma once

/* Events (events.k8s.io/v1): what people see under `kubectl describe`.
 *
 * event_record() never fails and never waits. Equal events (type, reason, action, note, object) are
 * one event with a series and a count; an object that makes more than 25 different ones, plus one
 * every five minutes, is cut off; the table is bounded. What falls away is counted. */

#include "base/json.h"

struct env;
struct event_recorder;
struct kube_client;

struct event {
    struct json regarding; /* the object: apiVersion, kind and metadata are taken */
    const char *field;     /* the part of it: "spec.containers{main}"; NULL: all of it */
    struct json related;   /* another one that has to do with it, or absent */
    bool warning;          /* else normal */
    const char *reason;    /* "Created": one CamelCase word, at most 128 characters */
    const char *action;    /* what was being done: "Reconcile" */
    const char *note;      /* a sentence; cut at 1024 bytes, as the API demands */
};

struct event_recorder_options {
    const char *controller; /* reportingController: "leeboard" */
    const char *instance;   /* reportingInstance: the pod's name; cut at 128 bytes */
};

struct event_recorder_stats {
    uint64_t recorded; /* calls */
    uint64_t written;  /* requests that the server took */
    uint64_t spam;     /* dropped because their object makes too many */
    uint64_t overflow; /* dropped because the table was full */
    uint64_t failed;   /* given up after refusals or too many tries */
};

/* Client and env outlive it. */
struct event_recorder *event_recorder_new(struct kube_client *client, const struct env *env,
    const struct event_recorder_options *options);
void event_recorder_free(struct event_recorder *r);
void event_record(struct event_recorder *r, const struct event *event);
struct event_recorder_stats event_recorder_stats(const struct event_recorder *r);
/* How many wait to be written. */
size_t event_recorder_pending(const struct event_recorder *r);
