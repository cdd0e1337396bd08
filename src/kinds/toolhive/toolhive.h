#pragma once

/* Shared by the kinds of the ToolHive operator: settings, resources, labels, the checksum that
 * triggers rollouts, conditions and references. */

#include "base/json.h"
#include "base/resource.h"
#include "base/setting.h"
#include "engine/kind.h"

struct plan;
struct view;

/* ---- settings ---- */

/* The operator's environment variables. Each is a flag too: TOOLHIVE_RUNNER_IMAGE is
 * --toolhive-runner-image. A flag wins over its variable. */
struct toolhive_settings {
    const char *runner_image;       /* of MCPServer and MCPRemoteProxy pods; NULL: our own */
    const char *own_runner_image;   /* for new ones; existing ones keep theirs */
    const char *vmcp_image;         /* of VirtualMCPServer pods */
    const char *registry_api_image; /* of MCPRegistry pods */
    const char *proxy_host;         /* address that proxies listen on */
    const char *image_pull_secrets; /* names separated by commas; NULL: none */
    const char *redis_addr;         /* for sessions of objects that name no Redis; NULL: none */
    const char *redis_secret_name;  /* NULL: no password */
    const char *redis_secret_key;
    bool openshift;         /* pods without numeric user and group ids */
    bool skip_update_check; /* RunConfigs get no usage metrics */
    bool migrate;           /* rewrite objects that are in an old storage version */
    bool experimental;      /* upstream's variables that */
    bool use_config_map;    /* … have no effect in 0.44.0 either */
    bool one_machine;       /* addresses instead of names that need a cluster's DNS; no flag */
};
extern const struct toolhive_settings toolhive_settings_default;
extern const struct setting toolhive_flags[]; /* the last one has no name */
/* The variable of a flag: "vmcp-image" is VMCP_IMAGE. */
const char *toolhive_variable(struct arena *a, const char *flag);

/* ---- kinds ---- */

/* NULL-terminated; src/kinds/toolhive/kinds.c. */
extern const struct kind *const toolhive_kinds[];
extern const struct kind toolhive_group_kind;
extern const struct kind toolhive_server_entry_kind;
/* Field managers of upstream's operator. NULL-terminated. */
extern const char *const toolhive_predecessors[];

#define TOOLHIVE_GROUP "toolhive.stacklok.dev"

extern const struct resource TOOLHIVE_SERVER;               /* MCPServer */
extern const struct resource TOOLHIVE_REMOTE_PROXY;         /* MCPRemoteProxy */
extern const struct resource TOOLHIVE_VIRTUAL_SERVER;       /* VirtualMCPServer */
extern const struct resource TOOLHIVE_COMPOSITE_TOOL;       /* VirtualMCPCompositeToolDefinition */
extern const struct resource TOOLHIVE_MCP_GROUP;            /* MCPGroup */
extern const struct resource TOOLHIVE_REGISTRY;             /* MCPRegistry */
extern const struct resource TOOLHIVE_TOOL_CONFIG;          /* MCPToolConfig */
extern const struct resource TOOLHIVE_EXTERNAL_AUTH_CONFIG; /* MCPExternalAuthConfig */
extern const struct resource TOOLHIVE_OIDC_CONFIG;          /* MCPOIDCConfig */
extern const struct resource TOOLHIVE_AUTHZ_CONFIG;         /* MCPAuthzConfig */
extern const struct resource TOOLHIVE_TELEMETRY_CONFIG;     /* MCPTelemetryConfig */
extern const struct resource TOOLHIVE_WEBHOOK_CONFIG;       /* MCPWebhookConfig, v1alpha1 */
extern const struct resource TOOLHIVE_SERVER_ENTRY;         /* MCPServerEntry */
extern const struct resource TOOLHIVE_EMBEDDING_SERVER;     /* EmbeddingServer */
extern const struct resource TOOLHIVE_ROLE;
extern const struct resource TOOLHIVE_ROLE_BINDING;
/* Constants for separate watches: other families watch only some of these objects. */
extern const struct resource TOOLHIVE_CONFIG_MAP;
extern const struct resource TOOLHIVE_POD;
extern const struct resource TOOLHIVE_STATEFUL_SET;

