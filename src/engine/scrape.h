#pragma once

/* Metrics that are computed from the objects in the cache when they are scraped. Nothing is counted
 * in advance, a restart loses nothing, and a deleted object takes its series with it.
 *
 * A kind with metrics has a function (struct kind, `measure`), which is called for each of its
 * objects, ordered by namespace and name, and adds samples to the kind's families. */

#include "base/metric.h"

struct scrape;

#define SCRAPE_LABELS_MAX 4

/* Static data of a kind. */
struct scrape_family {
    const char *name;
    const char *help;
    enum metric_type type;
    const double *bounds; /* of a histogram, ascending, terminated by 0 */
    const char *labels[SCRAPE_LABELS_MAX + 1];
};

/* Adds a sample; values has one text per label. If the labels equal those of the previous sample in
 * the family, the value is added to that sample. For a histogram a value is one observation. Empty
 * buckets are omitted; the sum over series does not change. */
void scrape_add(
    struct scrape *s, const struct scrape_family *family, double value, const char *const *values);
#define SCRAPE_LABELS(...) ((const char *const[]){ __VA_ARGS__ })

struct buf;
struct scrape *scrape_new(size_t bytes_max); /* for one family */
void scrape_free(struct scrape *s);
void scrape_print(struct scrape *s, struct buf *to);
