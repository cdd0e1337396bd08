#pragma once

/* Adds up several texts in Prometheus' format, as if one process had counted it all: samples with
 * the same name and labels are added, and families stay together. For the resource versions of
 * watches, the minimum is used. */

#include "base/str.h"

struct buf;

struct metrics_sum;

struct metrics_sum *metrics_sum_new(void);
void metrics_sum_add(struct metrics_sum *s, struct str text);
void metrics_sum_print(const struct metrics_sum *s, struct buf *to);
void metrics_sum_free(struct metrics_sum *s);
