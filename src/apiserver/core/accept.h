#pragma once

/* The form of the response that a client requests: the Accept header.
 *
 *   application/json;as=Table;v=v1;g=meta.k8s.io, application/json
 *
 * JSON and YAML are supported. Forms are the object itself, a Table (`kubectl get`), and bare
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
    bool pretty;              /* requested by application/json;pretty=1 */
    const char *api_version;  /* of Table and metadata: meta.k8s.io/v1 or v1beta1 */
    const char *content_type; /* of the response */
};

/* The subject of the response, which determines the possible forms. A bare object has no
 * columns. */
enum accept_target {
    ACCEPT_OF_OBJECT,
    ACCEPT_OF_LIST,
    ACCEPT_OF_WATCH,
    ACCEPT_OF_LOG,
    ACCEPT_OF_BARE,
};

/* Chooses the first supported form of the list, by quality. header NULL or "": JSON. False: none is
 * supported, and *ret_refusal is the response, 406. */
bool accept_choose(struct arena *a, const char *header, const struct api_kind *k,
    enum accept_target target, struct accept *ret, struct api_answer *ret_refusal) must_check;
/* Whether the chosen form can stream events, for a watch that is otherwise valid. False: 406. */
bool accept_streams(
    struct arena *a, const struct accept *accept, struct api_answer *ret_refusal) must_check;
/* Whether the result, a list or an object of the kind, can be shown in the form. Checked only when
 * the request is done. False: *ret_refusal is the response. */
bool accept_fits(struct arena *a, enum accept_form form, const struct api_kind *k, bool list,
    struct api_answer *ret_refusal) must_check;
/* Errors use the first requested media type without a form; JSON if there is none. */
enum accept_media accept_error_media(struct arena *a, const char *header);

/* ---- for documents, which have their own forms ---- */

/* One element of the header. */
struct accept_clause {
    const char *type;                 /* "application/json" */
    const char *as, *group, *version; /* NULL if not given */
    const char *stream, *server_version;
    bool pretty;
    double quality;
};
/* Whether the router of built-in paths accepts a request. It checks only media types, and does not
 * know wildcards of subtypes. more: an additional supported type; NULL: none. */
bool accept_router_takes(const char *header, const char *more);
/* Sorted by quality, then by specificity, then by position. */
const struct accept_clause *accept_parse(struct arena *a, const char *header, size_t *ret_count);
