#pragma once

/* RFC 6902 patches and RFC 7386 merge patches, with the habits of the library that kube-apiserver
 * uses: a member that is not there reads as null, so it may be replaced, copied and tested. */

#include "base/json.h"

/* Of what all copy operations of one patch make. */
#define JSON_PATCH_COPY_BYTES_MAX ((size_t)3 << 20)
#define JSON_PATCH_OPERATIONS_MAX 10000

/* operations is a list. Fails on the first that cannot be done; clients are not told which. givens
 * (NULL: none) of the operations' text forget the maps that the library has looked into: it leaves
 * others as the text that they were. */
bool json_patch(struct arena *a, struct json document, struct json operations,
    struct json_givens *givens, struct json *ret, struct error *err) must_check;
struct json json_merge_patch(struct arena *a, struct json document, struct json patch);
