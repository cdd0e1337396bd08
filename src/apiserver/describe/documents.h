#pragma once

/* What is served besides objects: discovery, OpenAPI, the version, health and metrics.
 *
 *   /api  /apis  /api/v1  /apis/G  /apis/G/V      discovery.c, legacy and aggregated
 *   /openapi/v2  /openapi/v3  /openapi/v3/…       openapi.c
 *   /version  /healthz  /livez  /readyz  /metrics
 *
 * Documents are built on first use and kept until the registry changes. */

#include "apiserver/core/answer.h"
#include "apiserver/core/server.h"

struct documents;

struct documents *documents_new(struct apiserver *s);
void documents_free(struct documents *d);
/* False: the path is none of the above, so it is a resource or unknown (404). The body is valid
 * until the next call. if_none_match of the request may lead to a 304. */
bool documents_answer(struct documents *d, struct arena *a, const struct api_request *r,
    struct api_answer *ret) must_check;
