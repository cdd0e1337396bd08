#pragma once

/* The controllers that Kubernetes' kube-controller-manager has, for a machine without a cluster: a
 * family of kinds that `leeboard up` adds. What they make has the names, labels, statuses and
 * conditions that kubectl and other clients know. Where Kubernetes takes a name by chance, a name
 * here comes from the owner's uid and a number, so a lost answer makes nothing twice. */

#include "base/json.h"
#include "base/resource.h"
#include "engine/kind.h"

struct plan;
struct selector;
struct view;

struct workloads_settings {
    const char *volumes; /* directory of the claims' directories, NAMESPACE/NAME each */
    struct json balanced; /* addresses of Services of type LoadBalancer; absent: nobody makes one */
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

/* Constants of our own, for watches of their own: other families keep less of these, and what is a
 * kind in one place and a child in another is watched as each. */
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

/* Letters and digits that no word is made of, as Kubernetes chooses them: ten at most. */
const char *workloads_hash(struct arena *a, const char *text);
/* BASE-XXXXX: the n-th name that an owner gives. A long base is cut. */
const char *workloads_name(struct arena *a, const char *base, const char *uid, int64_t n);

/* ---- objects ---- */

/* The uid of its controller; NULL: it has none. */
const char *workloads_controller(struct json object);
/* The time at a path; 0: none. */
int64_t workloads_time_ms(struct json object, const char *path);
/* Its spec.selector, and whether it can be read. */
bool workloads_selector(const struct view *in, struct selector *ret);

/* ---- pods ---- */

/* Pods of the namespace that match. Only changes of pods with one of its labels, the template's
 * hash if that is among them, run the kind again. */
struct json workloads_pods(const struct view *in, const struct selector *s);
/* Neither ended nor told to end. */
bool workloads_pod_is_active(struct json pod);
bool workloads_pod_is_ready(struct json pod);
/* Ready for so long; if not yet, *next_ms becomes the time to look again, if that is sooner (0:
 * none). */
bool workloads_pod_is_available(
    const struct view *in, struct json pod, int64_t min_ready_s, int64_t *next_ms);
/* Those that serve least in front, then the youngest: the order in which pods that are too many go.
 */
void workloads_pods_sort(struct json *pods, size_t count);
/* A pod of this template: labels, annotations, finalizers and spec. */
struct json workloads_pod_of(struct arena *a, struct json tmpl, const char *name);

/* ---- conditions ---- */

struct workloads_condition {
    const char *type, *status, *reason, *message;
};
/* The list with this condition. One of the same status and reason stays as it is; else both times
 * are now, or the transition's is kept if the status is the same. `updated` names the second time,
 * NULL: there is none. */
struct json workloads_condition_set(const struct view *in, struct json list,
    const struct workloads_condition *c, const char *updated);
struct json workloads_condition_drop(struct arena *a, struct json list, const char *type);
/* The list with ReplicaFailure, and an event when it is new, if the API server refuses a pod; why
 * NULL: it does not. */
struct json workloads_refusal(
    const struct view *in, struct plan *out, struct json list, const char *why);
