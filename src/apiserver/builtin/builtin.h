#pragma once

/* The kinds that every API server has: Pods, Deployments, Services, …
 *
 * One row of the table in builtin.c is one kind in one version: its names, verbs, columns, and its
 * rules (builtin_rules.h), which adapt the generic functions of builtin_object.c to the kind. The
 * types come from the generated schemas of src/merge.
 *
 * These are only stored, and nothing acts on them: webhook configurations and admission policies
 * (they are not called), and the scheduling of RuntimeClasses. */

#include "apiserver/core/registry.h"

struct builtin; /* the kinds of one registry */

/* Registers all of them. They stay valid until builtin_free(), which must be called after the
 * registry is freed. */
struct builtin *builtin_register(struct registry *r);
/* The range of cluster IPs; 10.96.0.0/16 by default. Call it before the first Service is
 * created. */
bool builtin_set_service_range(struct builtin *b, const char *cidr, struct error *err) must_check;
void builtin_free(struct builtin *b);
