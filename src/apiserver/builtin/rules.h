#pragma once

/* What is particular to one built-in kind. For the parts of builtin_*.c; others need builtin.h. */

#include "apiserver/core/registry.h"

struct addresses;
struct cell;

/* NULL members do nothing. */
struct builtin_rules {
    /* Defaults that the server's code sets, on an object in the form that prune gives it. */
    struct json (*fill)(struct arena *a, struct json object);
    /* As in struct api_behaviour, after the status was taken care of. */
    bool (*prepare)(const struct api_write *w, struct json *object, struct error *err);
    void (*validate)(const struct api_write *w, struct json object, struct field_errors *errors);
    /* What a change may not do, in addition. */
    void (*validate_change)(
        const struct api_write *w, struct json object, struct field_errors *errors);
    bool (*admit)(const struct api_write *w, struct json object, struct error *err);
    void (*warn)(const struct api_write *w, struct json object);
    void (*written)(
        struct apiserver *server, const struct api_kind *k, struct json old, struct json object);
    struct json (*convert)(
        const struct api_kind *k, struct arena *a, struct json object, const char *api_version);
    const char *warning; /* of every answer about this kind */
    bool keeps_status;   /* of an object that is created */
    /* Field selectors beside metadata.name and metadata.namespace; NULL-terminated. The value is
     * what is there, as text. */
    const char *const *fields;
};

/* The ctx of an api_kind. */
struct builtin_kind {
    const struct builtin_rules *rules;
    struct addresses *addresses;
    const struct cell *cells;
    const struct schema *stored; /* of the version that is stored */
};

static inline const struct builtin_kind *builtin_of(const struct api_kind *k)
{
    return k->ctx;
}

/* What is wrong with a status that is written. */
void builtin_status_check(
    const struct api_write *w, struct json object, struct field_errors *errors);

/* What the policies of a Job's spec, and its limits of indexes, may not say. */
void builtin_job_check(struct field_errors *e, struct json spec, const char *path);
/* The storage class of a PersistentVolumeClaim, in either place; NULL: none. */
const char *claim_class(struct json claim);
/* What is wrong with the spec of a PersistentVolumeClaim. */
void builtin_claim_check(struct field_errors *e, struct json spec, const char *path);
/* What volumes of pods have, too. */
extern const char *const builtin_host_path_types[]; /* NULL-terminated */
/* Where traffic of a cluster may not be sent. */
void builtin_check_reachable(
    const struct api_write *w, struct field_errors *e, struct json ip, const char *path);
void builtin_quota_status_check(struct json object, struct field_errors *errors);
void builtin_node_status_check(struct json object, struct field_errors *errors);

extern const struct api_behaviour builtin_behaviour;
/* With a convert function: for kinds whose versions differ. */
extern const struct api_behaviour builtin_converting_behaviour;

/* For kinds that are stored and that nothing here acts on: their schema is checked, and no more. */
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
