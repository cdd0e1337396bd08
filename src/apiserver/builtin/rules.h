#pragma once

/* The differences between built-in kinds. For the builtin_*.c files; others include builtin.h. */

#include "apiserver/core/registry.h"

struct addresses;
struct cell;

/* NULL members do nothing. */
struct builtin_rules {
    /* Defaults, for an object in the form that prune returns. */
    struct json (*fill)(struct arena *a, struct json object);
    /* As in struct api_behaviour, after the status was handled. */
    bool (*prepare)(const struct api_write *w, struct json *object, struct error *err);
    void (*validate)(const struct api_write *w, struct json object, struct field_errors *errors);
    /* Additional validation of an update. */
    void (*validate_change)(
        const struct api_write *w, struct json object, struct field_errors *errors);
    bool (*admit)(const struct api_write *w, struct json object, struct error *err);
    void (*warn)(const struct api_write *w, struct json object);
    void (*written)(
        struct apiserver *server, const struct api_kind *k, struct json old, struct json object);
    struct json (*convert)(
        const struct api_kind *k, struct arena *a, struct json object, const char *api_version);
    const char *warning; /* a Warning header of every response about this kind */
    bool keeps_status;   /* a created object keeps its status */
    /* Field selectors in addition to metadata.name and metadata.namespace; NULL-terminated. The
     * value is the field's, as text. */
    const char *const *fields;
};

/* The ctx of an api_kind. */
struct builtin_kind {
    const struct builtin_rules *rules;
    struct addresses *addresses;
    const struct cell *cells;
    const struct schema *stored; /* of the storage version */
};

static inline const struct builtin_kind *builtin_of(const struct api_kind *k)
{
    return k->ctx;
}

/* Validates a status. */
void builtin_status_check(
    const struct api_write *w, struct json object, struct field_errors *errors);

/* Validates the policies and index limits of a Job's spec. */
void builtin_job_check(struct field_errors *e, struct json spec, const char *path);
/* The storage class of a PersistentVolumeClaim, from the field or the annotation; NULL: none. */
const char *claim_class(struct json claim);
/* Validates the spec of a PersistentVolumeClaim. */
void builtin_claim_check(struct field_errors *e, struct json spec, const char *path);
/* Also used for volumes of pods. */
extern const char *const builtin_host_path_types[]; /* NULL-terminated */
/* Refuses addresses to which a cluster must not send traffic. */
void builtin_check_reachable(
    const struct api_write *w, struct field_errors *e, struct json ip, const char *path);
void builtin_quota_status_check(struct json object, struct field_errors *errors);
void builtin_node_status_check(struct json object, struct field_errors *errors);

extern const struct api_behaviour builtin_behaviour;
/* With a convert function: for kinds whose versions differ. */
extern const struct api_behaviour builtin_converting_behaviour;

/* For kinds that are only stored: their schema is validated, and nothing else. */
extern const struct builtin_rules builtin_stored;

/* clang-format off */
extern const struct builtin_rules
    builtin_config_map, builtin_secret, builtin_service_account, builtin_namespace, builtin_node,
    builtin_event, builtin_new_event, builtin_endpoints, builtin_limit_range,
    builtin_resource_quota,
    builtin_pod, builtin_pod_binding, builtin_pod_template, builtin_replication_controller,
    builtin_claim, builtin_volume, builtin_storage_class, 
    builtin_service, builtin_ingress,
    builtin_deployment, builtin_replica_set, builtin_daemon_set, builtin_stateful_set,
    builtin_controller_revision, builtin_job, builtin_cron_job,
    builtin_autoscaler, builtin_autoscaler_v1, builtin_disruption_budget,
    builtin_role, builtin_binding, builtin_lease, builtin_endpoint_slice,
    builtin_priority_class, builtin_runtime_class,
    builtin_policy, builtin_webhook,
    builtin_certificate_request, builtin_api_service;
/* clang-format on */
