#pragma once

/* The columns of `kubectl get` for built-in kinds (their definitions are in builtin.c). */

#include "base/json.h"

enum cell_kind {
    CELL_NAME = 1,   /* with " (default)" after a default class */
    CELL_AGE,        /* age of the time at path; NULL: since creation */
    CELL_CREATED,    /* the time itself */
    CELL_TEXT,       /* the value at path, else .otherwise */
    CELL_INT,        /* 0 if absent */
    CELL_BOOL,       /* false if absent */
    CELL_COUNT,      /* of items or members */
    CELL_RATIO,      /* path/other, numbers */
    CELL_LABELS,     /* a map: a=b,c=d */
    CELL_SELECTOR,   /* a LabelSelector */
    CELL_CONTAINERS, /* names of the containers in the pod spec at path */
    CELL_IMAGES,
    CELL_FUNCTION,
};

struct cell {
    enum cell_kind kind;
    const char *path;
    const char *otherwise; /* for CELL_RATIO the other path */
    struct json (*function)(struct arena *a, struct json object, int64_t wall_ms);
};

/* The cells of a kind, in the order of its columns; terminated by kind 0. */
const struct cell *cells_of(const char *kind);
struct json cells_make(
    struct arena *a, const struct cell *cells, struct json object, int64_t wall_ms);

/* ---- for the files of this module ---- */

/* "a,b,c", from the texts at path in each item. */
struct json cells_joined(struct arena *a, struct json list, const char *path, const char *between);
/* The text, or "<none>" and the like if it is absent. */
const char *cells_text(struct json object, const char *path, const char *otherwise);

struct json cell_pod_ready(struct arena *a, struct json pod, int64_t wall_ms);
struct json cell_pod_status(struct arena *a, struct json pod, int64_t wall_ms);
struct json cell_pod_restarts(struct arena *a, struct json pod, int64_t wall_ms);
struct json cell_pod_gates(struct arena *a, struct json pod, int64_t wall_ms);
struct json cell_service_external(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_service_ports(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_job_status(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_job_completions(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_job_duration(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_metrics(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_ingress_hosts(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_ingress_address(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_ingress_ports(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_endpoints(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_slice_ports(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_slice_endpoints(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_node_status(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_node_roles(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_node_internal(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_node_external(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_node_kernel(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_event_last(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_event_first(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_event_object(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_event_source(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_event_message(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_event_count(struct arena *a, struct json o, int64_t wall_ms);
struct json cell_event_path(struct arena *a, struct json o, int64_t wall_ms);
