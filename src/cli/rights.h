#pragma once

/* The permissions of the operator: the rules of its role, derived from the kinds' watch lists, so
 * that they are exactly what the kinds use. Each resource appears once. */

#include "base/json.h"

struct families;

/* The rules for namespaced resources, or for cluster-scoped ones. */
struct json rights_rules(struct arena *a, const struct families *f, bool cluster_scoped);
/* The rules for users: verbs (separated by spaces) on the custom kinds of the families. */
struct json rights_of_people(struct arena *a, const struct families *f, const char *verbs);
/* A rule; resources and verbs are separated by spaces. */
struct json rights_rule(
    struct arena *a, const char *group, const char *resources, const char *verbs);
