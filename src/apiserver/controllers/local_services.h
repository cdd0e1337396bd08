#pragma once

/* One APIService for each version of a custom group, which says that this server serves it. Created
 * and deleted with the CRDs, as kube-apiserver does. Those of built-in groups exist from the start
 * (bootstrap.json). */

#include "apiserver/core/server.h"

struct local_services;

struct local_services *local_services_new(struct apiserver *s);
void local_services_free(struct local_services *l);
/* Its last writes may have been undone. */
void local_services_doubt(struct local_services *l);
