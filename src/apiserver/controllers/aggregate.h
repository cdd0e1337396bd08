#pragma once

/* The rules of ClusterRoles with an aggregationRule, kept as those of the roles that it selects: in
 * a large cluster kube-controller-manager's work. */

#include "apiserver/core/server.h"

struct aggregate;

struct aggregate *aggregate_new(struct apiserver *s);
void aggregate_free(struct aggregate *g);
/* What it wrote last may have been undone. */
void aggregate_doubt(struct aggregate *g);
