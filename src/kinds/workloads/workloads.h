#pragma once

/* The controllers of Kubernetes' kube-controller-manager, for a machine without a cluster: a family
 * of kinds that `leeboard up` adds. Their children have the names, labels, statuses and conditions
 * that kubectl and other clients expect. Where Kubernetes generates a random name, a name here is
 * derived from the owner's uid and a number, so a lost response creates nothing twice. */

#include "base/json.h"
#include "base/resource.h"
#include "engine/kind.h"

struct plan;
struct selector;
struct view;

struct workloads_settings {
    const char *volumes;  /* directory of the claims' directories, each NAMESPACE/NAME */
    struct json balanced; /* addresses of Services of type LoadBalancer; absent: not supported */
};

extern const struct kind workloads_deployment_kind;
extern const struct kind workloads_replica_set_kind;
extern const struct kind workloads_stateful_set_kind;
extern const struct kind workloads_service_kind;
extern const struct kind workloads_job_kind;
extern const struct kind workloads_budget_kind;
extern const struct kind workloads_autoscaler_kind;
extern const struct kind workloads_claim_kind;
extern const struct kind workloads_volume_kind;
extern const struct kind *const workloads_kinds[]; /* all of the family, NULL-terminated */

/* Constants of their own, for separate watches: other families keep fewer fields of these
 * resources, and a resource that is a kind in one place and a child in another is watched as
 * both. */
extern const struct resource WORKLOADS_DEPLOYMENT;
extern const struct resource WORKLOADS_REPLICA_SET;
extern const struct resource WORKLOADS_REPLICA_SET_CHILD;
extern const struct resource WORKLOADS_STATEFUL_SET;
extern const struct resource WORKLOADS_REVISION;
extern const struct resource WORKLOADS_POD;
extern const struct resource WORKLOADS_SERVICE;
extern const struct resource WORKLOADS_SLICE;
extern const struct resource WORKLOADS_JOB;
extern const struct resource WORKLOADS_BUDGET;
extern const struct resource WORKLOADS_AUTOSCALER;
extern const struct resource WORKLOADS_CLAIM;
extern const struct resource WORKLOADS_CLAIM_CHILD;
extern const struct resource WORKLOADS_VOLUME;
extern const struct resource WORKLOADS_VOLUME_CHILD;

#define WORKLOADS_TEMPLATE_HASH "pod-template-hash"

/* ---- names ---- */

/* At most ten letters and digits that form no words, from the alphabet that Kubernetes uses. */
const char *workloads_hash(struct arena *a, const char *text);
/* BASE-XXXXX: an owner's n-th name. A long base is truncated. */
const char *workloads_name(struct arena *a, const char *base, const char *uid, int64_t n);

/* ---- objects ---- */

/* The uid of the object's controller; NULL: none. */
const char *workloads_controller(struct json object);
/* The time at a path; 0: none. */
int64_t workloads_time_ms(struct json object, const char *path);
/* The object's spec.selector. False: it is invalid. */
bool workloads_selector(const struct view *in, struct selector *ret);

/* ---- pods ---- */

/* Pods of the namespace that match. The kind runs again only when pods with one of its labels
 * change (the template's hash, if that is among them). */
struct json workloads_pods(const struct view *in, const struct selector *s);
/* Neither finished nor terminating. */
bool workloads_pod_is_active(struct json pod);
bool workloads_pod_is_ready(struct json pod);
/* Whether the pod has been ready for this long. If not yet, *next_ms becomes the time to check
 * again if that is sooner (0: none). */
bool workloads_pod_is_available(
    const struct view *in, struct json pod, int64_t min_ready_s, int64_t *next_ms);
/* Sorts by what to delete first: pods that are least ready, then the youngest. */
void workloads_pods_sort(struct json *pods, size_t count);
/* A pod of this template: labels, annotations, finalizers and spec. */
struct json workloads_pod_of(struct arena *a, struct json tmpl, const char *name);

/* ---- conditions ---- */

struct workloads_condition {
    const char *type, *status, *reason, *message;
};
/* The list with this condition. A condition with the same status and reason stays unchanged;
 * otherwise both times become now, but the transition time is kept if the status is the same.
 * `updated` names the second time; NULL: there is none. */
struct json workloads_condition_set(const struct view *in, struct json list,
    const struct workloads_condition *c, const char *updated);
struct json workloads_condition_drop(struct arena *a, struct json list, const char *type);
/* The list with ReplicaFailure, and an event when it is new, if the API server refuses a pod. why
 * NULL: it does not. */
struct json workloads_refusal(
    const struct view *in, struct plan *out, struct json list, const char *why);
