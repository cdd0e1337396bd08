#pragma once

/* One pass over a ModelRouter, shared by the files that make its parts. Only model_router.h is
 * public.
 *
 *   spec ─ read ─► check ─► resolve back ends ─► config.json ─► ConfigMap, Deployment, Service
 *                    │                               │                        │
 *                    └── SpecInvalid                 └── CompileFailed        └─► status
 *
 * With dataPlane Gateway, router_gateway.c replaces the last three steps. */

#include "base/base.h"
#include "base/json.h"
#include "base/resource.h"
#include "engine/kind.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/llmkube/settings.h"

#define ROUTER_DEFAULT_TEAM_HEADER "x-llmkube-team"

struct router_backend {
    const char *name;
    const char *display_name;
    const char *service; /* name of the InferenceService; NULL: external */
    struct json external;
    const char *provider, *url, *model, *secret;
    const char *tier;
    struct json capabilities;
    int64_t weight;
    const char *timeout;
    int64_t timeout_ns; /* 0: none */

    /* router_resolve() */
    const char *address; /* NULL: not known */
    const char *message; /* why it is not healthy; NULL: it is */
    struct json pool;    /* the ModelPool of the service; absent: none */
    bool serving;        /* external, or its service has ready replicas */
};

struct router_rule {
    const char *name;
    struct json match; /* a map, or absent */
    struct json backends;
    const char *strategy;
    bool fail_closed;
    const char *timeout;
    int64_t timeout_ns; /* 0: none */
};

struct router_spec {
    const char *data_plane;
    const char *gateway_name, *gateway_namespace;
    struct json backends, rules;
    const char *default_route, *default_route_strategy;
    const char *mode, *class_header;
    struct json sensitive;
    const char *sink, *file_path;
    bool include_body;
    struct json budgets, jwt, allowlists;
    int64_t port;
    const char *path, *type;
    int64_t node_port;
    int64_t replicas;
    const int64_t *revision_history_limit;
    const char *image;
    struct json resources, pull_secrets, node_selector;
    const char *quarantine, *header_timeout;
    int64_t quarantine_ns, header_timeout_ns; /* 0: none */
};

struct router {
    const struct view *in;
    struct plan *out;
    struct arena *arena;
    const struct llmkube_settings *settings;
    const char *name, *ns;
    const char *child; /* name of ConfigMap, Deployment and Service */
    const char *label; /* its own name as a label value */
    struct json raw;   /* spec, unread */
    struct router_spec spec;
    struct router_backend *backends;
    size_t backend_count;
    struct json backend_index; /* { name: index in backends }; the first of equal names */
    struct router_rule *rules;
    size_t rule_count;
    struct json live;    /* our Deployment as stored */
    bool pooled;         /* some back end is a member of a ModelPool */
    const char *awaited; /* a back end whose address is not known yet; NULL: none */
    const char *config, *config_hash;
    const char *trouble; /* the first child that could not be written */
};

/* router_spec.c: fills spec, backends and rules. False: err names the path. */
bool router_read(
    struct arena *a, struct json spec, struct router *ret, struct error *err) must_check;
/* router_check.c: see model_router_check(). */
struct json router_check(struct arena *a, const struct router *r);
const struct router_backend *router_backend(const struct router *r, const char *name);
/* The data classes of a rule that must not leave the cluster; an empty list: none. */
struct json router_sensitive(
    struct arena *a, const struct router *r, const struct router_rule *rule);

/* router_backend.c: addresses of the back ends, and whether they can be used. */
void router_resolve(struct router *r);
/* The name of the provider's key, in its Secret and in the environment. */
const char *router_credential(const char *provider);

/* router_config.c: config.json and its hash. False: the router would refuse it. */
bool router_compile(struct router *r, struct error *err) must_check;

/* router_extras.c: policy.json; absent if it would be empty. */
struct json router_extras(const struct router *r, int64_t replicas);
#define ROUTER_BUDGETS_MAX 64
/* Why our router would refuse policy.json; NULL: it accepts it. */
const char *router_check_extras(const struct router *r);
/* Whether an image, judged by its name, contains Leeboard's router, which reads policy.json. */
bool router_image_is_ours(const struct router *r);
/* Paths of spec fields without effect, "a, b"; NULL: none. */
const char *router_inert(const struct router *r, bool ours);

/* router_proxy.c: the children of the proxy data plane. */
void router_proxy_plan(struct router *r);
const char *router_image(const struct router *r);
/* router_account.c: the identity with which the router requests a member of a ModelPool. */
void router_account_plan(struct router *r, struct json labels);
bool router_proxy_ready(const struct router *r);
const char *router_endpoint(const struct router *r);
void router_child(struct router *r, const struct resource *resource, struct json object);

/* router_gateway.c: the whole pass of the gateway data plane. */
void router_gateway_plan(struct router *r);

/* ConfigMaps of routers only: the operator must not keep all ConfigMaps of a cluster in memory. */
extern const struct resource ROUTER_CONFIG_MAP;
extern const struct resource ROUTER_ROLE;
extern const struct resource ROUTER_ROLE_BINDING;
extern const struct kind_grant router_grants[];
extern const struct resource GATEWAY_TRAFFIC_POLICY;
extern const struct resource GATEWAY_SECURITY_POLICY;
