#include "tests/kinds/llmkube/stage.h"

#include "base/time.h"
#include "tests/test.h"

void stage_init(struct stage *s)
{
    *s = (struct stage){ .settings = llmkube_settings_default };
    check(time_parse("2026-11-15T17:00:00Z", &s->now_ms));
}

/* ---- filling it ---- */

static bool is_object(struct json object, const char *kind, const char *namespace, const char *name)
{
    return text_eq(json_get_text(object, "kind"), kind) &&
           (!namespace || text_eq(json_get_text(object, "metadata.namespace"), namespace)) &&
           text_eq(json_get_text(object, "metadata.name"), name);
}

void stage_add_json(struct stage *s, struct json object)
{
    struct arena *a = test_arena();
    const char *kind = json_get_text(object, "kind"),
               *name = json_get_text(object, "metadata.name");
    const char *namespace = json_get_text(object, "metadata.namespace");
    check(kind && name);
    if (!namespace)
        object = json_with(a, object, "metadata.namespace", json_str("ns"));
    namespace = json_get_text(object, "metadata.namespace");
    if (!json_get_text(object, "metadata.uid"))
        object = json_with(a, object, "metadata.uid", json_strf(a, "%s/%s", kind, name));
    for (size_t i = 0; i < STAGE_MAX; i++) {
        if (json_present(s->objects[i]) && !is_object(s->objects[i], kind, namespace, name))
            continue;
        s->objects[i] = object;
        return;
    }
    check(!"room on the stage");
}

void stage_add(struct stage *s, const char *text)
{
    stage_add_json(s, test_json(text));
}

void stage_add_child(struct stage *s, const char *owner, struct json object)
{
    struct arena *a = test_arena();
    struct json reference = json_fields(a,
        { "kind", json_str("InferenceService") },
        { "name", json_str(owner) },
        { "controller", json_bool(true) },
        { "uid", json_strf(a, "InferenceService/%s", owner) });
    object = json_with(a, object, "metadata.ownerReferences", json_list(a, reference));
    for (size_t i = 0; i < STAGE_MAX; i++)
        if (is_object(s->objects[i], "InferenceService", NULL, owner))
            object = json_with(
                a, object, "metadata.namespace", json_get(s->objects[i], "metadata.namespace"));
    stage_add_json(s, object);
}

static struct stage_note *note(struct stage_note *notes, const char *kind, const char *name)
{
    for (size_t i = 0; i < STAGE_MAX; i++) {
        struct stage_note *n = &notes[i];
        if (n->kind && !(text_eq(n->kind, kind) && text_eq(n->name, name)))
            continue;
        *n = (struct stage_note){ .kind = kind, .name = name };
        return n;
    }
    test_fail(__FILE__, __LINE__, "no room on the stage");
}

void stage_owned(struct stage *s, const char *kind, const char *name, struct json value)
{
    note(s->owned, kind, name)->value = value;
}

void stage_trouble(struct stage *s, const char *kind, enum trouble what, const char *message)
{
    note(s->troubles, kind, NULL)->trouble = (struct view_trouble){ what, message };
}

void stage_fact(struct stage *s, const char *effect, const char *text)
{
    note(s->facts, effect, NULL)->value = test_json(text);
}

/* ---- answering ---- */

static struct json get(void *ctx, const struct resource *r, const char *namespace, const char *name)
{
    struct stage *s = ctx;
    for (size_t i = 0; i < STAGE_MAX; i++)
        if (is_object(s->objects[i], r->kind, r->cluster_scoped ? NULL : namespace, name))
            return s->objects[i];
    return (struct json){ 0 };
}

/* "KEY=value" is all that kinds ask for. */
static bool is_selected(struct json object, const char *selector)
{
    if (!selector)
        return true;
    struct str value = str_of(selector);
    struct str key = str_cut(&value, '=');
    const char *label = json_text(json_member_n(json_get(object, "metadata.labels"), key));
    return label && str_eq(str_of(label), value);
}

static struct json list(
    void *ctx, const struct resource *r, const char *namespace, const char *label_selector)
{
    struct stage *s = ctx;
    struct json_builder b;
    json_builder_init(&b, test_arena());
    for (size_t i = 0; i < STAGE_MAX; i++) {
        struct json o = s->objects[i];
        if (text_eq(json_get_text(o, "kind"), r->kind) &&
            (!namespace || text_eq(json_get_text(o, "metadata.namespace"), namespace)) &&
            is_selected(o, label_selector))
            json_push(&b, o);
    }
    return json_list_end(&b);
}

static bool served(void *ctx, const struct resource *r)
{
    (void)r;
    return !((struct stage *)ctx)->not_served;
}

static const struct stage_note *find(
    const struct stage_note *notes, const char *kind, const char *name)
{
    for (size_t i = 0; i < STAGE_MAX && notes[i].kind; i++)
        if (text_eq(notes[i].kind, kind) && (!notes[i].name || text_eq(notes[i].name, name)))
            return &notes[i];
    return NULL;
}

