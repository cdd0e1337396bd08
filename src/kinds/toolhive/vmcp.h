#pragma once

/* A VirtualMCPServer: one gateway in front of all members of an MCPGroup.
 *
 *   spec ──> checks ──> references ──> config.yaml ──> checksum ──> pod
 *                           │               ▲       vmcp_config.c, vmcp_pod.c
 *                           └───────────────┘ how members are reached (vmcp_auth.c)
 *
 * The gateway pod writes the same status: it owns phase, message and Ready as soon as its values
 * differ from ours (plan_yield()), and we never own its results about back ends. */

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
    /* The part that gateways share with proxies. Its spec is spec.incomingAuth, which has the same
     * references as a proxy, and telemetryConfigRef. */
    struct proxy p;
    struct json spec;
    struct json given;  /* spec.config as returned by document_read() */
    struct json limits; /* its rateLimiting */
    const char *group;
    bool fixed; /* outgoingAuth.source is inline: back ends are in config.yaml */
    struct member *members;
    size_t member_count;
    struct json tools;         /* composite tools by reference, in the order of their references */
    const char *embedding_url; /* NULL: none */
    size_t ready, pending, failed; /* pods */
    bool waiting;                  /* p.broken is about something that will be ready soon */
};

/* ---- vmcp_checks.c ---- */

/* False: p.broken is the reason. Fills `given`, `tools`, `embedding_url` and the objects that p
 * refers to. */
bool vmcp_check(struct vmcp *v);

/* ---- vmcp_auth.c ---- */

/* outgoingAuth of config.yaml, with conditions for each strategy. False: see v->p.fault. */
bool vmcp_outgoing(struct vmcp *v, struct json *ret);
/* Back ends of config.yaml if they are fixed. */
struct json vmcp_backends(struct vmcp *v);
/* Variables with secrets for the strategies, and headers for entries. */
void vmcp_outgoing_env(struct vmcp *v, struct json_builder *env);
void vmcp_header_env(struct vmcp *v, struct json_builder *env);
/* Path of an entry's CA bundle in the pod; NULL: it has none. */
const char *vmcp_ca_path(
    struct arena *a, const struct member *m, const char **ret_map, const char **ret_key);

/* ---- vmcp_config.c ---- */

/* The data of the ConfigMap: config.yaml, and authserver-config.yaml if there is an auth server.
 * False: see v->p.fault; v->p.auth_fault is set if the auth server caused it. */
bool vmcp_documents(struct vmcp *v, struct json *ret);
/* Checks spec.config and fills v->given; unused fields are named in a condition. */
bool vmcp_read_config(struct vmcp *v, struct error *err) must_check;

/* ---- vmcp_pod.c ---- */

/* False: podTemplateSpec cannot be merged. */
bool vmcp_deployment(struct vmcp *v, struct json live, const char *checksum, struct json *ret,
    struct error *err) must_check;
