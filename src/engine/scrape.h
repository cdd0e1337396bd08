#pragma once

/* Metrics that are worked out when they are asked for, from the objects in the cache: nothing is
 * counted beforehand, a restart forgets nothing, and an object that goes takes its series along.
 *
 * A kind that has any gives a function (struct kind, `measure`) that is called for each of its
 * objects, in the order of namespace and name, and adds samples to families of its own. */

#include "base/metric.h"

struct scrape;

#define SCRAPE_LABELS_MAX 4

/* Static data of a kind. */
struct scrape_family {
    const char *name;
    const char *help;
    enum metric_type type;
    const double *bounds; /* of a histogram, ascending, ended by 0 */
    const char *labels[SCRAPE_LABELS_MAX + 1];
};

/* Adds a sample; values has one text a label. A value whose labels are those of the sample before
 * it in the family is added to that one. Of a histogram a value is one observation, and buckets
 * that hold nothing are left out: a sum over series is the same without them. */
void scrape_add(
    struct scrape *s, const struct scrape_family *family, double value, const char *const *values);
#define SCRAPE_LABELS(...) ((const char *const[]){ __VA_ARGS__ })

struct buf;
struct scrape *scrape_new(size_t bytes_max); /* of one family */
void scrape_free(struct scrape *s);
void scrape_print(struct scrape *s, struct buf *to);
