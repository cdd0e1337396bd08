#pragma once

/* What Prometheus clients tell of every process, under their names: time, memory, files, start. */

struct buf;

void metric_process_print(struct buf *to);
