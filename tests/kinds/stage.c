#include "tests/kinds/stage.h"

#include <stdio.h>

#include "base/time.h"
#include "base/yaml.h"
#include "tests/test.h"

void stage_init(struct stage *s, const void *settings)
{
    int64_t now_ms;
    check(time_parse("2026-11-15T17:00:00Z", &now_ms));
    *s = (struct stage){ .settings = settings };
    file_view_init(&s->world, test_arena(), now_ms);
}

/* ---- filling it ---- */

static bool is_object(struct json object, const char *kind, const char *name)
{
    return text_eq(json_get_text(object, "kind"), kind) &&
           text_eq(json_get_text(object, "metadata.name"), name);
}

/* The namespace of the first object of that name. */
static const char *namespace_of(struct stage *s, const char *kind, const char *name)
{
    for (size_t i = 0; i < s->world.count; i++)
        if (is_object(s->world.objects[i], kind, name))
            return json_get_text(s->world.objects[i], "metadata.namespace");
    test_fail(__FILE__, __LINE__, "there is no %s %s", kind, name);
}

static const char *api_version_of(const char *kind)
{
    static const char *const known[][2] = {
        { "Model", "inference.llmkube.dev/v1alpha1" },
        { "InferenceService", "inference.llmkube.dev/v1alpha1" },
        { "ModelRouter", "inference.llmkube.dev/v1alpha1" },
        { "ModelPool", "inference.llmkube.dev/v1alpha1" },
        { "GPUQuota", "inference.llmkube.dev/v1alpha1" },
        { "LoRAAdapter", "inference.llmkube.dev/v1alpha1" },
        { "Deployment", "apps/v1" },
        { "ReplicaSet", "apps/v1" },
        { "StatefulSet", "apps/v1" },
        { "HorizontalPodAutoscaler", "autoscaling/v2" },
        { "Job", "batch/v1" },
        { "EndpointSlice", "discovery.k8s.io/v1" },
        { "GrafanaDashboard", "grafana.integreatly.org/v1beta1" },
    };
    for (size_t i = 0; i < lengthof(known); i++)
        if (text_eq(kind, known[i][0]))
            return known[i][1];
    return "v1";
}

