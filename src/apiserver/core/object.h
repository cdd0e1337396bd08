#pragma once

/* Converts objects between store and client.
 *
 * Stored texts begin with apiVersion and kind and are sorted after that. So the items of a list,
 * which have neither, and versions of a kind that differ only in apiVersion are sent without
 * parsing: a new head and the old rest. */

#include "apiserver/core/registry.h"
#include "apiserver/store/store.h"

struct buf;

/* {"apiVersion":…,"kind":…,…} */
void object_print(struct buf *b, struct json object);
/* Length of the head `{"apiVersion":"…","kind":"…"`; 0: the text has no such head. */
size_t object_head_bytes(struct str text);
/* Whether the text can be sent to clients of this kind without parsing: with its own head
 * (*ret_same) or with the head of the kind. */
bool object_is_plain(const struct api_kind *k, const struct store_object *o, bool *ret_same);
/* "example.com/v1": the stored version. */
struct str object_version(const struct store_object *o);
/* Parsed, in the kind's version. */
struct json object_read(const struct api_kind *k, struct arena *a, const struct store_object *o);
/* The same; but in the stored version if the response is a table or bare metadata, which are built
 * from that. */
struct json object_read_as(
    const struct api_kind *k, struct arena *a, const struct store_object *o, bool itself);
/* In the kind's version. */
struct json object_to_kind(const struct api_kind *k, struct arena *a, struct json object);
/* In the storage version. */
struct json object_to_storage(const struct api_kind *k, struct arena *a, struct json object);
/* "apps/v1": of the served kind. */
const char *object_api_version(struct arena *a, const struct api_kind *k);
/* "core.ConfigMapList": the API server's internal name for this kind, or list, in messages. */
const char *object_go_type(struct arena *a, const struct api_kind *k, const char *kind);
