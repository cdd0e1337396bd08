#pragma once

/* CRDs: the kind CustomResourceDefinition, the kinds that its objects define, and what the API
 * server's controllers do with them: accept their names, establish them, and delete the objects of
 * a deleted CRD.
 *
 * This runs in a hook after the responses of a turn are sent; the real API server also does it
 * shortly after. */

#include "apiserver/core/server.h"

struct crds;

/* Registers the kind CustomResourceDefinition, and the kinds of the stored CRDs. */
struct crds *crds_new(struct apiserver *s);
void crds_free(struct crds *c); /* after the registry */
/* Recent writes may have been undone: checks every CRD again. */
void crds_doubt(struct crds *c);

/* Whether this is the kind CustomResourceDefinition itself. */
bool crds_is_kind(const struct api_kind *k);
/* A CRD as a DELETE leaves it: a finalizer waits until its objects are deleted. */
struct json crds_mark(struct arena *a, struct json crd, const char *now);