void stage_add_json(struct stage *s, struct json object)
{
    struct arena *a = test_arena();
    const char *kind = json_get_text(object, "kind"),
               *name = json_get_text(object, "metadata.name");
    check(kind && name);
    const struct {
        const char *path;
        struct json value;
    } missing[] = {
        { "apiVersion", json_str(api_version_of(kind)) },
        { "metadata.namespace", json_str("ns") },
        { "metadata.uid", json_strf(a, "%s/%s", kind, name) },
    };
    for (size_t i = 0; i < lengthof(missing); i++)
        if (!json_get_text(object, missing[i].path))
            object = json_with(a, object, missing[i].path, missing[i].value);
    struct error err;
    if (!file_view_add(&s->world, object, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
}

void stage_add_all(struct stage *s, struct json list)
{
    json_each (object, list)
        stage_add_json(s, *object);
}

void stage_add(struct stage *s, const char *text)
{
    struct json v = test_json(text);
    stage_add_all(s, json_is(v, JSON_LIST) ? v : json_list(test_arena(), v));
}

void stage_edit(
    struct stage *s, const struct resource *r, const char *name, const char *path, const char *text)
{
    struct arena *a = test_arena();
    struct json object = file_view_get(&s->world, r, namespace_of(s, r->kind, name), name);
    int64_t generation = json_get_int(object, "metadata.generation", 1);
    object = json_with(a, object, path, json_if(text, test_json(text)));
    stage_add_json(s, json_with(a, object, "metadata.generation", json_int(generation + 1)));
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
    for (size_t i = 0; i < s->world.count; i++)
        if (is_object(s->world.objects[i], "InferenceService", owner))
            object = json_with(a,
                object,
                "metadata.namespace",
                json_get(s->world.objects[i], "metadata.namespace"));
    stage_add_json(s, object);
}

static struct stage_note *note(struct stage_note *notes, const char *kind, const char *name)
{
    for (size_t i = 0; i < STAGE_NOTES_MAX; i++) {
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
    note(s->troubles, kind, NULL)->trouble = (struct view_trouble){ what, message, NULL, message };
}

void stage_fact(struct stage *s, const char *effect, const char *text)
{
    struct json fact = json_if(text, test_json(text));
    if (json_is(fact, JSON_MAP) && fact.count && !json_present(json_get(fact, "at")))
        fact = json_with_member(test_arena(), fact, "at", json_int(s->world.now_ms));
    note(s->facts, effect, NULL)->value = fact;
}

void stage_restart(struct stage *s)
{
    memset(s->facts, 0, sizeof(s->facts));
}

/* ---- answering: objects as the files have them, the rest from the notes ---- */

static struct json get(void *ctx, const struct resource *r, const char *ns, const char *name)
{
    return file_view_get(&((struct stage *)ctx)->world, r, ns, name);
}

static struct json list(
    void *ctx, const struct resource *r, const char *ns, const char *label_selector)
{
    struct stage *s = ctx;
    return s->files->list(&s->world, r, ns, label_selector);
}

static bool served(void *ctx, const struct resource *r)
{
    (void)r;
    return !((struct stage *)ctx)->not_served;
}

static const struct stage_note *find(
    const struct stage_note *notes, const char *kind, const char *name)
{
    for (size_t i = 0; i < STAGE_NOTES_MAX && notes[i].kind; i++)
        if (text_eq(notes[i].kind, kind) && (!notes[i].name || text_eq(notes[i].name, name)))
            return &notes[i];
    return NULL;
}

static struct json owned(void *ctx, const struct resource *r, const char *name)
{
    const struct stage_note *n = find(((struct stage *)ctx)->owned, r->kind, name);
    return json_if(n, n->value);
}

static struct view_trouble trouble(void *ctx, const struct resource *r, const char *name)
{
    const struct stage_note *n = find(((struct stage *)ctx)->troubles, r->kind, name);
    return n ? n->trouble : (struct view_trouble){ 0 };
}

static struct json fact(void *ctx, const char *effect, struct json args)
{
    struct stage *s = ctx;
    const char *what = json_get_text(args, "source");
    what = what ? what : json_get_text(args, "path");
    const struct stage_note *n =
        find(s->facts, arena_printf(test_arena(), "%s %s", effect, what ? what : ""), NULL);
    n = n ? n : find(s->facts, effect, NULL);
    return json_if(n, n->value);
}

static const struct view_source source = {
    .get = get,
    .list = list,
    .served = served,
    .owned = owned,
    .trouble = trouble,
    .fact = fact,
};

static struct view view_of(struct stage *s, const struct kind *k, const char *name)
{
    const char *ns = namespace_of(s, k->resource->kind, name);
    struct view in = file_view_of(&s->world, k->resource, ns, name, s->settings);
    s->files = in.source;
    in.source = &source;
    in.source_ctx = s;
    return in;
}

static struct view run(struct stage *s, const struct kind *k, const char *name)
{
    struct view in = view_of(s, k, name);
    plan_init(&s->plan, test_arena());
    k->reconcile(&in, &s->plan);
    check(s->plan.outcome != OUTCOME_NONE);
    return in;
}

void stage_run(struct stage *s, const struct kind *k, const char *name)
{
    run(s, k, name);
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
    return json_none;
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

struct json stage_status(struct stage *s, const struct resource *r, const char *name)
{
    const char *ns = namespace_of(s, r->kind, name);
    return json_get(file_view_get(&s->world, r, ns, name), "status");
}

const char *stage_told(
    struct stage *s, const struct resource *r, const char *name, const char *type)
{
    struct json c = json_find(json_get(stage_status(s, r, name), "conditions"), "type", type);
    if (!json_present(c))
        return "";
    return arena_printf(test_arena(),
        "%s %s: %s",
        json_get_text(c, "status"),
        json_get_text(c, "reason"),
        json_get_text(c, "message"));
}

/* ---- going on ---- */

void stage_apply(struct stage *s, const char *owner)
{
    for (size_t i = 0; i < s->plan.child_count; i++) {
        const struct plan_child *c = &s->plan.children[i];
        const char *kind = c->resource->kind, *name = json_get_text(c->object, "metadata.name");
        struct json object = json_fields(test_arena(),
            { "apiVersion", json_str(resource_api_version(test_arena(), c->resource)) },
            { "kind", json_str(kind) });
        json_each_member (m, c->object)
            object = json_with_member(test_arena(), object, m->key, m->value);
        for (size_t o = 0; o < s->world.count; o++)
            if (is_object(s->world.objects[o], kind, name))
                object = json_with(
                    test_arena(), object, "status", json_get(s->world.objects[o], "status"));
        if (c->mode == PLAN_SHARED)
            stage_add_json(s, object);
        else
            stage_add_child(s, owner, object);
        stage_owned(s, kind, name, c->object);
    }
}

void stage_apply_status(struct stage *s, const struct kind *k, const char *name)
{
    for (size_t i = 0; i < s->world.count; i++)
        if (is_object(s->world.objects[i], k->resource->kind, name))
            s->world.objects[i] = json_with(test_arena(),
                s->world.objects[i],
                "status",
                file_view_status(test_arena(), s->world.objects[i], &s->plan, s->world.now_ms));
}

const struct plan *stage_step(struct stage *s, const struct kind *k, const char *name)
{
    struct view in = run(s, k, name);
    file_view_apply(&s->world, &in, &s->plan);
    return &s->plan;
}

const struct plan *stage_settle(struct stage *s, const struct kind *k, const char *name)
{
    for (int pass = 0; pass < 5; pass++) {
        struct json before = stage_status(s, k->resource, name);
        const struct plan *plan = stage_step(s, k, name);
        if (json_equal(before, stage_status(s, k->resource, name)))
            return plan;
    }
    test_fail(__FILE__, __LINE__, "%s never comes to rest", name);
}

/* ---- files ---- */

struct str stage_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        test_fail(__FILE__, __LINE__, "cannot open %s", path);
    size_t size = 4 << 20;
    char *text = arena_alloc(test_arena(), size);
    size_t length = fread(text, 1, size, file);
    fclose(file);
    check(length < size);
    return (struct str){ text, length };
}

struct json stage_yaml(const char *path)
{
    struct json list;
    struct error err;
    if (!yaml_parse_all(test_arena(), stage_read(path), path, &list, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
    return list;
}
