#pragma once

/* The standard process metrics of Prometheus clients: CPU time, memory, files, start time. */

struct buf;

void metric_process_print(struct buf *to);
