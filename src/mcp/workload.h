#pragma once

/* The objects of an MCP server's workload: a StatefulSet and, if it speaks HTTP, two Services. They
 * equal those of ToolHive's proxyrunner, field by field. */

#include "base/json.h"

struct runconfig;

#define WORKLOAD_MANAGER "toolhive-container-manager"
#define WORKLOAD_GENERATION "toolhive.stacklok.dev/mcpserver-generation"

struct workload {
    const struct runconfig *config;
    const char *ns;
    struct json pod_patch; /* absent, or a PodTemplateSpec */
    struct json args;      /* of the container */
    bool is_openshift;     /* OpenShift chooses user and group ids itself */
};

/* text: of --k8s-pod-patch; NULL or "": none. */
bool workload_read_patch(
    struct arena *a, const char *text, struct json *ret, struct error *err) must_check;

/* live: the existing StatefulSet, or absent. Its resourceVersion is used, and the fields of other
 * owners that must be kept. */
struct json workload_stateful_set(struct arena *a, const struct workload *w, struct json live);
/* owner: the StatefulSet as stored. Absent: the transport needs no Service. */
struct json workload_service(
    struct arena *a, const struct workload *w, struct json owner, bool headless);
/* A newer generation was already applied, so this one must not be. */
bool workload_is_older(const struct workload *w, struct json live);
/* "http://mcp-NAME:PORT" */
const char *workload_url(struct arena *a, const struct runconfig *c);