/* ---- names that are part of the interface ---- */

#define TOOLHIVE_CONTENT_CHECKSUM "toolhive.stacklok.dev/content-checksum"
#define TOOLHIVE_RUNCONFIG_CHECKSUM "toolhive.stacklok.dev/runconfig-checksum"
#define TOOLHIVE_GENERATION "toolhive.stacklok.dev/mcpserver-generation"
#define TOOLHIVE_POD_TEMPLATE_HASH "toolhive.stacklok.io/podtemplatespec-hash"

/* ---- helpers ---- */

/* app, app.kubernetes.io/name, app.kubernetes.io/instance, toolhive, toolhive-name. app is
 * "mcpserver" or "mcpremoteproxy". */
struct json toolhive_labels(struct arena *a, const char *app, const char *name);
/* http://HOST:PORT of a Service of the object; HOST is its DNS name in a cluster, or its address.
 * NULL: not known yet. */
const char *toolhive_service_url(const struct view *in, const char *service, int64_t port);
/* Labels of a generated ConfigMap: component ("run-config"), managed-by, and the owner under
 * toolhive.stacklok.io/OWNER_KEY. */
struct json toolhive_document_labels(
    struct arena *a, const char *component, const char *owner_key, const char *name);
/* Upstream's checksum of a ConfigMap: SHA-256 over the sorted data, labels and annotations, each
 * key followed by its value; the checksum annotation itself is left out. */
const char *toolhive_checksum(
    struct arena *a, struct json data, struct json labels, struct json annotations);
/* A ConfigMap with the checksum annotation. */
struct json toolhive_document_map(
    struct arena *a, const char *name, struct json labels, struct json data);
/* Users' keys and the operator's keys; the operator's win (seed 001). */
struct json toolhive_merge(struct arena *a, struct json users, struct json ours);
/* { name, value } and { name, valueFrom.secretKeyRef { name, key } } of an env list. */
struct json toolhive_env(struct arena *a, const char *name, const char *value);
struct json toolhive_env_secret(struct arena *a, const char *name, struct json secret_key_ref);
/* The last part of an env name: uppercase, everything but letters and digits becomes `_`. */
const char *toolhive_env_word(struct arena *a, const char *text);
/* The text at a path, or `otherwise` if it is absent or empty. */
const char *toolhive_text(struct json v, const char *path, const char *otherwise);
/* The given pull secrets, then the operator's defaults, without duplicates. Absent if none. */
struct json toolhive_pull_secrets(
    struct arena *a, struct json given, const struct toolhive_settings *settings);
/* Why a remote server's URL must not be used: it is not an http(s) URL, or its host exists only in
 * this cluster or on this machine. Names are not resolved. NULL: it may be used. */
const char *toolhive_remote_url_fault(struct arena *a, const char *url);
/* The path and error of the first Cedar policy that does not parse. NULL: all do. */
const char *toolhive_policy_fault(struct arena *a, struct json policies, const char *path);
/* Pods of a workload, by the state of their containers. Terminating pods count only in total. */
struct toolhive_pods {
    int64_t total, running, failed, pending;
    const char *reason;         /* of a failed pod */
    int servers, servers_ready; /* pods that the proxy started */
    struct json list;           /* both kinds of pods, for pods_plan_healthy() */
};
/* The pods of our object: toolhive-name is its name, and app is given. */
struct toolhive_pods toolhive_pods(const struct view *in, const char *app);
/* SHA-256 of a value as Go prints it, in hexadecimal. */
const char *toolhive_hash(struct arena *a, struct json v);
/* The condition FieldsIgnored: fields that users set but that have no effect. */
void toolhive_tell_ignored(struct plan *out, const char *fields);
/* The status of a condition of a stored object; "" if it has no such condition. */
const char *toolhive_condition(struct json object, const char *type);
