#pragma once

/* Effects: input and output on behalf of the kinds, which may not do it themselves.
 *
 *   model.probe        how large a remote source is, and its GGUF head
 *   model.head         has the source changed? (ETag and size)
 *   model.copy         a local file into the cache, checked and renamed into place
 *   model.digest       the SHA-256 of a local file
 *   model.file         whether a local file that is used in place changes; never ends
 *   model.staged       how much of a model pods have fetched into claims of this machine
 *   pods.idle          whether these servers have no requests now
 *   pod.acceleration   what a server's log says about its GPU
 *   volume.remove      removes the directory of a deleted claim
 *
 * Remote addresses must be public unless their host is allowed by name: a user that may create a
 * Model must not be able to send requests into the cluster (GHSA-jw3m-8q7m-f35r upstream). */

#include "base/json.h"

struct effect_runner;
struct fetch;
struct http_client;
struct kube_client;
struct loop;

struct fetch_options {
    struct loop *loop;
    struct http_client *http;
    struct kube_client *kube;
    struct json allowed_remote_hosts; /* list of names */
    struct json allowed_roots;        /* list of directories that may contain local sources */
    int64_t progress_ms;              /* interval of a copy's progress reports; 0: a second */
};

/* Everything that options points to must outlive it. */
struct fetch *fetch_new(const struct fetch_options *options);
/* Cancels all effects. Copies stop at their next block. */
void fetch_free(struct fetch *f);
const struct effect_runner *fetch_runner(const struct fetch *f);
