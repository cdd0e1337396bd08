#pragma once

/* An edge of LLMKube's federation. Every half minute, or at the interval of its FederatedCluster,
 * the operator writes the state of this cluster into that object on the hub cluster. The hub sets
 * the phase there. */

#include "base/error.h"

struct arena;
struct engine;
struct federation;
struct llmkube_settings;
struct loop;

struct federation_options {
    struct arena *arena; /* lives as long as the process */
    struct loop *loop;
    struct engine *engine;
    const struct llmkube_settings *settings;
    bool (*may_write)(void *ctx);
    void *ctx;
};

/* *ret NULL: this cluster is not an edge. */
bool federation_new(const struct federation_options *options, struct federation **ret,
    struct error *err) must_check;
void federation_free(struct federation *f); /* NULL is allowed */
