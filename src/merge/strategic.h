#pragma once

/* Strategic merge patches: merge patches that know which lists are merged by key.
 *
 *   spec: { containers: [ { name: web, image: web:2 }, { name: old, $patch: delete } ] }
 *
 * Which lists are merged, and by which key, the schema says (struct schema_field; not the keys of
 * server-side apply, which differ for some lists); all others are replaced. Directives:
 *
 *   $patch: replace | delete | merge        in a map, or in an item of a list
 *   $retainKeys: [ … ]                      members that stay; all others go
 *   $deleteFromPrimitiveList/NAME: [ … ]    items that leave the list NAME of scalars
 *   $setElementOrder/NAME: [ … ]            the order of the list NAME afterwards
 *
 * Only for kinds that are known: custom kinds have no strategic merge. */

#include "merge/schema.h"

/* live with the patch in it. Fails with ERR_INVALID on what the API server refuses with 400 or 500:
 * a directive that is not one, an item without its key, a type that does not fit. */
bool strategic_merge(struct arena *a, const struct schema *s, struct json live, struct json patch,
    struct json *ret, struct error *err) must_check;
