#pragma once

/* What the API server says when it says no: an HTTP status, and in its body a metav1.Status, or the
 * words of some proxy on the way. */

#include "base/json.h"

struct kube_status {
    struct error error; /* the code by Status.reason, else by the HTTP status; the server's words */
    const char *reason; /* "" if none */
    struct json causes; /* details.causes, or absent */
    bool from_server;   /* a Status came: the API server itself answered, not a proxy before it */
};

/* An answer of status 400 or more. body is the parsed text, absent if it was not JSON. */
struct kube_status kube_status_of_answer(
    int http_status, int64_t retry_after_ms, struct json body, struct str text);
/* A Status object, as an ERROR event of a watch carries it. */
struct kube_status kube_status_of_object(struct json status);
/* The server has not seen the version that was asked for: it is behind, or was restored from a
 * backup. */
bool kube_status_version_too_large(const struct kube_status *s);
/* A printable beginning of text that we did not understand, for messages. */
const char *kube_status_excerpt(struct arena *a, struct str text);
