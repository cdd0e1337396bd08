#pragma once

/* A VirtualMCPServer: one gateway before all members of an MCPGroup.
 *
 *   spec ──> checks ──> references ──> config.yaml (vmcp_config.c) ──> checksum ──> pod
 * (vmcp_pod.c) │  ▲ └──┘ how members are reached (vmcp_auth.c)
 *
 * The gateway pod writes the same status: phase, message and Ready are its own as soon as it says
 * something else than we do (plan_yield()), and what it found of its back ends is never ours. */

#include "kinds/toolhive/proxy.h"

#define VMCP_PORT 4483

enum member_kind { MEMBER_SERVER, MEMBER_REMOTE_PROXY, MEMBER_ENTRY };

struct member {
    enum member_kind kind;
    const char *name;
    struct json object;
    const char *broken; /* why its outgoing authentication cannot be built; NULL: it can */
    const char *reason; /* of its condition */
};

struct vmcp {
    /* What gateways share with proxies. Its spec is spec.incomingAuth, which has the same
     * references as a proxy, and telemetryConfigRef. */
    struct proxy p;
    struct json spec;
    struct json given;  /* spec.config as document_read() made it */
    struct json limits; /* its rateLimiting */
    const char *group;
    bool fixed; /* outgoingAuth.source is inline: back ends are in config.yaml */
    struct member *members;
    size_t member_count;
    struct json tools;         /* composite tools by reference, in the order of their references */
    const char *embedding_url; /* NULL: none */
    size_t ready, pending, failed; /* pods */
    bool waiting;                  /* p.broken is about something that is on its way */
};

/* ---- vmcp_checks.c ---- */

/* False: p.broken says why. Fills `given`, `tools`, `embedding_url` and what p refers to. */
bool vmcp_check(struct vmcp *v);

/* ---- vmcp_auth.c ---- */

/* outgoingAuth of config.yaml, with conditions for each strategy. False: v->p.fault. */
bool vmcp_outgoing(struct vmcp *v, struct json *ret);
/* Back ends of config.yaml where they are fixed. */
struct json vmcp_backends(struct vmcp *v);
/* Variables with secrets for the strategies, and headers for entries. */
void vmcp_outgoing_env(struct vmcp *v, struct json_builder *env);
void vmcp_header_env(struct vmcp *v, struct json_builder *env);
/* Path of an entry's CA bundle in the pod; NULL: it has none. */
const char *vmcp_ca_path(
    struct arena *a, const struct member *m, const char **ret_map, const char **ret_key);

/* ---- vmcp_config.c ---- */

/* The data of the ConfigMap: config.yaml, and authserver-config.yaml if there is such a server.
 * False: v->p.fault; v->p.auth_fault says whose fault it is. */
bool vmcp_documents(struct vmcp *v, struct json *ret);
/* Checks spec.config and fills v->given; what it does not use is named in a condition. */
bool vmcp_read_config(struct vmcp *v, struct error *err) must_check;

/* ---- vmcp_pod.c ---- */

/* False: podTemplateSpec cannot be merged. */
bool vmcp_deployment(struct vmcp *v, struct json live, const char *checksum, struct json *ret,
    struct error *err) must_check;
