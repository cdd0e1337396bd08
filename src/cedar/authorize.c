/* Decides a request by the policies. */

#include "cedar/internal.h"

#include <stdlib.h>
#include <string.h>

#define ERRORS_MAX 16

static int by_uid(const void *x, const void *y)
{
    const struct cedar_entity *a = *(const struct cedar_entity *const *)x;
    const struct cedar_entity *b = *(const struct cedar_entity *const *)y;
    const struct str left[] = { a->uid.type, a->uid.id }, right[] = { b->uid.type, b->uid.id };
    for (size_t i = 0; i < 2; i++) {
        size_t least = left[i].len < right[i].len ? left[i].len : right[i].len;
        int order = memcmp(left[i].ptr, right[i].ptr, least);
        if (!order)
            order = (left[i].len > right[i].len) - (left[i].len < right[i].len);
        if (order)
            return order;
    }
    return 0;
}

static void prepare(
    struct evaluation *e, struct arena *a, const struct cedar_request *r, struct error *err)
{
    *e = (struct evaluation){
        .arena = a,
        .request = r,
        .principal = { .type = VALUE_ENTITY, .uid = r->principal },
        .action = { .type = VALUE_ENTITY, .uid = r->action },
        .resource = { .type = VALUE_ENTITY, .uid = r->resource },
        .context = value_of_json(a, r->context),
        .by_uid = arena_array(a, r->entity_count, sizeof *e->by_uid),
        .err = err,
    };
    for (size_t i = 0; i < r->entity_count; i++)
        e->by_uid[i] = &r->entities[i];
    if (r->entity_count)
        qsort(e->by_uid, r->entity_count, sizeof *e->by_uid, by_uid);
}

static bool in_scope(struct evaluation *e, const struct scope *s, struct cedar_uid uid)
{
    if (s->has_type && !str_eq(uid.type, s->type))
        return false;
    if (!s->has_uids)
        return true;
    if (s->equal)
        return uid_equal(uid, s->uids[0]);
    for (size_t i = 0; i < s->uid_count; i++)
        if (evaluate_in(e, uid, s->uids[i]))
            return true;
    return false;
}

/* Whether a policy applies. Errors are in e->err. */
static bool holds(struct evaluation *e, const struct policy *p)
{
    const struct cedar_request *r = e->request;
    if (!in_scope(e, &p->principal, r->principal) || !in_scope(e, &p->action, r->action) ||
        !in_scope(e, &p->resource, r->resource))
        return false;
    for (size_t i = 0; i < p->condition_count; i++) {
        struct value v;
        if (!evaluate(e, p->conditions[i].body, &v))
            return false;
        if (v.type != VALUE_BOOL)
            return fail(
                e->err, ERR_INVALID, "type error: expected bool, got %s", value_type_name(v.type));
        if (v.boolean == p->conditions[i].unless)
            return false;
    }
    return true;
}

struct cedar_answer cedar_authorize(
    struct arena *a, const struct cedar_policies *p, const struct cedar_request *r)
{
    struct error err = { 0 };
    struct evaluation e;
    prepare(&e, a, r, &err);
    const char **permits = arena_array(a, p->count, sizeof *permits);
    const char **forbids = arena_array(a, p->count, sizeof *forbids);
    const char **errors = arena_array(a, ERRORS_MAX, sizeof *errors);
    size_t permit_count = 0, forbid_count = 0, error_count = 0;
    bool exhausted = false;
    e.steps = CEDAR_STEPS_MAX;
    for (size_t i = 0; i < p->count && !exhausted; i++) {
        const struct policy *policy = &p->list[i];
        err = (struct error){ 0 };
        if (holds(&e, policy) && e.steps >= 0) {
            if (policy->forbid)
                forbids[forbid_count++] = policy->id;
            else
                permits[permit_count++] = policy->id;
        } else if (err.code != ERR_NONE && error_count < ERRORS_MAX) {
            errors[error_count++] = arena_printf(a, "%s: %s", policy->id, err.text);
        }
        exhausted = e.steps < 0;
    }
    /* A policy that was not evaluated may be a forbid. */
    bool allowed = permit_count && !forbid_count && !exhausted;
    return (struct cedar_answer){
        .allowed = allowed,
        .reasons = forbid_count ? forbids : permits,
        .reason_count = forbid_count ? forbid_count
                        : allowed    ? permit_count
                                     : 0,
        .errors = errors,
        .error_count = error_count,
    };
}
