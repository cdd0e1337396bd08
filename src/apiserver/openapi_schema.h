#pragma once

/* The schemas in an OpenAPI document: one for each kind, its list, and whatever types they refer
 * to. */

#include "apiserver/server.h"

#define OPENAPI_META "io.k8s.apimachinery.pkg.apis.meta.v1."

struct openapi_schemas {
    struct apiserver *server;
    struct arena *arena;
    const char *prefix; /* of references: "#/components/schemas/" or "#/definitions/" */
    bool v2;
    struct json_builder map;
    uint8_t *seen;        /* which of the built-in types are in the map or in the queue */
    uint16_t *queue;      /* types to describe yet */
    size_t queued, taken; /* its length, and how many of them are done */
};

void openapi_schemas_init(
    struct openapi_schemas *o, struct apiserver *s, struct arena *a, const char *prefix);
void openapi_schemas_add(struct openapi_schemas *o, const struct api_kind *k);
struct json openapi_schemas_end(struct openapi_schemas *o);

/* "io.k8s.api.apps.v1.Deployment", "com.example.v1.Widget". */
const char *openapi_kind_name(struct arena *a, const struct api_kind *k);
const char *openapi_list_name(struct arena *a, const struct api_kind *k);
/* { "$ref": … } for a document of version 3. */
struct json openapi_ref(struct arena *a, const char *name);
/* openAPIV3Schema of the CRD's version; absent: none. */
struct json openapi_crd_schema(struct apiserver *s, struct arena *a, const struct api_kind *k);
