#pragma once

/* Prometheus metrics: families of counters, gauges and histograms, printed in the text format.
 *
 * A series appears when it is first touched and stays. A family has at most series_max of them:
 * past that, all new label sets share one series whose label values are all "other", so that a
 * client cannot fill memory with invented label values.
 *
 * A hot path looks up its series once with metric_series() and keeps the handle, which is valid
 * until metrics_done():
 *
 *   struct metric_series *ok = metric_series(&requests, "code=\"200\"");
 *   metric_series_add(ok, 1); */

#include "base/base.h"
#include "base/str.h"

struct buf;

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

#define METRIC_SERIES_MAX 1024     /* per family, unless series_max is set */
#define METRIC_LABEL_BYTES_MAX 128 /* per label value; the rest is cut */

struct metric_series {
    uint64_t hash;     /* of labels */
    char *labels;      /* `controller="model",result="success"`, or "" */
    double value;      /* of a histogram: the sum */
    uint64_t *buckets; /* for a histogram: one per bound, then +Inf */
};

/* The caller owns the family; the metrics only link and fill it. */
struct metric {
    const char *name;
    const char *help;
    enum metric_type type;
    const double *bounds; /* for a histogram, ascending, terminated by 0 */
    size_t series_max;    /* 0: METRIC_SERIES_MAX */
    struct metric_series **series;
    size_t count;
    struct metric *next;
    bool linked;
};

struct metrics {
    struct metric *first, *last;
};

/* Adds a family; the pointer must outlive metrics. */
void metrics_link(struct metrics *m, struct metric *family);
/* Frees the series of all families. */
void metrics_done(struct metrics *m);

/* labels NULL: none. A series appears when it is first touched. */
void metric_add(struct metric *family, const char *labels, double by);
void metric_set(struct metric *family, const char *labels, double value);
void metric_observe(struct metric *family, const char *labels, double value);
/* The series, for repeated use; never NULL. */
struct metric_series *metric_series(struct metric *family, const char *labels);
static inline void metric_series_add(struct metric_series *s, double by)
{
    s->value += by;
}
static inline void metric_series_set(struct metric_series *s, double value)
{
    s->value = value;
}
void metric_series_observe(const struct metric *family, struct metric_series *s, double value);
/* Appends `name="value"`, escaped and truncated, after a comma if the buffer is not empty. */
void metric_label(struct buf *to, const char *name, struct str value);
/* For a histogram: the sum. 0 if the series does not exist. */
double metric_value(const struct metric *family, const char *labels);
void metrics_print(const struct metrics *m, struct buf *to);
/* Prints one series under another name and with other labels; nothing if it was never touched. */
void metric_print_as(const struct metric *family, const char *labels, const char *name,
    const char *as, struct buf *to);

/* 5 ms to 10 s, for request and reconcile times. */
extern const double METRIC_SECONDS[];
