#pragma once

/* One pass over an InferenceService, shared by the files that make its parts. Only
 * inference_service.h is public.
 *
 *   spec ─ read ─► models ─► cache claim ─► GPU ─► Deployment, Service, autoscaler
 *                    │            │          │            │
 *                    └────────────┴──────────┴─ failure ──┴─► phase ─► status, conditions
 *
 * Every step may end the pass with a phase (isvc_fail(), isvc_pend()); children that are not
 * planned by then stay unchanged. Exposure, objective and diagnosis never end it: they have their
 * own conditions. */

#include "base/atomic.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/llmkube/gateway.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/runtime.h"
#include "kinds/llmkube/settings.h"
#include "kinds/llmkube/storage.h"

/* The fields that decisions depend on. The rest of the spec is read where it is copied
 * (isvc.raw). */
struct isvc_spec {
    const char *model_ref;
    const char *runtime;
    int64_t replicas;
    bool suspend;
    const int64_t *revision_history_limit;

    struct json autoscaling; /* absent: none */
    int64_t min_replicas, max_replicas;

    int64_t port;
    const char *path;
    const char *type;
    int64_t node_port;
    bool gateway_enabled;
    const char *gateway_name, *gateway_namespace, *gateway_model;

    const char *cpu, *memory, *host_memory, *ephemeral_storage;
    bool moe_cpu_offload, no_kv_offload;
    int64_t moe_cpu_layers;

    const char *speculative_type, *draft_model_ref, *draft_model;
    bool skip_model_init;
    const char *persistence, *claim_name;

    const char *priority, *priority_class_name;
    bool protect_startup, protect_always;
    bool wait_for_idle, force_rollout;
    int64_t idle_timeout_s;
    const int64_t *pod_lifetime_s, *pod_lifetime_idle_s;

    struct json slo; /* absent: none */
    const char *slo_name, *slo_objective, *slo_window, *slo_indicator, *slo_threshold;
};

enum isvc_phase {
    PHASE_PENDING,
    PHASE_CREATING,
    PHASE_PROGRESSING,
    PHASE_READY,
    PHASE_WAITING_FOR_GPU,
    PHASE_STOPPED,
    PHASE_SUSPENDED,
    PHASE_FAILED,
};

/* Why nothing serves, as reported by a pod or an agent; status NULL: no report. */
struct isvc_scheduling {
    const char *status;
    const char *message;
    const char *waiting_for;
};

struct isvc {
    const struct view *in;
    struct plan *out;
    struct arena *arena;
    const struct llmkube_settings *settings;
    const char *name;
    const char *ns;
    const char *child;   /* name of Deployment and autoscaler, and label value: at most 63 bytes */
    const char *service; /* name of the Service */
    struct json raw;     /* spec, unread */
    struct isvc_spec spec;

    struct model model;
    bool model_ready; /* model, and draft if any, can be served */
    bool has_draft;
    struct model draft;
    bool metal;  /* served by an agent outside of the cluster */
    bool stages; /* init containers or volumes bring the weights into the pod */

    const struct runtime *runtime;
    int64_t container_port;
    struct gpu gpu;
    const char *claim; /* cache claim; NULL: none */

    struct json live; /* our Deployment as stored; absent: none */
    struct json pods; /* list */
    int64_t desired;  /* replicas wanted: by the spec, or by the autoscaler */
    int64_t ready;
    bool waits_for_slot; /* spec.replicas asks for pods, but its pool has no slot for them yet */

    bool ended; /* a step ended the pass with this phase: */
    enum isvc_phase end_phase;
    const char *end_message;
    const char *detail;  /* a longer explanation; NULL: nothing to add */
    const char *trouble; /* the first child that could not be written */

    struct isvc_scheduling scheduling;
    struct json gateway_status;
    struct json acceleration;
    int64_t recheck_ms; /* 0: none */
};

/* ---- the pass ---- */

/* Fills spec and the names. False: the spec is invalid, err names the path. */
bool isvc_read(
    struct isvc *svc, const struct view *in, struct plan *out, struct error *err) must_check;
/* End the pass; both return false. Existing children stay. */
bool isvc_fail(struct isvc *svc, const char *format, ...) printf_like(2, 3);
bool isvc_pend(struct isvc *svc, const char *format, ...) printf_like(2, 3);
/* Runs the pass again after this time at the latest. */
void isvc_recheck(struct isvc *svc, int64_t after_ms);
/* Plans a child, and notes why its last write failed, if it did. */
void isvc_child(struct isvc *svc, const struct resource *r, struct json object);

/* ---- used by other parts ---- */

static inline struct json isvc_status(const struct isvc *svc)
{
    return json_get(svc->in->object, "status");
}
/* The present condition; absent if there is none. */
struct json isvc_condition(const struct isvc *svc, const char *type);
/* Plans the present condition again, if there is one. */
void isvc_condition_keep(struct isvc *svc, const char *type);
/* { app, inference.llmkube.dev/service }: for the Service, the autoscaler, and the selector, which
 * is immutable. */
struct json isvc_selector(const struct isvc *svc);
/* The same with model and runtime, for the Deployment and its pods. */
struct json isvc_labels(const struct isvc *svc);
const char *isvc_phase_name(enum isvc_phase phase);

/* ---- parts ---- */

/* inference_service_status.c: phase, status, conditions and the outcome. */
void isvc_plan_status(struct isvc *svc);

/* deployment.c. False: the pod cannot be built, and the pass has ended. */
bool deployment_plan(struct isvc *svc);
/* After the pass has ended: keeps the Deployment, but scales it to zero if the spec wants no pods.
 * Needs neither a Model nor an otherwise valid spec. */
void deployment_stop(struct isvc *svc);

/* service.c */
void service_plan(struct isvc *svc);
const char *service_endpoint(const struct isvc *svc); /* URL, for status.endpoint */
int64_t service_port(const struct isvc *svc);

/* autoscaler.c: who sets the number of replicas. */
void autoscaler_plan(struct isvc *svc);
/* The value for the Deployment's spec.replicas; absent: another client owns the field. */
struct json autoscaler_replicas(const struct isvc *svc);
/* The desired number of replicas, from the autoscaler if there is one. */
int64_t autoscaler_desired(const struct isvc *svc);

/* rollout.c: when pods may be replaced. */
/* The pod template to apply now: the planned one, or the present one while requests are served. */
struct json rollout_template(struct isvc *svc, struct json planned);
/* Whether the pods are serving requests at the moment. */
struct isvc_idle {
    bool known;
    const char *reason; /* NULL: no requests are being served */
    const char *message;
};
struct isvc_idle rollout_idle(struct isvc *svc);
/* Deletes the oldest pod that exceeded its lifetime, one at a time. */
void rollout_recycle(struct isvc *svc);

/* diagnosis.c: what the pods report. */
struct isvc_scheduling diagnosis_scheduling(const struct isvc *svc);
void diagnosis_crashes(struct isvc *svc);
/* Reports what keeps pods from running, as the condition PodsHealthy and an event. */
void diagnosis_pods(struct isvc *svc);
struct json diagnosis_acceleration(struct isvc *svc);

/* pool_member.c: the number of replicas, if a ModelPool decides it. */
void pool_member_follow(struct isvc *svc);

/* metal.c: services outside the cluster. */
void metal_observe(struct isvc *svc);

/* gateway.c, slo.c: optional exposure and objective. */
void gateway_plan(struct isvc *svc);
void slo_plan(struct isvc *svc);

extern const struct resource SLO_OBJECTIVE;
