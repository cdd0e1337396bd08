#pragma once

/* One APIService for each version of a custom group, which says that this server has it: made and
 * taken away with the definitions, as kube-apiserver does. Those of built-in groups are there from
 * the start (bootstrap.json). */

#include "apiserver/core/server.h"

struct local_services;

struct local_services *local_services_new(struct apiserver *s);
void local_services_free(struct local_services *l);
/* What it wrote last may have been undone. */
void local_services_doubt(struct local_services *l);
