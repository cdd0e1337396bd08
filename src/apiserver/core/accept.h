#pragma once

/* In which form a client wants its answer: the Accept header.
 *
 *   application/json;as=Table;v=v1;g=meta.k8s.io, application/json
 *
 * JSON and YAML are offered. Forms are the object itself, a Table (`kubectl get`), and bare
 * metadata (garbage collectors, caches). */

#include "apiserver/core/answer.h"
#include "apiserver/core/registry.h"

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

/* What the answer is about, for what may be asked of it. A bare object has no columns. */
enum accept_target {
    ACCEPT_OF_OBJECT,
    ACCEPT_OF_LIST,
    ACCEPT_OF_WATCH,
    ACCEPT_OF_LOG,
    ACCEPT_OF_BARE,
};

/* The first form of the list, by quality, that can be served. header NULL or "": JSON. False: none
 * can, and *ret_refusal is the answer, 406. */
bool accept_choose(struct arena *a, const char *header, const struct api_kind *k,
    enum accept_target target, struct accept *ret, struct api_answer *ret_refusal) must_check;
/* Whether events can come in what was chosen: a watch that is fine but for that. False: 406. */
bool accept_streams(
    struct arena *a, const struct accept *accept, struct api_answer *ret_refusal) must_check;
/* Whether what came out, a list or an object of the kind, can be shown in the form: seen only when
 * all is done. False: *ret_refusal is the answer. */
bool accept_fits(struct arena *a, enum accept_form form, const struct api_kind *k, bool list,
    struct api_answer *ret_refusal) must_check;
/* Errors come in the first media type that is asked for without a form; JSON if there is none. */
enum accept_media accept_error_media(struct arena *a, const char *header);

/* ---- for documents, which have forms of their own ---- */

/* One element of the header. */
struct accept_clause {
    const char *type;                 /* "application/json" */
    const char *as, *group, *version; /* NULL where not given */
    const char *stream, *server_version;
    bool pretty;
    double quality;
};
/* Whether the router of built-in paths lets a request pass: it looks at media types alone, and
 * knows no application/… with a star. more: one that is offered besides; NULL: none. */
bool accept_router_takes(const char *header, const char *more);
/* By quality, then as specific as it is, then by place. */
const struct accept_clause *accept_parse(struct arena *a, const char *header, size_t *ret_count);
