#pragma once

/* The log of a container, as the API's pods/log offers it: the seam between the built-in API
 * server, which is asked for it, and the node, which has the files.
 *
 *   open ──> read, read, … 0 ──> wake() ──> read … *ended ──> close
 *
 * The reader sets the pace: nothing is read ahead for it. */

#include "base/error.h"

struct pod_log_stream;

struct pod_log_request {
    const char *ns, *pod, *uid, *container;
    bool follow, previous, timestamps;
    int64_t tail_lines;  /* -1: all */
    int64_t limit_bytes; /* -1: all */
    int64_t since_ms;    /* wall clock; 0: from the beginning */
    const char *stream;  /* "stdout" or "stderr" alone; NULL: both */
};

struct pod_log_source {
    /* NULL: err says why, ERR_NOT_FOUND if there is no such log (yet). wake() comes from the loop,
     * never from within a call, when there may be more after read() has returned 0. */
    struct pod_log_stream *(*open)(void *self, const struct pod_log_request *request,
        void (*wake)(void *ctx), void *ctx, struct error *err);
    /* Copies what is there; 0: nothing now. *ended: and nothing will come. */
    size_t (*read)(void *self, struct pod_log_stream *s, char *to, size_t max, bool *ended);
    void (*close)(void *self, struct pod_log_stream *s);
    void *self;
};
