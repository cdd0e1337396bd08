#pragma once

/* One pass over a ModelService, shared by its two files. */

#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/otterscale/otterscale.h"

struct service {
    const struct view *in;
    struct plan *out;
    struct arena *a;
    const struct otterscale_settings *settings;
    struct json spec;
    const char *name, *ns;
    const char *base;    /* N, truncated to a label value */
    const char *picker;  /* E */
    const char *version; /* for labels */
    struct json pool;    /* spec.inferencePool.endpointPicker; absent: none */
    bool disaggregated;  /* there are prefill pods */
    int64_t port, picker_port, picker_replicas;
    const char *error;                       /* why the service is not as specified; NULL: it is */
    const char *lack_reason, *lack_messages; /* what is missing around the service */
};

/* Plans a child; if it cannot be written, the status reports why. */
void service_child(struct service *s, const struct resource *r, struct json object);
/* An object of another client's kind. Its lists are stored with the defaults of its CRD. */
void service_custom_child(struct service *s, const struct resource *r, const char *name,
    struct json labels, struct json spec);
/* Why the service is not as specified; the first cause is the one to fix first. */
void service_fail(struct service *s, const char *message);
/* Reports that something around the service is missing, although all its children exist. */
void service_lack(struct service *s, const char *reason, const char *message);
const char *service_say(struct service *s, const char *format, ...) printf_like(2, 3);

/* Variables for tracing that sidecars and pickers share. The caller adds its own variables
 * between the two. */
void service_push_tracing(const struct service *s, struct json_builder *env, const char *who);
void service_push_sampler(const struct service *s, struct json_builder *env);

/* endpoint_picker.c: E and everything named after it, the pool and the route. */
/* E: upstream's name, or one with a hash if that is too long or belongs to another service. */
const char *picker_name(const struct service *s);
void picker_plan(struct service *s);
/* A picker's permissions in its namespace (the last two only with several replicas) and in the
 * cluster. */
extern const struct kind_grant picker_grants[];
