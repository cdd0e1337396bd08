#pragma once

/* The kinds that every API server has: Pods, Deployments, Services, …
 *
 * One row of the table in builtin.c is one kind in one version: its names, what it can do, its
 * columns, and its rules (builtin_rules.h), which make the generic functions of builtin_object.c
 * behave as that kind does. The types come from the generated schemas of src/merge.
 *
 * Stored only, with nothing that acts on them: webhook configurations and admission policies (they
 * are not called), runtime classes' scheduling. */

#include "apiserver/core/registry.h"

struct builtin; /* the kinds of one registry */

/* Adds all of them. They stay valid until builtin_free(), which comes after the registry's end. */
struct builtin *builtin_register(struct registry *r);
/* Where cluster IPs come from; 10.96.0.0/16 otherwise. Before the first Service is made. */
bool builtin_set_service_range(struct builtin *b, const char *cidr, struct error *err) must_check;
void builtin_free(struct builtin *b);
