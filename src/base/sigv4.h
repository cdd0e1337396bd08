#pragma once

/* AWS Signature Version 4 in the headers of a request, as "Signature Version 4 signing process" of
 * the AWS reference describes it.
 *
 *   struct sigv4_request q = { .method = "POST", .path = "/model/x/converse", .region =
 * "us-east-1", .service = "bedrock", .headers = h, .header_count = n, .body_sha256 = hex, .now_ms =
 * now }; struct sigv4_signature s = sigv4_sign(arena, &keys, &q);
 *
 * The caller then sends exactly these headers: `headers` (host among them, as it goes on the wire),
 * authorization = s.authorization, x-amz-date = s.date, x-amz-security-token if the keys have a
 * token, and x-amz-content-sha256 = body_sha256 if `sends_body_sha256`. More headers may be sent
 * that are not in `headers`: they are not signed. */

#include "base/arena.h"
#include "base/str.h"

struct sigv4_keys {
    const char *id, *secret;
    const char *token; /* of temporary keys; NULL or "": none */
};

struct sigv4_header {
    const char *name; /* in any case */
    struct str value;
};

/* Allowed value of body_sha256 instead of a digest where the service accepts it, because the
 * request uses TLS. */
#define SIGV4_UNSIGNED_BODY "UNSIGNED-PAYLOAD"

struct sigv4_request {
    const char *method;
    const char *path;  /* as on the wire, percent-encoded; "" is "/" */
    const char *query; /* as on the wire, without '?'; NULL: none */
    const char *region, *service;
    const struct sigv4_header *headers; /* to be signed; one of them must be host */
    size_t header_count;
    const char *body_sha256; /* 64 lower-case digits (sha256_hex()) */
    bool sends_body_sha256;  /* x-amz-content-sha256 is sent and signed; S3 requires it */
    bool is_s3;              /* its paths are neither normalized nor encoded a second time */
    int64_t now_ms;          /* wall clock */
};

struct sigv4_signature {
    const char *authorization; /* value of the header */
    const char *date;          /* of x-amz-date: 20150830T123600Z */
    const char *canonical;     /* what was signed, for messages and tests */
};

struct sigv4_signature sigv4_sign(
    struct arena *a, const struct sigv4_keys *keys, const struct sigv4_request *q);
