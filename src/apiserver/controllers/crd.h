#pragma once

/* CustomResourceDefinitions at work: the kind itself, the kinds that come and go with its objects,
 * and what the API server's controllers do with them afterwards: accept their names, establish
 * them, delete the objects of one that is deleted.
 *
 * That happens in a hook, after the answers of a turn are out, as it does in the API server
 * shortly after. */

#include "apiserver/core/server.h"

struct crds;

/* Registers the kind CustomResourceDefinition, and the kinds of those that are stored. */
struct crds *crds_new(struct apiserver *s);
void crds_free(struct crds *c); /* after the registry */
/* What was done of late may have been undone: every definition is looked at again. */
void crds_doubt(struct crds *c);

/* Whether this is the kind CustomResourceDefinition itself. */
bool crds_is_kind(const struct api_kind *k);
/* A definition as a DELETE leaves it: its objects go first, which a finalizer waits for. */
struct json crds_mark(struct arena *a, struct json crd, const char *now);
