#pragma once

/* Objects between store and client.
 *
 * Stored texts begin with apiVersion and kind and are sorted after that, so the items of a list,
 * which have neither, and other versions of a kind that differ in nothing else, are sent without
 * parsing: a new head and the old rest. */

#include "apiserver/core/registry.h"
#include "apiserver/store/store.h"

struct buf;

/* {"apiVersion":…,"kind":…,…} */
void object_print(struct buf *b, struct json object);
/* Bytes of the head `{"apiVersion":"…","kind":"…"`; 0: the text has no such head. */
size_t object_head_bytes(struct str text);
/* Whether the text can be sent to clients of this kind without parsing: with its own head
 * (*ret_same) or with the kind's. */
bool object_is_plain(const struct api_kind *k, const struct store_object *o, bool *ret_same);
/* "example.com/v1": as it is stored. */
struct str object_version(const struct store_object *o);
/* Parsed, in the kind's version. */
struct json object_read(const struct api_kind *k, struct arena *a, const struct store_object *o);
/* The same, or in the version in which it is stored if the answer is of another form than the
 * object itself: rows and bare metadata are made of that. */
struct json object_read_as(
    const struct api_kind *k, struct arena *a, const struct store_object *o, bool itself);
/* In the kind's version. */
struct json object_to_kind(const struct api_kind *k, struct arena *a, struct json object);
/* In the version in which it is stored. */
struct json object_to_storage(const struct api_kind *k, struct arena *a, struct json object);
/* "apps/v1": of the kind as served. */
const char *object_api_version(struct arena *a, const struct api_kind *k);
/* "core.ConfigMapList": what the API server calls its own type of this kind, or list, in messages.
 */
const char *object_go_type(struct arena *a, const struct api_kind *k, const char *kind);
