#pragma once

/* The exec section of a kubeconfig's user. */

#include "base/json.h"

struct kube_config;

struct config_exec_place {
    const char *directory; /* of the file, for relative commands */
    const char *at;        /* "users[me].user.exec", for messages */
    struct json cluster_extensions;
};

/* Returns NULL with err. config must contain the cluster already, for provideClusterInfo. */
const struct kube_exec *config_exec_read(struct arena *a, struct json exec,
    const struct config_exec_place *place, const struct kube_config *config, struct error *err);
