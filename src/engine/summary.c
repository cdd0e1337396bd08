#include "engine/summary.h"

#include "base/str.h"
#include "engine/kind.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "merge/schema.h"

/* ---- what was planned ---- */

static bool has_place(const struct schema *s, const char *field)
{
    if (s->deduced)
        return false;
    const struct schema_field *status = schema_field(s, schema_type(s, s->root), "status");
    return status && schema_field(s, schema_type(s, status->type), field);
}

static const struct plan_condition *planned(const struct plan *p, const char *type)
{
    for (size_t i = 0; i < p->condition_count; i++)
        if (text_eq(p->conditions[i].type, type))
            return &p->conditions[i];
    return NULL;
}

/* The first condition of these types, ended by NULL, that is planned with this status. */
static const struct plan_condition *first_of(
    const struct plan *p, const char *const *types, bool status)
{
    for (; *types; types++) {
        const struct plan_condition *c = planned(p, *types);
        if (c && !c->unknown && c->status == status)
            return c;
    }
    return NULL;
}

static bool is_one_of(const char *text, const char *const *list)
{
    while (*list && !text_eq(text, *list))
        list++;
    return *list;
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* ---- Ready ---- */

/* An object that is stopped as its spec requests is ready. */
static bool is_ready(const struct plan *p, const char *phase)
{
    const struct plan_condition *own = planned(p, "Ready");
    if (own)
        return own->status && !own->unknown;
    if (first_of(p, LIST("PodsHealthy"), false))
        return false;
    if (phase)
        return is_one_of(phase, LIST("Ready", "Valid", "Succeeded", "Stopped", "Suspended"));
    return !first_of(p, LIST("Degraded", "Error"), true) &&
           !first_of(p, LIST("Valid", "Validated", "Loaded", "Available"), false);
}

/* The condition that best explains why the object is not ready; NULL: none. */
static const struct plan_condition *find_cause(const struct plan *p)
{
    const struct plan_condition *c = first_of(p, LIST("PodsHealthy"), false);
    c = c ? c : first_of(p, LIST("Degraded", "Error"), true);
    c = c ? c
          : first_of(p,
                LIST("Valid", "Validated", "MembersValid", "MetalSupported", "GPUAvailable"),
                false);
    c = c ? c : first_of(p, LIST("Progressing"), true);
    c = c ? c : first_of(p, LIST("Ready"), false);
    return c ? c
             : first_of(p, LIST("Available", "BackendsReady", "Loaded", "SlotAllocated"), false);
}

static const struct plan_condition *find_proof(const struct plan *p)
{
    static const char *const types[] = { "Available", "Loaded", "Valid", "SlotAllocated", NULL };
    const struct plan_condition *c = first_of(p, types, true);
    return c ? c : first_of(p, types, false); /* stopped */
}

static const char *or_else(const char *text, const char *other)
{
    return text_empty(text) ? other : text;
}

static void add_ready(struct plan *p, const char *phase, bool ready)
{
    const struct plan_condition *c = ready ? find_proof(p) : find_cause(p);
    const char *words = ready ? "It is as its spec wants it" : "It is not yet as its spec wants it";
    /* The plan's cause is often more detailed than upstream's conditions. */
    bool waits = !ready && p->outcome == OUTCOME_WAIT && !(c && text_eq(c->type, "PodsHealthy"));
    words = or_else(c ? c->message : NULL, words);
    plan_condition(p,
        "Ready",
        ready,
        or_else(c ? c->reason : NULL, or_else(phase, ready ? "Ready" : "NotReady")),
        "%s",
        waits ? or_else(p->cause, words) : words);
}

/* ---- Stalled ---- */

/* A cluster autoscaler may be about to add a node for an unschedulable pod. */
static bool is_stalled(const struct plan *p, const char *phase)
{
    const struct plan_condition *pods = first_of(p, LIST("PodsHealthy"), false);
    if (pods && !text_eq(pods->reason, "Unschedulable"))
        return true;
    if (text_eq(phase, "Failed"))
        return true;
    return (!phase || text_eq(phase, "Degraded")) && p->outcome == OUTCOME_WAIT;
}

static bool has_warning(const struct plan *p)
{
    for (size_t i = 0; i < p->event_count; i++)
        if (p->events[i].warning)
            return true;
    return false;
}

static void add_stalled(struct plan *p, struct json live)
{
    const struct plan_condition *c = find_cause(p);
    const struct plan_condition *ready = planned(p, "Ready");
    c = c ? c : ready;
    const char *reason = c->reason,
               *message = text_eq(c->type, "PodsHealthy") ? c->message : ready->message;
    plan_condition(p, "Stalled", true, reason, "%s", message);
    struct json before = json_find(json_get(live, "conditions"), "type", "Stalled");
    if (!text_eq(json_get_text(before, "reason"), reason) && !has_warning(p))
        plan_event(p, true, reason, "%s", message);
}

void summary_add(
    const struct kind *kind, const struct schema *schema, const struct view *in, struct plan *p)
{
    bool custom = strchr(kind->resource->group, '.');
    if (!custom || !p->has_status || json_present(json_member(p->status, "conditions")))
        return;
    const char *phase = json_get_text(p->status, "phase");
    int64_t generation = json_get_int(in->object, "metadata.generation", 0);
    if (has_place(schema, "observedGeneration") && generation &&
        !json_present(json_member(p->status, "observedGeneration")))
        p->status =
            json_with_member(in->arena, p->status, "observedGeneration", json_int(generation));
    if (!has_place(schema, "conditions"))
        return;
    if (!phase && !planned(p, "Ready") && !find_cause(p) && !find_proof(p))
        return; /* the status has nothing to derive it from */
    bool ready = is_ready(p, phase);
    if (!planned(p, "Ready"))
        add_ready(p, phase, ready);
    if (!ready && is_stalled(p, phase))
        add_stalled(p, json_get(in->object, "status"));
}
