#pragma once

/* What the kinds of OtterScale's model-operator share: settings, labels, names, resources. */

#include "base/json.h"
#include "base/resource.h"
#include "base/setting.h"
#include "engine/kind.h"

struct view;

/* The manager's flags that shape what is made, under the same names. */
struct otterscale_settings {
    const char *engine_image; /* the three are NULL if a flag says nothing */
    const char *picker_image;
    const char *proxy_image;
    const char *gateway;           /* of services without spec.httpRoute; NULL: no route */
    const char *gateway_namespace; /* … and where it is */
    const char *kit_image;         /* NULL: models are neither unpacked nor packed */
    const char *provider;          /* "istio", "gke", "none" */
    bool metrics_auth;
    bool plain_http; /* models are fetched without TLS, as upstream does */
    bool tracing;
    const char *otel_endpoint, *sampler, *sampler_arg; /* NULL: not said */
};
extern const struct otterscale_settings otterscale_settings_default; /* upstream's */
extern const struct setting otterscale_flags[]; /* ended by one without a name */

extern const struct kind otterscale_model_service_kind;
extern const struct kind otterscale_model_artifact_kind;

extern const struct resource OTTERSCALE_MODEL_SERVICE;
extern const struct resource OTTERSCALE_MODEL_ARTIFACT;
/* Constants of our own, for a watch of its own: others watch only some of these. */
extern const struct resource OTTERSCALE_CONFIG_MAP;
extern const struct resource OTTERSCALE_JOB;
extern const struct resource OTTERSCALE_POD;
extern const struct resource OTTERSCALE_SERVING_POD;
extern const struct resource OTTERSCALE_ROLE;
extern const struct resource OTTERSCALE_ROLE_BINDING;
extern const struct resource OTTERSCALE_CLUSTER_ROLE;
extern const struct resource OTTERSCALE_CLUSTER_ROLE_BINDING;
extern const struct resource OTTERSCALE_GATEWAY;
extern const struct resource OTTERSCALE_ROUTE;
extern const struct resource OTTERSCALE_POOL;
extern const struct resource OTTERSCALE_RULE;
extern const struct resource OTTERSCALE_POD_MONITOR;
extern const struct resource OTTERSCALE_SERVICE_MONITOR;

/* The version that upstream's binary puts into labels when nobody stamped one. */
#define OTTERSCALE_VERSION "devel"

/* The four labels that select, and the same with the version, which does not. */
struct json otterscale_selector(struct arena *a, const char *name, const char *component);
struct json otterscale_labels(
    struct arena *a, const char *name, const char *component, const char *version);
/* The version label of a child that exists, so that its pods are not replaced for another one;
 * else OTTERSCALE_VERSION. */
const char *otterscale_version_of(struct json labels);

/* The name itself where it is a label value; else shortened, with a hash. */
const char *otterscale_base(struct arena *a, const char *name);
/* Upstream's DNS-1035 form of a name, of any length: a-z and 0-9 stay, A-Z become small, `.`, `_`
 * and `-` become one dash, all else goes; m- in front of a digit. */
const char *otterscale_sanitized(struct arena *a, const char *name);
/* The same with a hash of the name, and the suffix: at most 63 bytes, another one for each name. */
const char *otterscale_hashed(struct arena *a, const char *name, const char *suffix);

/* { name, value } and { name, valueFrom.fieldRef } of an env list. value NULL: absent. */
struct json otterscale_env(struct arena *a, const char *name, const char *value);
struct json otterscale_env_field(struct arena *a, const char *name, const char *path);
/* allowPrivilegeEscalation false, all capabilities dropped. */
struct json otterscale_container_security(struct arena *a);
/* A registry's credentials as kit wants them: the volume, and where it is mounted. */
#define OTTERSCALE_DOCKER_PATH "/.docker"
struct json otterscale_docker_volume(struct arena *a, const char *secret);
struct json otterscale_mount(struct arena *a, const char *volume, const char *path, bool read_only);
/* The text at a path; `otherwise` where it is absent or empty, as upstream's CRD defaults come back
 * after its update. */
const char *otterscale_text(struct json v, const char *path, const char *otherwise);
/* A number as text, with as few digits as tell it; anything else as it is. */
struct json otterscale_quantity(struct arena *a, struct json v);
/* Requests and limits with numbers as text; empty maps go. */
struct json otterscale_resources(struct arena *a, struct json resources);
/* A list of the words in a text. */
struct json otterscale_words(struct arena *a, const char *text);
