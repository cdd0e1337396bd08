#pragma once

/* Prometheus metrics: families with a few series each, printed in the text format. Names are those
 * of controller-runtime where it has one, so that existing dashboards and alerts keep working. */

#include "base/base.h"

struct buf;

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric_series {
    char *labels;      /* `controller="model",result="success"`, or "" */
    double value;      /* of a histogram: the sum */
    uint64_t *buckets; /* of a histogram: one a bound, then +Inf */
};

/* A family is static data of whoever counts; metrics only links and fills it. */
struct metric {
    const char *name;
    const char *help;
    enum metric_type type;
    const double *bounds; /* of a histogram, ascending, ended by 0 */
    struct metric_series *series;
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
double metric_value(const struct metric *family, const char *labels);
void metrics_print(const struct metrics *m, struct buf *to);
/* One series under another name and with other labels; nothing if it was never touched. */
void metric_print_as(const struct metric *family, const char *labels, const char *name,
    const char *as, struct buf *to);

/* 5 ms to 10 s, for times of requests and reconciles. */
extern const double METRIC_SECONDS[];
