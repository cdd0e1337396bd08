#pragma once

/* An edge of LLMKube's federation: every half minute, or as often as its FederatedCluster asks for,
 * the operator writes into that object, on another cluster, what this cluster has. The phase there
 * is the hub's. */

#include "base/error.h"

struct arena;
struct engine;
struct federation;
struct llmkube_settings;
struct loop;

struct federation_options {
    struct arena *arena; /* of the process */
    struct loop *loop;
    struct engine *engine;
    const struct llmkube_settings *settings;
    bool (*may_write)(void *ctx);
    void *ctx;
};

/* *ret NULL: this is no edge. */
bool federation_new(const struct federation_options *options, struct federation **ret,
    struct error *err) must_check;
void federation_free(struct federation *f); /* takes NULL */
