#pragma once

/* What the server does by itself, as its own client: the objects that every cluster begins with,
 * the account and the CA of each namespace, the rules of aggregated roles. In a large cluster the
 * last two are kube-controller-manager's work. */

#include "apiserver/server.h"

struct upkeep;

/* root_ca.ptr NULL: no kube-root-ca.crt. What is due at first is done by the first run. */
struct upkeep *upkeep_new(struct apiserver *s, struct str root_ca);
void upkeep_free(struct upkeep *u);
bool upkeep_is_pending(const struct upkeep *u);
/* Before a flush: opens the calls that are due, whose answers nobody reads. */
void upkeep_run(struct upkeep *u);
