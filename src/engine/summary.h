#pragma once

/* What tools that know no kind of ours ask of every object (kstatus, Flux, Argo CD): whether it is
 * as its spec wants it, and whether that needs somebody. From what the kind planned anyway:
 *
 *   observedGeneration   if the kind has not said one itself
 *   Ready                if the kind has none: True if the phase, or the main condition, is good
 *   Stalled              True while nothing will change by itself; else it is not there. An event
 *                        tells of it once, unless the kind tells of something itself
 *
 * Only for custom kinds, and only where our CRD has a place for it. */

struct kind;
struct plan;
struct schema;
struct view;

void summary_add(
    const struct kind *kind, const struct schema *schema, const struct view *in, struct plan *p);
