#include "tests/kinds/llmkube/manifests.h"

#include <stdio.h>

#include "base/yaml.h"
#include "tests/test.h"

struct str manifests_read(const char *path)
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

struct json manifests_yaml(const char *path)
{
    struct json list;
    struct error err;
    if (!yaml_parse_all(test_arena(), manifests_read(path), path, &list, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
    return list;
}

/* The fact of an effect whose `source` or `path` was scripted; none otherwise. */
static struct json scripted(void *ctx, struct arena *a, const char *effect, struct json args)
{
    struct manifests *w = ctx;
    const char *what = json_get_text(args, "source");
    if (!what)
        what = json_get_text(args, "path");
    return json_member(w->facts, arena_printf(a, "%s %s", effect, what));
}

void manifests_init(struct manifests *w)
{
    manifests_init_bare(w);
    manifests_add_all(w, manifests_yaml("api/inference.llmkube.dev_models.yaml"));
}

void manifests_init_bare(struct manifests *w)
{
    *w = (struct manifests){ .settings = llmkube_settings_default, .facts = json_empty_map() };
    file_view_init(&w->view, test_arena(), MANIFESTS_NOW_MS);
    w->view.fact = scripted;
    w->view.fact_ctx = w;
}

void manifests_add_all(struct manifests *w, struct json list)
{
    struct error err;
    json_each (object, list)
        if (!file_view_add(&w->view, *object, &err))
            test_fail(__FILE__, __LINE__, "%s", err.text);
}

void manifests_add(struct manifests *w, const char *json)
{
    struct json v = test_json(json);
    manifests_add_all(w, json_is(v, JSON_LIST) ? v : json_list(test_arena(), v));
}

void manifests_edit(
    struct manifests *w, const char *ns, const char *name, const char *path, const char *json)
{
    struct arena *a = test_arena();
    struct json object = file_view_get(&w->view, &LLMKUBE_MODEL, ns, name);
    int64_t generation = json_get_int(object, "metadata.generation", 1);
    object = json_with(a, object, path, json ? test_json(json) : (struct json){ 0 });
    object = json_with(a, object, "metadata.generation", json_int(generation + 1));
    manifests_add_all(w, json_list(a, object));
}

void manifests_restart(struct manifests *w)
{
    w->facts = json_empty_map();
}

void manifests_fact(struct manifests *w, const char *effect_and_source, const char *json)
{
    struct json fact = json ? test_json(json) : (struct json){ 0 };
    if (json_is(fact, JSON_MAP) && !json_present(json_get(fact, "at")))
        fact = json_with_member(test_arena(), fact, "at", json_int(MANIFESTS_NOW_MS));
    w->facts = json_with_member(test_arena(), w->facts, effect_and_source, fact);
}

void manifests_flags(struct manifests *w, const char *flags)
{
    for (struct str rest = str_of(flags); rest.ptr;) {
        struct str value = str_cut(&rest, ' ');
        struct str name = str_cut(&value, '=');
        check(str_starts(name, STR("--")));
        struct error err;
        const char *plain = str_dup(test_arena(), name) + 2;
        const char *text = value.ptr ? str_dup(test_arena(), value) : NULL;
        if (!setting_set(test_arena(), llmkube_flags, &w->settings, plain, text, &err))
            test_fail(__FILE__, __LINE__, "%s", err.text);
    }
}

const struct plan *manifests_run(struct manifests *w, const char *ns, const char *name)
{
    struct view in = file_view_of(&w->view, &LLMKUBE_MODEL, ns, name, &w->settings);
    struct plan *plan = arena_new(test_arena(), struct plan);
    plan_init(plan, test_arena());
    llmkube_model_kind.reconcile(&in, plan);
    check(plan->outcome != OUTCOME_NONE);
    file_view_apply(&w->view, &in, plan);
    return plan;
}

struct json manifests_status(struct manifests *w, const char *ns, const char *name)
{
    return json_get(file_view_get(&w->view, &LLMKUBE_MODEL, ns, name), "status");
}

const struct plan *manifests_settle(struct manifests *w, const char *ns, const char *name)
{
    for (int pass = 0; pass < 5; pass++) {
        struct json before = manifests_status(w, ns, name);
        const struct plan *plan = manifests_run(w, ns, name);
        if (json_equal(before, manifests_status(w, ns, name)))
            return plan;
    }
    test_fail(__FILE__, __LINE__, "%s/%s never comes to rest", ns, name);
}

const char *manifests_condition(
    struct manifests *w, const char *ns, const char *name, const char *type)
{
    struct json c = json_find(json_get(manifests_status(w, ns, name), "conditions"), "type", type);
    if (!json_present(c))
        return "";
    return arena_printf(test_arena(),
        "%s %s: %s",
        json_get_text(c, "status"),
        json_get_text(c, "reason"),
        json_get_text(c, "message"));
}
