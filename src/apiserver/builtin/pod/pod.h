#pragma once

/* Pod specs, which are part of many kinds. */

#include "apiserver/core/registry.h"
#include "base/quantity.h"

/* Defaults of a pod spec. */
struct json pod_spec_fill(struct arena *a, struct json spec);
/* The same for the template at a path ("spec.template"). */
struct json pod_template_fill(struct arena *a, struct json object, const char *path);
/* Defaults of the spec of a PersistentVolumeClaim. */
struct json claim_spec_fill(struct arena *a, struct json spec);
/* The name of a CSI driver. */
void csi_driver_name_check(struct field_errors *e, struct json name, const char *path);

/* The account of a new Pod, and the mounts of its token. */
bool pod_account_admit(
    const struct api_write *w, struct json *object, struct error *err) must_check;

/* A new Pod with the values of matchLabelKeys added to its selectors. */
struct json pod_keys_merge(struct arena *a, struct json pod);

/* An amount in a list of resources; 0 if it is absent or invalid. */
struct quantity pod_amount(struct json amounts, const char *name);
/* What containers request of a resource, or its limits. Containers that run at the same time are
 * added, including sidecar init containers; other init containers run one by one before them. */
struct quantity pod_containers_sum(struct json spec, const char *part, const char *resource);
/* A Pod spec with pod-level resources, with requests for resources that have limits. */
struct json pod_level_fill(struct arena *a, struct json spec);

/* Applies the defaults of LimitRanges to containers. */
void pod_limits_fill(const struct api_write *w, struct json *object);
/* Whether LimitRanges allow a Pod or a claim. */
bool limits_check(const struct api_write *w, struct json object, struct error *err) must_check;

/* The RuntimeClass of a Pod; absent if it names none, or one that does not exist. */
struct json pod_runtime_read(const struct api_write *w, struct json pod);
/* Applies the RuntimeClass to a new Pod, or refuses it: the class does not exist, or there is a
 * conflict. */
bool pod_runtime_admit(const struct api_write *w, struct json *pod, struct error *err) must_check;
/* Whether its overhead is that of its RuntimeClass. */
bool pod_overhead_check(const struct api_write *w, struct json pod, struct error *err) must_check;

/* The old Pod with the part that a subresource writes; and validation of such a change. */
struct json pod_part_keep(const struct api_write *w, struct json object);
void pod_part_check(const struct api_write *w, struct json o, struct field_errors *e);
void pod_ephemeral_check(const struct api_write *w, struct json o, struct field_errors *e);
/* status.qosClass. */
const char *pod_quality_of(struct json spec);

/* Validates a pod spec; path is its own path ("spec.template.spec"). */
void pod_spec_check(struct field_errors *e, struct json spec, const char *path);
/* Validates a template that must have these labels: its metadata and its spec. */
void pod_template_check(struct field_errors *e, struct json tmpl, const char *path);
/* Returns the valid volumes, which containers can mount. */
struct json pod_volumes_check(struct field_errors *e, struct json spec, const char *path);
void pod_mounts_check(
    struct field_errors *e, struct json container, struct json volumes, const char *path);
/* All types of containers; path is that of the spec. */
void pod_containers_check(
    struct field_errors *e, struct json spec, struct json volumes, const char *path);
void pod_resources_check(struct field_errors *e, struct json resources, const char *path);
/* Claims and resizing; spec is the pod's. */
void pod_container_resources_check(
    struct field_errors *e, struct json container, struct json spec, const char *path);
void pod_container_security_check(
    struct field_errors *e, struct json container, struct json spec, const char *path);
/* Probes and hooks; grace: the pod's grace period in seconds. */
void pod_probes_check(
    struct field_errors *e, struct json container, const char *path, int64_t grace);
/* A container that runs once must not have probes. */
void pod_probes_forbid(struct field_errors *e, struct json container, const char *path);
void pod_env_check(
    struct field_errors *e, struct json container, struct json volumes, const char *path);
/* Parts of a pod spec; spec is the whole spec, path its path. Resources, security, scheduling,
 * os. */
void pod_level_check(struct field_errors *e, struct json spec, const char *path);
void pod_security_check(struct field_errors *e, struct json spec, const char *path);
/* A NodeSelector of a pod or a volume. */
void pod_node_selector_check(struct field_errors *e, struct json selector, const char *path);
void pod_affinity_check(struct field_errors *e, struct json spec, const char *path);
void pod_spread_check(struct field_errors *e, struct json spec, const char *path);
void pod_tolerations_check(struct field_errors *e, struct json spec, const char *path);
/* Parts of the security context of a pod or a container; absent is valid. */
void pod_seccomp_check(struct field_errors *e, struct json profile, const char *path);
void pod_app_armor_check(struct field_errors *e, struct json profile, const char *path);
/* fieldRef: must be one of the allowed fields of the pod. */
void pod_field_ref_check(
    struct field_errors *e, struct json ref, const char *path, const char *const *allowed);
/* resourceFieldRef; with_container: it must name the container. */
void pod_resource_ref_check(
    struct field_errors *e, struct json ref, const char *path, bool with_container);
/* A file of a downwardAPI volume; path is that of the volume, because files have no path of their
 * own. */
void pod_downward_file_check(struct field_errors *e, struct json file, const char *path);
