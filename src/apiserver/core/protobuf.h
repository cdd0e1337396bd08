#pragma once

/* Objects in Kubernetes' binary form, which Go clients send for built-in kinds. They are read,
 * never written: every client that sends them also takes JSON. */

#include "base/json.h"
#include "base/str.h"

#define PROTOBUF_CONTENT_TYPE "application/vnd.kubernetes.protobuf"

/* What a body is that does not say so. */
struct protobuf_type {
    const char *api_version, *kind;
};

/* A whole body, magic and envelope included, as the JSON object that the same client would have
 * sent, with apiVersion and kind. Fields that this version does not know are skipped, as protobuf
 * has it. usual (NULL: nothing) is filled in. Fails with ERR_INVALID on bytes that are none and
 * ERR_UNSUPPORTED on a kind without a binary form; *ret then has the two, if they were read. */
bool protobuf_decode(struct arena *a, struct str body, const struct protobuf_type *usual,
    struct json *ret, struct error *err) must_check;