static struct json owned(void *ctx, const struct resource *r, const char *name)
{
    const struct stage_note *n = find(((struct stage *)ctx)->owned, r->kind, name);
    return n ? n->value : (struct json){ 0 };
}

static struct view_trouble trouble(void *ctx, const struct resource *r, const char *name)
{
    const struct stage_note *n = find(((struct stage *)ctx)->troubles, r->kind, name);
    return n ? n->trouble : (struct view_trouble){ 0 };
}

static struct json fact(void *ctx, const char *effect, struct json args)
{
    (void)args;
    const struct stage_note *n = find(((struct stage *)ctx)->facts, effect, NULL);
    return n ? n->value : (struct json){ 0 };
}

static const struct view_source source = {
    .get = get,
    .list = list,
    .served = served,
    .owned = owned,
    .trouble = trouble,
    .fact = fact,
};

void stage_run(struct stage *s, const struct kind *k, const char *name)
{
    struct json object = { 0 };
    for (size_t i = 0; i < STAGE_MAX && !json_present(object); i++)
        if (is_object(s->objects[i], k->resource->kind, NULL, name))
            object = s->objects[i];
    check(json_present(object));
    struct view in = {
        .arena = test_arena(),
        .object = object,
        .now_ms = s->now_ms,
        .settings = &s->settings,
        .source = &source,
        .source_ctx = s,
    };
    plan_init(&s->plan, test_arena());
    k->reconcile(&in, &s->plan);
    check(s->plan.outcome != OUTCOME_NONE);
}

/* ---- asking ---- */

struct json stage_child_named(const struct stage *s, const char *kind, const char *name)
{
    for (size_t i = 0; i < s->plan.child_count; i++) {
        const struct plan_child *c = &s->plan.children[i];
        if (text_eq(c->resource->kind, kind) &&
            (!name || text_eq(json_get_text(c->object, "metadata.name"), name)))
            return c->object;
    }
    return (struct json){ 0 };
}

struct json stage_child(const struct stage *s, const char *kind)
{
    return stage_child_named(s, kind, NULL);
}

static const struct plan_condition *condition(const struct stage *s, const char *type)
{
    for (size_t i = 0; i < s->plan.condition_count; i++)
        if (text_eq(s->plan.conditions[i].type, type))
            return &s->plan.conditions[i];
    return NULL;
}

const char *stage_condition(const struct stage *s, const char *type)
{
    const struct plan_condition *c = condition(s, type);
    return c ? arena_printf(test_arena(), "%s %s", c->status ? "True" : "False", c->reason) : NULL;
}

const char *stage_message(const struct stage *s, const char *type)
{
    const struct plan_condition *c = condition(s, type);
    return c ? c->message : NULL;
}

bool stage_has_event(const struct stage *s, const char *reason)
{
    for (size_t i = 0; i < s->plan.event_count; i++)
        if (text_eq(s->plan.events[i].reason, reason))
            return true;
    return false;
}

bool stage_has_effect(const struct stage *s, const char *effect)
{
    for (size_t i = 0; i < s->plan.effect_count; i++)
        if (text_eq(s->plan.effects[i].effect, effect))
            return true;
    return false;
}

/* ---- going on ---- */

void stage_apply(struct stage *s, const char *owner)
{
    for (size_t i = 0; i < s->plan.child_count; i++) {
        const struct plan_child *c = &s->plan.children[i];
        const char *name = json_get_text(c->object, "metadata.name");
        struct json object =
            json_with(test_arena(), c->object, "kind", json_str(c->resource->kind));
        for (size_t o = 0; o < STAGE_MAX; o++)
            if (is_object(s->objects[o], c->resource->kind, NULL, name))
                object =
                    json_with(test_arena(), object, "status", json_get(s->objects[o], "status"));
        if (c->mode == PLAN_SHARED)
            stage_add_json(s, object);
        else
            stage_add_child(s, owner, object);
        stage_owned(s, c->resource->kind, name, c->object);
    }
}

void stage_apply_status(struct stage *s, const char *kind, const char *name)
{
    struct arena *a = test_arena();
    struct json_builder b;
    json_builder_init(&b, a);
    for (size_t i = 0; i < s->plan.condition_count; i++) {
        const struct plan_condition *c = &s->plan.conditions[i];
        json_push(&b,
            json_fields(a,
                { "type", json_str(c->type) },
                { "status", json_str(c->status ? "True" : "False") },
                { "reason", json_str(c->reason) },
                { "message", json_str(c->message) },
                { "lastTransitionTime", json_str(time_format(a, s->now_ms)) }));
    }
    struct json status = json_with(a, s->plan.status, "conditions", json_list_end(&b));
    for (size_t i = 0; i < STAGE_MAX; i++)
        if (is_object(s->objects[i], kind, NULL, name))
            s->objects[i] = json_with(a, s->objects[i], "status", status);
}
