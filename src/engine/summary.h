#pragma once

/* What generic tools (kstatus, Flux, Argo CD) read from every object: whether it matches its spec,
 * and whether it needs attention. Derived from the kind's plan:
 *
 *   observedGeneration   if the kind has not set it
 *   Ready                if the kind has none: True if the phase, or the main condition, is good
 *   Stalled              True while nothing will change by itself; otherwise absent. An event
 *                        reports it once, unless the kind sends an event itself
 *
 * Only for custom kinds, and only for fields that our CRD declares. */

struct kind;
struct plan;
struct schema;
struct view;

void summary_add(
    const struct kind *kind, const struct schema *schema, const struct view *in, struct plan *p);
