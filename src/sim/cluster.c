#include "sim/sim.h"

#include <stdlib.h>

#include "cli/families.h"

/* The cluster's administrator: installs CRDs, ours and those of other projects that a kind can use,
 * and creates namespaces. If the seed says so, removes and restores them. When the faults end, the
 * cluster has the set that the seed drew for the end, in every run of that seed. */

#define THINGS_MAX 40
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define TEND_MS 3000
/* Nothing works without our CRDs or a namespace, so they are restored soon. */
#define GONE_MS_MAX 30000

struct thing { /* a CRD or a namespace */
    const char *table, *path;
    const char *name;
    struct json object;
    bool optional; /* may be missing for good */
    bool wanted;
    bool wanted_last; /* when the faults end */
    int64_t back_ms;  /* if it is not wanted now but will be later */
};

struct sim_cluster {
    struct sim *sim;
    struct arena arena;
    struct thing things[THINGS_MAX];
    size_t count;
    struct timer tend, upheaval, end;
};

static struct thing *add(
    struct sim_cluster *c, const char *table, const char *path, struct json object)
{
    assert(c->count < THINGS_MAX);
    struct thing *t = &c->things[c->count++];
    *t = (struct thing){
        .table = table,
        .path = path,
        .name = json_get_text(object, "metadata.name"),
        .object = object,
        .wanted = true,
        .wanted_last = true,
    };
    return t;
}

static bool is_known(const struct sim_cluster *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (text_eq(c->things[i].name, name))
            return true;
    return false;
}

/* Without its own schema: only the kinds define which fields they use. */
static struct json crd_of(struct arena *a, const struct resource *r)
{
    struct json schema = json_fields(a,
        { "type", json_str("object") },
        { "x-kubernetes-preserve-unknown-fields", json_bool(true) });
    struct json version = json_fields(a,
        { "name", json_str(r->version) },
        { "served", json_bool(true) },
        { "storage", json_bool(true) },
        { "schema", json_map(a, { "openAPIV3Schema", schema }) });
    struct json crd = json_fields(a,
        { "apiVersion", json_str("apiextensions.k8s.io/v1") },
        { "kind", json_str("CustomResourceDefinition") },
        { "metadata.name", json_strf(a, "%s.%s", r->plural, r->group) },
        { "spec.group", json_str(r->group) },
        { "spec.scope", json_str(r->cluster_scoped ? "Cluster" : "Namespaced") },
        { "spec.names.plural", json_str(r->plural) },
        { "spec.names.kind", json_str(r->kind) },
        { "spec.versions", json_list(a, version) });
    return json_with(a,
        crd,
        "metadata.annotations",
        json_map(a,
            { "api-approved.kubernetes.io",
                json_str("https://github.com/kubernetes/kubernetes") }));
}

static void add_optional(struct sim_cluster *c)
{
    struct cli no_flags = { 0 };
    struct families *families = arena_new(&c->arena, struct families);
    struct error err;
    if (!families_read(&no_flags, families, &err))
        sim_fail(c->sim, "%s", err.text);
    for (size_t f = 0; f < families->count; f++)
        for (size_t k = 0; families->list[f].kinds[k]; k++) {
            const struct kind_watch *w = families->list[f].kinds[k]->watches;
            for (; w->resource; w++) {
                if (!w->optional || !strchr(w->resource->group, '.') ||
                    text_starts(w->resource->group, "rbac."))
                    continue;
                struct json crd = crd_of(&c->arena, w->resource);
                if (is_known(c, json_get_text(crd, "metadata.name")))
                    continue;
                struct thing *t =
                    add(c, "apiextensions.k8s.io/customresourcedefinitions", CRDS, crd);
                t->optional = true;
                t->wanted = t->wanted_last = sim_below(c->sim, SIM_INPUTS, 2);
            }
        }
}

/* ---- applying changes ---- */

static const struct store_object *find(const struct sim_cluster *c, const struct thing *t)
{
    return store_get(store_table(c->sim->store, t->table), "", t->name);
}

