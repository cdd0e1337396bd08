#pragma once

/* The forms in which a client may want objects (its Accept header), and the two that are not the
 * object itself: tables for people (`kubectl get`) and bare metadata (garbage collectors, caches).
 *
 *   application/json;as=Table;v=v1;g=meta.k8s.io, application/json */

#include "apiserver/registry.h"

enum accept_form {
    ACCEPT_OBJECT,
    ACCEPT_TABLE,
    ACCEPT_PARTIAL,      /* PartialObjectMetadata; of a list: its items in a ...List */
    ACCEPT_PARTIAL_LIST, /* asked for by name; for lists only */
};

enum accept_media { MEDIA_JSON, MEDIA_YAML };

struct accept {
    enum accept_form form;
    enum accept_media media;
    const char *api_version;  /* meta.k8s.io/v1 or v1beta1 */
    const char *content_type; /* of the answer */
};

/* What the request is, for what may be asked of it. */
enum accept_target { ACCEPT_OF_OBJECT, ACCEPT_OF_LIST, ACCEPT_OF_WATCH };

/* The first form of the list that can be served, by quality. header NULL or "": JSON. False: none
 * can; answer 406 with accept_refusal() as the message and reason NotAcceptable. */
bool accept_choose(
    struct arena *a, const char *header, enum accept_target target, struct accept *ret) must_check;
const char *accept_refusal(enum accept_target target);

/* includeObject=, which decides what stands beside the cells. */
enum table_include { TABLE_METADATA, TABLE_NONE, TABLE_OBJECT };
/* False: 400 with err's words. text NULL: metadata. */
bool table_include_parse(const char *text, enum table_include *ret, struct error *err) must_check;

/* The list of columnDefinitions. */
struct json table_columns(struct arena *a, const struct api_kind *k);
/* One row: cells, and object as asked for; accept's version is that of the bare metadata. */
struct json table_row(struct arena *a, const struct api_kind *k, const struct accept *accept,
    enum table_include include, struct json object, int64_t wall_ms);
/* A whole Table of one object, for a GET or an event of a watch; columns false: columnDefinitions
 * is null, as in all events but a watch's first. */
struct json table_of_object(struct arena *a, const struct api_kind *k, const struct accept *accept,
    enum table_include include, struct json object, bool columns, int64_t wall_ms);
/* A Table of a list, whose metadata (resourceVersion, continue, remainingItemCount) is given. The
 * server streams long lists itself by table_columns() and table_row(). */
struct json table_of_list(struct arena *a, const struct api_kind *k, const struct accept *accept,
    enum table_include include, struct json metadata, struct json items, int64_t wall_ms);
/* A bookmark in a watch for tables: no rows, the version in metadata. */
struct json table_of_bookmark(struct arena *a, const struct accept *accept, struct json object);

/* kind, apiVersion and metadata; nothing else. */
struct json partial_of_object(struct arena *a, const struct accept *accept, struct json object);

/* "5m", "3d4h": how long ago, as kubectl prints it; "<unknown>", "<invalid>". */
const char *table_age(struct arena *a, const char *rfc3339, int64_t wall_ms);
