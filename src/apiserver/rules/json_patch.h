#pragma once

/* RFC 6902 patches and RFC 7386 merge patches, with the behaviour of the library in kube-apiserver:
 * a missing member reads as null, so it can be replaced, copied and tested. */

#include "base/json.h"

/* The limit for all copy operations of a patch. */
#define JSON_PATCH_COPY_BYTES_MAX ((size_t)3 << 20)
#define JSON_PATCH_OPERATIONS_MAX 10000

/* operations is a list. Fails for the first operation that is impossible; clients do not learn
 * which. givens (NULL: none), from the text of the operations, drop the maps that the library
 * decodes: it keeps others as raw text. */
bool json_patch(struct arena *a, struct json document, struct json operations,
    struct json_givens *givens, struct json *ret, struct error *err) must_check;
struct json json_merge_patch(struct arena *a, struct json document, struct json patch);
