#pragma once

/* Strategic merge patches: merge patches that merge certain lists by key.
 *
 *   spec: { containers: [ { name: web, image: web:2 }, { name: old, $patch: delete } ] }
 *
 * The schema defines which lists are merged, and by which key (struct schema_field; these are not
 * the keys of server-side apply, which differ for some lists). All other lists are replaced.
 * Directives:
 *
 *   $patch: replace | delete | merge        in a map, or in an item of a list
 *   $retainKeys: [ … ]                      members that stay; all others are removed
 *   $deleteFromPrimitiveList/NAME: [ … ]    items to remove from the list NAME of scalars
 *   $setElementOrder/NAME: [ … ]            the order of the list NAME afterwards
 *
 * Only for built-in kinds: custom kinds have no strategic merge. */

#include "merge/schema.h"

/* live with the patch applied. Fails with ERR_INVALID where the API server answers 400 or 500: an
 * invalid directive, an item without its key, a type that does not fit. */
bool strategic_merge(struct arena *a, const struct schema *s, struct json live, struct json patch,
    struct json *ret, struct error *err) must_check;
