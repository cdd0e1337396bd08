#pragma once

/* Shared by the kinds of OtterScale's model-operator: settings, labels, names, resources. */

#include "base/json.h"
#include "base/resource.h"
#include "base/setting.h"
#include "engine/kind.h"

struct view;

/* The manager's flags that affect what is created, under the same names. */
struct otterscale_settings {
    const char *engine_image; /* these three are NULL if not set */
    const char *picker_image;
    const char *proxy_image;
    const char *gateway;           /* for services without spec.httpRoute; NULL: no route */
    const char *gateway_namespace; /* namespace of the gateway */
    const char *kit_image;         /* NULL: models are neither unpacked nor packed */
    const char *provider;          /* "istio", "gke", "none" */
    bool metrics_auth;
    bool plain_http; /* models are fetched without TLS, as upstream does */
    bool tracing;
    const char *otel_endpoint, *sampler, *sampler_arg; /* NULL: not set */
};
extern const struct otterscale_settings otterscale_settings_default; /* upstream's */
extern const struct setting otterscale_flags[];                      /* the last one has no name */

extern const struct kind otterscale_model_service_kind;
extern const struct kind otterscale_model_artifact_kind;

extern const struct resource OTTERSCALE_MODEL_SERVICE;
extern const struct resource OTTERSCALE_MODEL_ARTIFACT;
/* A constant of its own, for a separate watch: other families watch only some of these. */
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

/* The version label of an upstream binary that was built without a version. */
#define OTTERSCALE_VERSION "devel"

/* The four labels of the selector, and the same plus the version, which must not select. */
struct json otterscale_selector(struct arena *a, const char *name, const char *component);
struct json otterscale_labels(
    struct arena *a, const char *name, const char *component, const char *version);
/* The version label of an existing child, so that its pods are not replaced because of it; else
 * OTTERSCALE_VERSION. */
const char *otterscale_version_of(struct json labels);

/* The name itself if it is a valid label value; otherwise shortened, with a hash. */
const char *otterscale_base(struct arena *a, const char *name);
/* Upstream's DNS-1035 form of a name, of any length: keeps a-z and 0-9, lowercases A-Z, turns `.`,
 * `_` and `-` into one dash, drops everything else, and puts m- before a leading digit. */
const char *otterscale_sanitized(struct arena *a, const char *name);
/* The same plus a hash of the name and the suffix: at most 63 bytes, and unique for each name. */
const char *otterscale_hashed(struct arena *a, const char *name, const char *suffix);

/* { name, value } and { name, valueFrom.fieldRef } of an env list. value NULL: absent. */
struct json otterscale_env(struct arena *a, const char *name, const char *value);
struct json otterscale_env_field(struct arena *a, const char *name, const char *path);
/* allowPrivilegeEscalation false, all capabilities dropped. */
struct json otterscale_container_security(struct arena *a);
/* A registry's credentials in the form that kit needs: the volume, and its mount path. */
#define OTTERSCALE_DOCKER_PATH "/.docker"
struct json otterscale_docker_volume(struct arena *a, const char *secret);
struct json otterscale_mount(struct arena *a, const char *volume, const char *path, bool read_only);
/* The text at a path, or `otherwise` if it is absent or empty. Upstream gets the same value from
 * the defaults of its CRD when it updates the object. */
const char *otterscale_text(struct json v, const char *path, const char *otherwise);
/* A number as the shortest exact text; other values unchanged. */
struct json otterscale_quantity(struct arena *a, struct json v);
/* Requests and limits with numbers as text; empty maps are removed. */
struct json otterscale_resources(struct arena *a, struct json resources);
/* The words of a text, as a list. */
struct json otterscale_words(struct arena *a, const char *text);
