#pragma once

/* Decodes objects in Kubernetes' binary format, which Go clients send for built-in kinds. It is
 * never written: every client that sends it also accepts JSON. */

#include "base/json.h"
#include "base/str.h"

#define PROTOBUF_CONTENT_TYPE "application/vnd.kubernetes.protobuf"

/* The type of a body without one. */
struct protobuf_type {
    const char *api_version, *kind;
};

/* Decodes a whole body, including magic and envelope, to the JSON object that the client would have
 * sent, with apiVersion and kind. Unknown fields are skipped, as in protobuf. A missing type is
 * taken from `usual` (may be NULL). Fails with ERR_INVALID for malformed bytes and ERR_UNSUPPORTED
 * for a kind without a binary format; then *ret has apiVersion and kind, if they were read. */
bool protobuf_decode(struct arena *a, struct str body, const struct protobuf_type *usual,
    struct json *ret, struct error *err) must_check;
