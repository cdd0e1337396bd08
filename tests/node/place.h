#pragma once

/* A whole node on the built-in API server, with real processes. */

#include "node/node.h"
#include "tests/node/harbor.h"

#define PODS "/api/v1/namespaces/default/pods"

struct process_runtime;

struct place {
    struct harbor harbor;
    struct loop *loop;
    struct process_runtime *runtime;
    struct image_map *images;
    struct node *node;
    bool stopped, in_use;
};

void place_open(struct place *p);
void place_open_with(struct place *p, const char *cgroups);
/* Its node alone, after it was freed. */
void place_start_node(struct place *p, const char *cgroups);
/* Ends its pods; closing does, too. */
void place_stop(struct place *p);
void place_close(struct place *p);

/* A pod of one container `main` on our node; of_container, of_pod: ", 'x': …" or "". */
void run_pod_with(struct place *p, const char *name, const char *script, const char *of_container,
    const char *of_pod);
void run_pod(struct place *p, const char *name, const char *script, const char *of_container);
struct json pod_now(struct place *p, const char *name);
bool is_ready(struct place *p, const char *name);
