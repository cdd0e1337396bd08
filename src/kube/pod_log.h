#pragma once

/* The log of a container, for the API's pods/log: the interface between the built-in API server,
 * which gets the request, and the node, which has the files.
 *
 *   open ──> read, read, … 0 ──> wake() ──> read … *ended ──> close
 *
 * The reader sets the pace: there is no read-ahead. */

#include "base/error.h"

struct pod_log_stream;

struct pod_log_request {
    const char *ns, *pod, *uid, *container;
    bool follow, previous, timestamps;
    int64_t tail_lines;  /* -1: all */
    int64_t limit_bytes; /* -1: all */
    int64_t since_ms;    /* wall clock; 0: from the beginning */
    const char *stream;  /* only "stdout" or "stderr"; NULL: both */
};

struct pod_log_source {
    /* Returns NULL with err; ERR_NOT_FOUND if the log does not exist (yet). wake() is called from
     * the loop, never from inside a call, when there may be more data after read() has returned
     * 0. */
    struct pod_log_stream *(*open)(void *self, const struct pod_log_request *request,
        void (*wake)(void *ctx), void *ctx, struct error *err);
    /* Copies available data; 0: none now. *ended: there will be no more. */
    size_t (*read)(void *self, struct pod_log_stream *s, char *to, size_t max, bool *ended);
    void (*close)(void *self, struct pod_log_stream *s);
    void *self;
};
