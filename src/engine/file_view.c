#include "engine/file_view.h"

#include "base/resource.h"
#include "base/selector.h"
#include "engine/crd_default.h"
#include "engine/plan.h"
#include "engine/status.h"

void file_view_init(struct file_view *w, struct arena *a, int64_t now_ms)
{
    *w = (struct file_view){ .arena = a, .now_ms = now_ms };
}

/* ---- objects ---- */

static struct str group_of(const char *api_version)
{
    struct str version = str_of(api_version);
    struct str group = str_cut(&version, '/');
    return version.ptr ? group : STR("");
}

static bool is_of(struct json object, const struct resource *r)
{
    return text_eq(json_get_text(object, "kind"), r->kind) &&
           str_eq(group_of(json_get_text(object, "apiVersion")), str_of(r->group));
}

static const char *namespace_of(struct json object)
{
    const char *ns = json_get_text(object, "metadata.namespace");
    return text_empty(ns) ? FILE_VIEW_NAMESPACE : ns;
}

static bool is_named(struct json object, const char *ns, const char *name)
{
    return text_eq(json_get_text(object, "metadata.name"), name) &&
           (!ns || text_eq(namespace_of(object), ns));
}

static bool same_object(struct json a, struct json b)
{
    return text_eq(json_get_text(a, "kind"), json_get_text(b, "kind")) &&
           str_eq(group_of(json_get_text(a, "apiVersion")),
               group_of(json_get_text(b, "apiVersion"))) &&
           is_named(b, namespace_of(a), json_get_text(a, "metadata.name"));
}

static void put(struct file_view *w, struct json object)
{
    for (size_t i = 0; i < w->count; i++)
        if (same_object(w->objects[i], object)) {
            w->objects[i] = object;
            return;
        }
    arena_room(w->arena, w->objects, w->count, w->size);
    w->objects[w->count++] = object;
}

bool file_view_add(struct file_view *w, struct json object, struct error *err)
{
    static const char *const needed[] = { "apiVersion", "kind", "metadata.name" };
    for (size_t i = 0; i < lengthof(needed); i++)
        if (text_empty(json_get_text(object, needed[i])))
            return fail(err, ERR_INVALID, "%s: required", needed[i]);
    if (text_empty(json_get_text(object, "metadata.uid")))
        object = json_with(w->arena,
            object,
            "metadata.uid",
            json_strf(w->arena,
                "%s/%s/%s",
                json_get_text(object, "kind"),
                namespace_of(object),
                json_get_text(object, "metadata.name")));
    put(w, object);
    return true;
}

void file_view_remove(
    struct file_view *w, const struct resource *r, const char *ns, const char *name)
{
    for (size_t i = 0; i < w->count; i++)
        if (is_of(w->objects[i], r) &&
            is_named(w->objects[i], r->cluster_scoped ? NULL : ns, name)) {
            w->objects[i] = w->objects[--w->count];
            return;
        }
}

static bool is_crd_of(struct json object, const struct resource *r)
{
    return is_of(object, &RESOURCE_CRD) && text_eq(json_get_text(object, "spec.group"), r->group) &&
           text_eq(json_get_text(object, "spec.names.kind"), r->kind);
}

/* As the API server would return it. */
static struct json stored(struct file_view *w, const struct resource *r, struct json object)
{
    if (!r->cluster_scoped)
        object = json_with(w->arena, object, "metadata.namespace", json_str(namespace_of(object)));
    for (size_t i = 0; i < w->count; i++)
        if (is_crd_of(w->objects[i], r))
            return crd_default(w->arena, crd_schema(w->objects[i], r->version), object);
    return object;
}

struct json file_view_get(
    struct file_view *w, const struct resource *r, const char *ns, const char *name)
{
    for (size_t i = 0; i < w->count; i++)
        if (is_of(w->objects[i], r) && is_named(w->objects[i], r->cluster_scoped ? NULL : ns, name))
            return stored(w, r, w->objects[i]);
    return json_none;
}

/* ---- queries of the view ---- */

static struct json answer_get(void *ctx, const struct resource *r, const char *ns, const char *name)
{
    return file_view_get(ctx, r, ns, name);
}

static int by_name(const void *left, const void *right)
{
    struct json l = *(const struct json *)left, r = *(const struct json *)right;
    int order = strcmp(namespace_of(l), namespace_of(r));
    if (order)
        return order;
    return strcmp(json_get_text(l, "metadata.name"), json_get_text(r, "metadata.name"));
}

