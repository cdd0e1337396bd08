#pragma once

/* One pass over a ModelService: what its two files share. */

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
    const char *base;    /* N, as far as it is a label value */
    const char *picker;  /* E */
    const char *version; /* for labels */
    struct json pool;    /* spec.inferencePool.endpointPicker; absent: none */
    bool disaggregated;  /* there are prefill pods */
    int64_t port, picker_port, picker_replicas;
    const char *error;                       /* why it is not as it should be; NULL: it is */
    const char *lack_reason, *lack_messages; /* what is missing around it */
};

/* Plans a child; what stands in its way is told in the status. */
void service_child(struct service *s, const struct resource *r, struct json object);
/* An object of others' kinds: their lists are stored with the defaults of their CRD. */
void service_custom_child(struct service *s, const struct resource *r, const char *name,
    struct json labels, struct json spec);
/* Why the service is not as its spec says; the first cause is the one to mend first. */
void service_fail(struct service *s, const char *message);
/* What is missing around it, although everything of its own is made. */
void service_lack(struct service *s, const char *reason, const char *message);
const char *service_say(struct service *s, const char *format, ...) printf_like(2, 3);

/* Of tracing, what sidecars and pickers have in common: variables before and behind their own. */
void service_push_tracing(const struct service *s, struct json_builder *env, const char *who);
void service_push_sampler(const struct service *s, struct json_builder *env);

/* endpoint_picker.c: E and everything named after it, the pool and the route. */
/* E: upstream's name, or one with a hash where that is too long or another service's. */
const char *picker_name(const struct service *s);
void picker_plan(struct service *s);
/* The rights that a picker gets in its namespace (the last two only with several replicas) and in
 * the cluster. */
extern const struct kind_grant picker_grants[];
