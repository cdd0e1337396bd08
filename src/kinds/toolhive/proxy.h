#pragma once

/* Shared by MCPServer and MCPRemoteProxy: a proxy Deployment with its Service, its identity, and a
 * RunConfig that the proxy reads.
 *
 *   spec ──> references (refs.c) ──> RunConfig (runconfig.c) ──> checksum ──> pod (proxy_pod.c)
 *                │ broken                 │ cannot be built
 *                └────────────────────────┴──> the workload is kept; the status reports why */

#include "kinds/toolhive/toolhive.h"

struct proxy {
    const struct view *in;
    struct plan *out;
    struct arena *a;
    const struct toolhive_settings *settings;
    struct json spec, status; /* status: the present one */
    const char *name, *ns;
    bool remote;      /* an MCPRemoteProxy */
    bool gateway;     /* a VirtualMCPServer, see vmcp.h */
    const char *kind; /* "MCPServer" */
    struct json labels;
    int64_t generation, port;
    const char *transport;
    /* Objects that the spec refers to; absent: no reference. */
    struct json tool, telemetry, external, server, oidc, authz, webhooks;
    struct json hashes;  /* …ConfigHash of the status */
    const char *broken;  /* why a reference cannot be used; NULL: all can */
    const char *fault;   /* why there is no RunConfig; NULL: there is one */
    bool auth_fault;     /* … because of the embedded auth server */
    const char *ignored; /* proxy_ignore(); NULL: nothing */
};

/* ---- refs.c ---- */

/* Resolves all references, in upstream's order, and plans their conditions. Stops at the first that
 * cannot be used, and sets p->broken to the reason. */
void proxy_resolve(struct proxy *p);
/* The condition AuthServerRefValidated; call it when the RunConfig has been built or has failed. */
void proxy_tell_auth_server(struct proxy *p);
/* Advisory conditions: group, CA bundle, ignored provider, sessions, rate limits. */
void proxy_advise(struct proxy *p);
/* Whether several replicas of a spec share their sessions. */
void proxy_advise_sessions(struct proxy *p, struct json spec);
/* The embedded auth server of authServerRef, or of externalAuthConfigRef; absent: none. */
struct json proxy_auth_server(const struct proxy *p);
/* Whether MCPExternalAuthConfig is of this type. */
bool proxy_external_is(const struct proxy *p, const char *type);

/* ---- ignored.c ---- */

/* Adds one more field without effect. */
void proxy_ignore(struct proxy *p, const char *format, ...) printf_like(2, 3);
/* Adds the result of go_template_known(); NULL: nothing. */
void proxy_ignore_unknown(struct proxy *p, const char *unknown);
/* Adds fields of the spec and of the objects that it refers to; call after proxy_resolve(). */
void proxy_ignore_fields(struct proxy *p);
/* The condition, if any field is ignored. */
void proxy_tell_ignored(struct proxy *p);

/* ---- runconfig.c ---- */

/* The RunConfig's text. NULL: it cannot be built, and p->fault is the reason. */
const char *proxy_run_config(struct proxy *p);
/* http://NAME.NAMESPACE.svc.cluster.local:PORT, unless oidcConfigRef names another. */
const char *proxy_resource_url(const struct proxy *p);
/* Redis of sessions: { address, db, key_prefix }; absent: sessions stay in memory. */
struct json proxy_session_redis(const struct proxy *p);

/* telemetry_config; absent: none. */
struct json proxy_telemetry(const struct proxy *p);

/* ---- authz.c ---- */

/* The authz document; absent: none. *ret_inline: we wrote it, in Go struct order. */
bool proxy_authz(struct proxy *p, struct json *ret, bool *ret_inline);
/* Plans NAME-authz-inline if the spec contains policies. */
void proxy_plan_authz(struct proxy *p);

/* ---- auth_server.c ---- */