static struct json answer_list(
    void *ctx, const struct resource *r, const char *ns, const char *label_selector)
{
    struct file_view *w = ctx;
    struct selector selector;
    bool readable = selector_parse(w->arena, label_selector, &selector, NULL);
    assert(readable); /* a constant of the kind */
    struct json *found = arena_array(w->arena, w->count, sizeof(*found));
    uint32_t count = 0;
    for (size_t i = 0; i < w->count; i++) {
        struct json object = w->objects[i];
        bool here = r->cluster_scoped || !ns || text_eq(namespace_of(object), ns);
        if (here && is_of(object, r) &&
            selector_matches(&selector, json_get(object, "metadata.labels")))
            found[count++] = stored(w, r, object);
    }
    qsort(found, count, sizeof(*found), by_name);
    return (struct json){ .type = JSON_LIST, .count = count, .items = found };
}

static bool answer_served(void *ctx, const struct resource *r)
{
    static const char *const built_in[] = { "",
        "apps",
        "autoscaling",
        "batch",
        "policy",
        "apiextensions.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "networking.k8s.io",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io" };
    struct file_view *w = ctx;
    for (size_t i = 0; i < lengthof(built_in); i++)
        if (text_eq(r->group, built_in[i]))
            return true;
    for (const struct resource *const *s = w->served; s && *s; s++)
        if (text_eq((*s)->group, r->group) && text_eq((*s)->kind, r->kind))
            return true;
    for (size_t i = 0; i < w->count; i++)
        if (is_of(w->objects[i], r) || is_crd_of(w->objects[i], r))
            return true;
    return false;
}

static struct json answer_owned(void *ctx, const struct resource *r, const char *name)
{
    (void)ctx, (void)r, (void)name; /* manifests have no managedFields */
    return json_none;
}

static struct view_trouble answer_trouble(void *ctx, const struct resource *r, const char *name)
{
    (void)ctx, (void)r, (void)name;
    return (struct view_trouble){ 0 };
}

static struct json answer_fact(void *ctx, const char *effect, struct json args)
{
    struct file_view *w = ctx;
    return json_if(w->fact, w->fact(w->fact_ctx, w->arena, effect, args));
}

struct view file_view_of(struct file_view *w, const struct resource *r, const char *ns,
    const char *name, const void *settings)
{
    static const struct view_source source = {
        .get = answer_get,
        .list = answer_list,
        .served = answer_served,
        .owned = answer_owned,
        .trouble = answer_trouble,
        .fact = answer_fact,
    };
    struct json object = file_view_get(w, r, ns, name);
    assert(json_present(object));
    return (struct view){
        .arena = w->arena,
        .object = object,
        .now_ms = w->now_ms,
        .settings = settings,
        .source = &source,
        .source_ctx = w,
    };
}

/* ---- applying a plan ---- */

struct json file_view_status(
    struct arena *a, struct json object, const struct plan *plan, int64_t now_ms)
{
    struct json live = json_get(object, "status");
    if (!plan->has_status)
        return live;
    return status_complete(a,
        plan,
        &(struct status_input){
            .live = live,
            .owned = live,
            .generation = json_get_int(object, "metadata.generation", 0),
            .now_ms = now_ms,
        });
}

/* Applies a JSON merge patch (RFC 7396), as used by plan_amend(). */
static struct json patched(struct arena *a, struct json v, struct json patch)
{
    json_each_member (m, patch) {
        struct json value = json_is(m->value, JSON_MAP)
                                ? patched(a, json_member(v, m->key), m->value)
                            : json_is(m->value, JSON_NULL) ? json_none
                                                           : m->value;
        v = json_with_member(a, json_is(v, JSON_MAP) ? v : json_empty_map(), m->key, value);
    }
    return v;
}

void file_view_apply(struct file_view *w, const struct view *in, const struct plan *plan)
{
    struct arena *a = w->arena;
    struct json status = file_view_status(a, in->object, plan, w->now_ms);
    struct json object = patched(a, in->object, plan->amendment);
    put(w, json_with_member(a, object, "status", status));
    for (size_t i = 0; i < plan->child_count; i++) {
        struct error err;
        const struct plan_child *child = &plan->children[i];
        if (child->mode == PLAN_ABSENT || child->mode == PLAN_REMOVED) {
            file_view_remove(w,
                child->resource,
                namespace_of(in->object),
                json_get_text(child->object, "metadata.name"));
            continue;
        }
        struct json child_object = plan_child_object(a,
            child,
            json_get_text(in->object, "apiVersion"),
            json_get_text(in->object, "kind"),
            in->object);
        bool there = json_present(file_view_get(w,
            child->resource,
            namespace_of(child_object),
            json_get_text(child_object, "metadata.name")));
        bool added = (there && child->mode != PLAN_OWNED) || file_view_add(w, child_object, &err);
        assert(added); /* plan_child() checked its names */
    }
}
