#pragma once

/* An error response of the API server: an HTTP status, and a metav1.Status in the body, or the text
 * of a proxy in between. */

#include "base/json.h"

struct kube_status {
    struct error error; /* code by Status.reason or HTTP status; the server's message */
    const char *reason; /* "" if none */
    struct json causes; /* details.causes, or absent */
    bool from_server;   /* the body was a Status, so no proxy sent it */
};

/* For a response with status 400 or more. body is the parsed text, absent if it was not JSON. */
struct kube_status kube_status_of_answer(
    int http_status, int64_t retry_after_ms, struct json body, struct str text);
/* For a Status object, as in an ERROR event of a watch. */
struct kube_status kube_status_of_object(struct json status);
/* The server has not seen the requested version: it is behind, or was restored from a backup. */
bool kube_status_version_too_large(const struct kube_status *s);
/* A printable beginning of an unknown text, for messages. */
const char *kube_status_excerpt(struct arena *a, struct str text);
