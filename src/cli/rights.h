#pragma once

/* What the operator may do: the rules of its role, read off the kinds' own watch lists, so that
 * they are neither more nor less than the kinds use. Each resource appears once. */

#include "base/json.h"

struct families;

/* The rules for resources in namespaces, or for those of the cluster. */
struct json rights_rules(struct arena *a, const struct families *f, bool cluster_scoped);
/* The rules for people: verbs (with blanks between them) on the custom kinds of the families. */
struct json rights_of_people(struct arena *a, const struct families *f, const char *verbs);
/* A rule; resources and verbs with blanks between them. */
struct json rights_rule(
    struct arena *a, const char *group, const char *resources, const char *verbs);
