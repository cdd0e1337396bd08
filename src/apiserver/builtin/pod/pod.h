#pragma once

/* Pod specs, which many kinds have in them. */

#include "apiserver/core/registry.h"
#include "base/quantity.h"

/* Defaults of a pod spec. */
struct json pod_spec_fill(struct arena *a, struct json spec);
/* The same for the template at a path of an object ("spec.template"). */
struct json pod_template_fill(struct arena *a, struct json object, const char *path);
/* Defaults of the spec of a PersistentVolumeClaim. */
struct json claim_spec_fill(struct arena *a, struct json spec);
/* The name of a CSI driver. */
void csi_driver_name_check(struct field_errors *e, struct json name, const char *path);

/* The account of a Pod that is created, and the mounts of its token. */
bool pod_account_admit(
    const struct api_write *w, struct json *object, struct error *err) must_check;

/* A Pod that is created, its selectors with the labels that they are to have in common. */
struct json pod_keys_merge(struct arena *a, struct json pod);

/* An amount of a list of resources; 0: none, or not to be read. */
struct quantity pod_amount(struct json amounts, const char *name);
/* What containers request, or may have, of a resource. Those that run together count together, with
 * the init containers that go on; the other init containers run one by one before them. */
struct quantity pod_containers_sum(struct json spec, const char *part, const char *resource);
/* The spec of a Pod whose resources as a whole are set, with requests for what has limits. */
struct json pod_level_fill(struct arena *a, struct json spec);

/* What LimitRanges set for containers that do not say it. */
void pod_limits_fill(const struct api_write *w, struct json *object);
/* Whether LimitRanges allow a Pod or a claim. */
bool limits_check(const struct api_write *w, struct json object, struct error *err) must_check;

/* The RuntimeClass of a Pod; absent: it names none, or one that is not there. */
struct json pod_runtime_read(const struct api_write *w, struct json pod);
/* A new Pod gets what its RuntimeClass sets, or is refused: no such class, or a conflict. */
bool pod_runtime_admit(const struct api_write *w, struct json *pod, struct error *err) must_check;
/* Whether its overhead is that of its class. */
bool pod_overhead_check(const struct api_write *w, struct json pod, struct error *err) must_check;

/* The old Pod with the part that a subresource writes; and what is wrong with such a change. */
struct json pod_part_keep(const struct api_write *w, struct json object);
void pod_part_check(const struct api_write *w, struct json o, struct field_errors *e);
void pod_ephemeral_check(const struct api_write *w, struct json o, struct field_errors *e);
/* status.qosClass. */
const char *pod_quality_of(struct json spec);

/* What is wrong with a pod spec; path is its own ("spec.template.spec"). */
void pod_spec_check(struct field_errors *e, struct json spec, const char *path);
/* A template that must have these labels: its metadata and its spec. */
void pod_template_check(struct field_errors *e, struct json tmpl, const char *path);
/* Returns the volumes that nothing is wrong with: containers can mount those. */
struct json pod_volumes_check(struct field_errors *e, struct json spec, const char *path);
void pod_mounts_check(
    struct field_errors *e, struct json container, struct json volumes, const char *path);
/* Containers of all sorts; path is that of the spec. */
void pod_containers_check(
    struct field_errors *e, struct json spec, struct json volumes, const char *path);
void pod_resources_check(struct field_errors *e, struct json resources, const char *path);
/* Claims and resizing; spec is that of the pod. */
void pod_container_resources_check(
    struct field_errors *e, struct json container, struct json spec, const char *path);
void pod_container_security_check(
    struct field_errors *e, struct json container, struct json spec, const char *path);
/* Probes and hooks; grace: seconds that the pod has to end. */
void pod_probes_check(
    struct field_errors *e, struct json container, const char *path, int64_t grace);
/* A container that runs once has none. */
void pod_probes_forbid(struct field_errors *e, struct json container, const char *path);
void pod_env_check(
    struct field_errors *e, struct json container, struct json volumes, const char *path);
/* Parts of a pod spec; spec is all of it, path its own. Resources, rights, place, os. */
void pod_level_check(struct field_errors *e, struct json spec, const char *path);
void pod_security_check(struct field_errors *e, struct json spec, const char *path);
/* A NodeSelector: of a pod, or of a volume. */
void pod_node_selector_check(struct field_errors *e, struct json selector, const char *path);
void pod_affinity_check(struct field_errors *e, struct json spec, const char *path);
void pod_spread_check(struct field_errors *e, struct json spec, const char *path);
void pod_tolerations_check(struct field_errors *e, struct json spec, const char *path);
/* Parts of a security context, of a pod's or a container's; absent is well. */
void pod_seccomp_check(struct field_errors *e, struct json profile, const char *path);
void pod_app_armor_check(struct field_errors *e, struct json profile, const char *path);
/* fieldRef: one of the allowed fields of the pod. */
void pod_field_ref_check(
    struct field_errors *e, struct json ref, const char *path, const char *const *allowed);
/* resourceFieldRef; with_container: it has to say of which. */
void pod_resource_ref_check(
    struct field_errors *e, struct json ref, const char *path, bool with_container);
/* A file of a downwardAPI volume; path is that of the volume: files have none of their own. */
void pod_downward_file_check(struct field_errors *e, struct json file, const char *path);