/* embedded_auth_server_config of the RunConfig. */
bool proxy_auth_server_config(struct proxy *p, struct json server, struct json *ret);
void proxy_auth_server_env(const struct proxy *p, struct json server, struct json_builder *env);
void proxy_auth_server_volumes(const struct proxy *p, struct json server,
    struct json_builder *volumes, struct json_builder *mounts);

/* ---- webhooks.c ---- */

/* The webhooks of a phase ("validating", "mutating") for the RunConfig. */
struct json proxy_webhooks(const struct proxy *p, const char *phase);
void proxy_webhook_volumes(
    const struct proxy *p, struct json_builder *volumes, struct json_builder *mounts);

/* ---- proxy_pod.c ---- */

/* The pod template of the proxy; the caller passes args and the fields that depend on the kind. */
struct proxy_pod {
    struct json args;
    const char *image;
    struct json env_first; /* before users' variables */
    struct json env_last;  /* after them */
    const char *account;   /* ServiceAccount */
    int64_t ready_delay_s;
    struct json annotations; /* the operator's, for the template */
};
/* Variables that the programs in all pods need, unless the user sets them. */
void proxy_required_env(struct json_builder *env);
/* Variables of MCPTelemetryConfig. */
void proxy_telemetry_env(const struct proxy *p, struct json_builder *env);
struct proxy_files {
    struct arena *a;
    struct json_builder volumes, mounts;
};
void proxy_files_init(struct proxy_files *f, struct arena *a);
/* A ConfigMap, or one key of it. */
void proxy_push_map(struct proxy_files *f, const char *volume, const char *map, const char *key,
    const char *path, const char *mount);
/* A CA bundle: the configMapRef at `path` of an object. */
void proxy_push_bundle(struct proxy_files *f, struct json config, const char *path,
    const char *prefix, const char *mount);
struct json proxy_container_security(const struct proxy *p);
struct json proxy_pod_security(const struct proxy *p);
struct json proxy_pod_template(struct proxy *p, const struct proxy_pod *pod);
/* The image of the proxy; running pods keep theirs until their object changes. */
const char *proxy_image(struct proxy *p, const char *running, bool unchanged);
/* Whether all volumes and mounts fit into one pod; false: p->fault names the conflict. */
bool proxy_volumes_fit(struct proxy *p);
/* A list of variables without duplicates: the last one of a name wins, as in a container. */
struct json proxy_env_once(struct arena *a, struct json env);
/* spec.resources; false: p->fault names an invalid quantity. */
bool proxy_resources(struct proxy *p, struct json *ret);
void proxy_plan_service(struct proxy *p, const char *name);
struct json proxy_rules(struct arena *a, const char *const (*rows)[3]);
/* ServiceAccount, Role and RoleBinding with the same name. */
void proxy_plan_account(
    struct proxy *p, const char *name, struct json pull_secrets, struct json rules);
void proxy_plan_rbac(struct proxy *p, const char *name, struct json rules);

/* Secret headers of the telemetry endpoint. */
void proxy_push_otel_headers(const struct proxy *p, struct json_builder *env);
/* Why a child cannot be created: the API server's message, or another object of that name. */
const char *proxy_trouble(const struct proxy *p, const char *service);

/* ---- go_template.c ---- */

/* A PodTemplateSpec as Go reads and writes it: fields in struct order, zero values, unknown fields
 * dropped. A value of the wrong type fails with Go's error message. */
bool go_template_print(
    struct arena *a, struct json tmpl, const char **ret_text, struct error *err) must_check;
/* The template without fields that Kubernetes does not know, as Go drops them when it reads it.
 * *ret_unknown: their paths below spec.podTemplateSpec, separated by commas; NULL: none. */
struct json go_template_known(struct arena *a, struct json tmpl, const char **ret_unknown);
/* The template with a strategic merge patch applied. */
bool go_template_merge(struct arena *a, struct json tmpl, struct json patch, struct json *ret,
    struct error *err) must_check;
/* Labels and annotations of a template that no patch may replace: the selector needs these labels,
 * and these annotations trigger rollouts. */
struct json go_template_keep(
    struct arena *a, struct json tmpl, struct json labels, struct json annotations);
