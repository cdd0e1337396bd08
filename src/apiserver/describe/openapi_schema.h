#pragma once

/* The schemas in an OpenAPI document: those of the kinds that it is about, and whatever they and
 * the document's paths refer to. Schemas of built-in kinds are a kube-apiserver's own without its
 * prose (openapi.json, made by tools/schema-gen), those of custom kinds their definition's. */

#include "apiserver/core/server.h"

#define OPENAPI_META "io.k8s.apimachinery.pkg.apis.meta.v1."

struct openapi_schemas {
    struct apiserver *server;
    struct arena *arena;
    bool v2;
    bool custom;                 /* the document is about custom kinds */
    struct json known;           /* openapi.json: by name */
    struct json_builder map;     /* what the document has of them */
    uint8_t *seen;               /* which of the known ones are in the map or in the queue */
    uint16_t *queue;             /* those to put into the map yet */
    size_t queued, taken;        /* its length, and how many of them are done */
    const char *group, *version; /* that the document is of; NULL: of all */
};

/* Both NULL: a document of version 2, about everything. */
void openapi_schemas_init(struct openapi_schemas *o, struct apiserver *s, struct arena *a,
    const char *group, const char *version);
/* A custom kind and its list; built-in ones come when they are referred to. */
void openapi_schemas_add(struct openapi_schemas *o, const struct api_kind *k);
void openapi_schemas_add_all(struct openapi_schemas *o); /* all that is built in */
struct json openapi_schemas_end(struct openapi_schemas *o);

/* "io.k8s.api.apps.v1.Deployment", "com.example.v1.Widget". */
const char *openapi_kind_name(
    struct openapi_schemas *o, const char *group, const char *version, const char *kind);
/* { "$ref": … }; what it refers to gets into the document. */
struct json openapi_ref(struct openapi_schemas *o, const char *name);
/* The entry of spec.versions of its CRD; absent: none. */
struct json openapi_crd_version(struct apiserver *s, struct arena *a, const struct api_kind *k);
