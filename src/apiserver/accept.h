#pragma once

/* In which form a client wants its answer: the Accept header.
 *
 *   application/json;as=Table;v=v1;g=meta.k8s.io, application/json
 *
 * JSON and YAML are offered. Forms are the object itself, a Table (`kubectl get`), and bare
 * metadata (garbage collectors, caches). */

#include "apiserver/answer.h"
#include "apiserver/registry.h"

enum accept_form {
    ACCEPT_OBJECT,
    ACCEPT_TABLE,
    ACCEPT_PARTIAL,      /* PartialObjectMetadata: of one object, or in the events of a watch */
    ACCEPT_PARTIAL_LIST, /* PartialObjectMetadataList: of a list */
};

enum accept_media { MEDIA_JSON, MEDIA_YAML };

struct accept {
    enum accept_form form;
    enum accept_media media;
    bool pretty;              /* asked for by application/json;pretty=1 */
    const char *api_version;  /* of Table and metadata: meta.k8s.io/v1 or v1beta1 */
    const char *content_type; /* of the answer */
};

/* What the answer is about, for what may be asked of it. */
enum accept_target { ACCEPT_OF_OBJECT, ACCEPT_OF_LIST, ACCEPT_OF_WATCH, ACCEPT_OF_LOG };

/* The first form of the list, by quality, that can be served. header NULL or "": JSON. False: none
 * can, and *ret_refusal is the answer, usually 406. */
bool accept_choose(struct arena *a, const char *header, const struct api_kind *k,
    enum accept_target target, struct accept *ret, struct api_answer *ret_refusal) must_check;

/* ---- for documents, which have forms of their own ---- */

/* One element of the header. */
struct accept_clause {
    const char *type;                 /* "application/json", in lower case */
    const char *as, *group, *version; /* "" where not given */
    bool pretty;
    int quality; /* 0 to 1000 */
};
/* Whether the router of built-in paths lets a request pass: it looks at media types alone. */
bool accept_router_takes(const struct accept_clause *list, size_t count);
/* By quality, then as specific as it is, then by place. */
const struct accept_clause *accept_parse(struct arena *a, const char *header, size_t *ret_count);
