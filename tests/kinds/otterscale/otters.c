#include "tests/kinds/otterscale/otters.h"

#include "tests/test.h"

void otters_init(struct otters *w)
{
    *w = (struct otters){ .settings = otterscale_settings_default };
    file_view_init(&w->view, test_arena(), 0);
}

static void add(struct otters *w, struct json object)
{
    struct error err;
    object = json_with(test_arena(), object, "metadata.namespace", json_str("ml"));
    if (!file_view_add(&w->view, object, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
}

void otters_add(struct otters *w, const char *json)
{
    add(w, test_json(json));
}

static void add_own(
    struct otters *w, const char *kind, const char *name, const char *base, const char *spec)
{
    add(w,
        json_fields(test_arena(),
            { "apiVersion", json_str("model.otterscale.io/v1alpha1") },
            { "kind", json_str(kind) },
            { "metadata.name", json_str(name) },
            { "metadata.generation", json_int(1) },
            { "spec", json_overlay(test_arena(), test_json(base), test_json(spec)) }));
}

void otters_service(struct otters *w, const char *name, const char *spec)
{
    add_own(w,
        "ModelService",
        name,
        "{'model': {'name': 'acme/owl', 'image': 'r.test/owl:1'}, 'engine': {},"
        " 'accelerator': {'type': 'nvidia'}, 'decode': {}}",
        spec);
}

void otters_artifact(struct otters *w, const char *name, const char *spec)
{
    add_own(w,
        "ModelArtifact",
        name,
        "{'source': {'huggingFace': {'model': 'acme/owl'}}, 'storage': {'size': '1Gi'},"
        " 'target': {'registry': 'r.test', 'repository': 'zoo/owl'}}",
        spec);
}

void otters_set(struct otters *w, const struct resource *r, const char *name, const char *path,
    const char *json)
{
    struct json object = file_view_get(&w->view, r, "ml", name);
    check(json_present(object));
    add(w, json_with(test_arena(), object, path, json_if(json, test_json(json))));
}

const struct plan *otters_run(struct otters *w, const struct kind *kind, const char *name)
{
    struct view in = file_view_of(&w->view, kind->resource, "ml", name, &w->settings);
    struct plan *plan = arena_new(test_arena(), struct plan);
    plan_init(plan, test_arena());
    kind->reconcile(&in, plan);
    check(plan->outcome != OUTCOME_NONE);
    file_view_apply(&w->view, &in, plan);
    return plan;
}

struct json otters_child(const struct plan *p, const struct resource *r, const char *name)
{
    for (size_t i = 0; i < p->child_count; i++)
        if (p->children[i].resource == r && p->children[i].mode != PLAN_ABSENT &&
            text_eq(json_get_text(p->children[i].object, "metadata.name"), name))
            return p->children[i].object;
    return json_none;
}

const char *otters_condition(const struct plan *p, const char *type)
{
    for (size_t i = 0; i < p->condition_count; i++) {
        const struct plan_condition *c = &p->conditions[i];
        if (text_eq(c->type, type))
            return arena_printf(test_arena(),
                "%s %s: %s",
                c->unknown  ? "Unknown"
                : c->status ? "True"
                            : "False",
                c->reason,
                c->message);
    }
    return "";
}
