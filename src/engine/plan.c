#include "engine/plan.h"

#include "base/resource.h"

void plan_init(struct plan *p, struct arena *a)
{
    *p = (struct plan){ .arena = a };
}

static void add_child(
    struct plan *p, enum plan_child_mode mode, const struct resource *r, struct json object)
{
    assert(p->child_count < PLAN_MAX_CHILDREN);
    assert(json_get_text(object, "metadata.name"));
    p->children[p->child_count++] = (struct plan_child){
        .resource = r,
        .mode = mode,
        .object = object,
    };
}

void plan_child(struct plan *p, const struct resource *r, struct json object)
{
    add_child(p, PLAN_OWNED, r, object);
}

void plan_shared(struct plan *p, const struct resource *r, struct json object)
{
    add_child(p, PLAN_SHARED, r, object);
}

void plan_once(struct plan *p, const struct resource *r, struct json object)
{
    add_child(p, PLAN_ONCE, r, object);
}

void plan_absent(struct plan *p, const struct resource *r, const char *name)
{
    add_child(p, PLAN_ABSENT, r, json_fields(p->arena, { "metadata.name", json_str(name) }));
}

void plan_remove(struct plan *p, const struct resource *r, const char *name)
{
    add_child(p, PLAN_REMOVED, r, json_fields(p->arena, { "metadata.name", json_str(name) }));
}

const char *plan_owner_id(
    struct arena *a, const char *api_version, const char *kind, struct json owner)
{
    struct str version = str_of(api_version);
    const char *group = str_dup(a, str_cut(&version, '/'));
    return arena_printf(a,
        "%s.%s/%s/%s",
        kind,
        group,
        json_get_text(owner, "metadata.namespace"),
        json_get_text(owner, "metadata.name"));
}

struct json plan_child_object(struct arena *a, const struct plan_child *c, const char *api_version,
    const char *kind, struct json owner)
{
    struct json object = c->object;
    object = json_with(a, object, "apiVersion", json_str(resource_api_version(a, c->resource)));
    object = json_with(a, object, "kind", json_str(c->resource->kind));
    if (!c->resource->cluster_scoped)
        object = json_with(a, object, "metadata.namespace", json_get(owner, "metadata.namespace"));
    if (c->mode == PLAN_SHARED)
        return object;
    if (c->resource->cluster_scoped) {
        const char *id = plan_owner_id(a, api_version, kind, owner);
        struct json mark = json_map(a, { PLAN_OWNER_ANNOTATION, json_str(id) });
        mark = json_overlay(a, json_get(object, "metadata.annotations"), mark);
        return json_with(a, object, "metadata.annotations", mark);
    }
    /* blockOwnerDeletion true would need the right to update the owner's finalizers (seed 1). */
    struct json reference = json_fields(a,
        { "apiVersion", json_str(api_version) },
        { "kind", json_str(kind) },
        { "name", json_get(owner, "metadata.name") },
        { "uid", json_get(owner, "metadata.uid") },
        { "controller", json_bool(true) },
        { "blockOwnerDeletion", json_bool(false) });
    return json_with(a, object, "metadata.ownerReferences", json_list(a, reference));
}

static struct plan_child *last_child(struct plan *p)
{
    assert(p->child_count > 0);
    return &p->children[p->child_count - 1];
}

void plan_replaceable(struct plan *p, const char *const *paths)
{
    last_child(p)->fixed = paths;
}

void plan_after(struct plan *p, const struct resource *r, const char *name)
{
    struct plan_child *last = last_child(p);
    for (struct plan_child *c = p->children; c < last; c++)
        if (c->resource == r && text_eq(json_get_text(c->object, "metadata.name"), name)) {
            last->after.resource = r;
            last->after.name = name;
        }
    assert(last->after.resource); /* the other child is planned first */
}

void plan_exclusive(struct plan *p, const char *list, const char *member)
{
    struct plan_child *c = last_child(p);
    c->exclusive.list = list;
    c->exclusive.member = member;
}

void plan_orphan(struct plan *p)
{
    last_child(p)->orphan = true;
}