static void tend(void *ctx)
{
    struct sim_cluster *c = ctx;
    struct sim *s = c->sim;
    bool done = true;
    for (size_t i = 0; i < c->count; i++) {
        struct thing *t = &c->things[i];
        const struct store_object *o = find(c, t);
        if (!t->wanted && t->back_ms && s->now_ms >= t->back_ms) {
            t->wanted = true;
            t->back_ms = 0;
        }
        bool ending = o && memmem(o->text.ptr, o->text.len, "\"deletionTimestamp\"", 19);
        done &= (o && !ending) == t->wanted && !t->back_ms;
        if (t->wanted && !o) {
            sim_ask(s, "admin", "POST", t->path, "application/json", t->object, NULL, NULL);
        } else if (!t->wanted && o && !ending) {
            cleanup(arena_done) struct arena a = ARENA_INIT;
            const char *path = arena_printf(&a, "%s/%s", t->path, t->name);
            sim_ask(s, "admin", "DELETE", path, NULL, json_none, NULL, NULL);
        }
    }
    if (!done)
        timer_set(&s->env, &c->tend, TEND_MS);
}

static void upheaval(void *ctx)
{
    struct sim_cluster *c = ctx;
    struct sim *s = c->sim;
    const struct sim_rates *r = &s->options.rates;
    if (s->quiet)
        return;
    for (size_t i = 0; i < c->count; i++) {
        struct thing *t = &c->things[i];
        bool is_crd = text_eq(t->path, CRDS);
        uint16_t rate = !is_crd ? r->namespace_gone : t->optional ? r->crd_optional : r->crd_gone;
        if (!sim_chance(s, SIM_FAULTS, rate))
            continue;
        s->injected++;
        if (t->optional) {
            t->wanted = !t->wanted;
        } else if (t->wanted) {
            t->wanted = false;
            t->back_ms = s->now_ms + sim_below(s, SIM_FAULTS, GONE_MS_MAX);
        }
    }
    tend(c);
    timer_set(&s->env, &c->upheaval, 1000 + sim_below(s, SIM_FAULTS, 20000));
}

static void end(void *ctx)
{
    struct sim_cluster *c = ctx;
    for (size_t i = 0; i < c->count; i++) {
        c->things[i].wanted = c->things[i].wanted_last;
        c->things[i].back_ms = 0;
    }
    timer_stop(&c->sim->env, &c->upheaval);
    tend(c);
}

struct sim_cluster *sim_cluster_new(struct sim *s)
{
    struct sim_cluster *c = mem_new_of(struct sim_cluster);
    c->sim = s;
    arena_init(&c->arena, ARENA_LIMIT_DEFAULT);
    timer_init(&c->tend, tend, c);
    timer_init(&c->upheaval, upheaval, c);
    timer_init(&c->end, end, c);
    json_each (crd, s->crds)
        add(c, "apiextensions.k8s.io/customresourcedefinitions", CRDS, *crd);
    add_optional(c);
    for (size_t i = 0; i < lengthof(sim_namespaces); i++)
        add(c,
            "/namespaces",
            "/api/v1/namespaces",
            json_fields(&c->arena,
                { "apiVersion", json_str("v1") },
                { "kind", json_str("Namespace") },
                { "metadata.name", json_str(sim_namespaces[i]) }));
    tend(c);
    for (size_t i = 0; i < c->count; i++)
        if (c->things[i].wanted && !find(c, &c->things[i]))
            sim_fail(s, "%s is not there", c->things[i].name);
    const struct sim_rates *r = &s->options.rates;
    if (r->crd_gone || r->crd_optional || r->namespace_gone)
        timer_set(&s->env, &c->upheaval, 5000);
    timer_set(&s->env, &c->end, s->options.faults_ms);
    return c;
}

void sim_cluster_free(struct sim_cluster *c)
{
    timer_stop(&c->sim->env, &c->tend);
    timer_stop(&c->sim->env, &c->upheaval);
    timer_stop(&c->sim->env, &c->end);
    arena_done(&c->arena);
    free(c);
}
