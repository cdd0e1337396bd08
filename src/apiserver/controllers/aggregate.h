#pragma once

/* Keeps the rules of ClusterRoles with an aggregationRule equal to those of the selected roles, as
 * kube-controller-manager does. */

#include "apiserver/core/server.h"

struct aggregate;

struct aggregate *aggregate_new(struct apiserver *s);
void aggregate_free(struct aggregate *g);
/* Its last writes may have been undone. */
void aggregate_doubt(struct aggregate *g);