void plan_disposable(struct plan *p)
{
    last_child(p)->disposable = true;
}

void plan_random(struct plan *p, const char *path, size_t bytes)
{
    assert(p->child_count > 0 && bytes <= PLAN_MAX_RANDOM_BYTES);
    struct plan_child *c = &p->children[p->child_count - 1];
    assert(c->mode == PLAN_ONCE);
    c->random = path;
    c->random_bytes = bytes;
}

void plan_yield(struct plan *p, const char *name)
{
    assert(p->yielded_count < PLAN_MAX_YIELDED);
    p->yielded[p->yielded_count++] = name;
}

void plan_amend(struct plan *p, struct json patch)
{
    assert(!json_present(p->amendment));
    p->amendment = patch;
}

void plan_end(struct plan *p)
{
    p->end = true;
}

void plan_stay(struct plan *p)
{
    p->stay = true;
}

void plan_keep_children(struct plan *p)
{
    p->keep_children = true;
}

void plan_status(struct plan *p, struct json status, const char *stamp)
{
    assert(!p->has_status);
    p->has_status = true;
    p->status = status;
    p->stamp = stamp;
}

static void add_condition(struct plan *p, struct plan_condition c)
{
    assert(p->condition_count < PLAN_MAX_CONDITIONS);
    for (size_t i = 0; i < p->condition_count; i++)
        assert(!text_eq(p->conditions[i].type, c.type));
    p->conditions[p->condition_count++] = c;
}

void plan_condition(
    struct plan *p, const char *type, bool status, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_condition(p,
        (struct plan_condition){
            .type = type,
            .status = status,
            .reason = reason,
            .message = arena_vprintf(p->arena, format, args),
        });
    va_end(args);
}

void plan_condition_unknown(
    struct plan *p, const char *type, const char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_condition(p,
        (struct plan_condition){
            .type = type,
            .unknown = true,
            .reason = reason,
            .message = arena_vprintf(p->arena, format, args),
        });
    va_end(args);
}

void plan_event(struct plan *p, bool warning, const char *reason, const char *format, ...)
{
    assert(p->event_count < PLAN_MAX_EVENTS);
    va_list args;
    va_start(args, format);
    p->events[p->event_count++] = (struct plan_event){
        .warning = warning,
        .reason = reason,
        .message = arena_vprintf(p->arena, format, args),
    };
    va_end(args);
}

void plan_effect(struct plan *p, const char *effect, struct json args, int64_t every_ms)
{
    assert(p->effect_count < PLAN_MAX_EFFECTS);
    p->effects[p->effect_count++] = (struct plan_effect){
        .effect = effect,
        .args = args,
        .every_ms = every_ms,
    };
}

void plan_evict(struct plan *p, const char *pod, const char *uid)
{
    assert(!p->eviction.pod && pod && uid);
    p->eviction = (struct plan_eviction){ .resource = &RESOURCE_POD, .pod = pod, .uid = uid };
}

static void decide(struct plan *p, enum outcome outcome)
{
    assert(p->outcome == OUTCOME_NONE);
    p->outcome = outcome;
}

void plan_done(struct plan *p)
{
    decide(p, OUTCOME_DONE);
}

void plan_recheck(struct plan *p, int64_t after_ms)
{
    assert(after_ms > 0);
    decide(p, OUTCOME_RECHECK);
    p->after_ms = after_ms;
}

void plan_within(struct plan *p, int64_t within_ms)
{
    assert(within_ms > 0);
    if (!p->within_ms || within_ms < p->within_ms)
        p->within_ms = within_ms;
}

void plan_wait(struct plan *p, const char *format, ...)
{
    decide(p, OUTCOME_WAIT);
    p->after_ms = PLAN_WAIT_RECHECK_MS;
    va_list args;
    va_start(args, format);
    p->cause = arena_vprintf(p->arena, format, args);
    va_end(args);
}

void plan_retry(struct plan *p, const char *format, ...)
{
    decide(p, OUTCOME_RETRY);
    va_list args;
    va_start(args, format);
    p->cause = arena_vprintf(p->arena, format, args);
    va_end(args);
}
