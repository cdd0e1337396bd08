#include "cli/rights.h"

#include <stdlib.h>

#include "base/resource.h"
#include "base/str.h"
#include "cli/families.h"
#include "engine/kind.h"
#include "kinds/toolhive/toolhive.h"

#define RIGHTS_MAX 160

/* The order of verbs in the output. */
static const char *const verb_names[] = {
    "get", "list", "watch", "create", "update", "patch", "delete"
};

struct right {
    const char *group; /* NULL: resource is a URL path */
    const char *resource;
    unsigned verbs; /* a bit set, by verb_names */
};

struct rights {
    struct arena *a;
    struct right rows[RIGHTS_MAX];
    size_t count;
};

static unsigned verb_bits(const char *verbs)
{
    unsigned bits = 0;
    for (struct str rest = str_of(verbs); rest.ptr;) {
        struct str word = str_cut(&rest, ' ');
        size_t i = 0;
        while (i < lengthof(verb_names) && !str_eq(word, str_of(verb_names[i])))
            i++;
        assert(i < lengthof(verb_names));
        bits |= 1u << i;
    }
    return bits;
}

static void add_right(struct rights *r, const char *group, const char *resource, const char *verbs)
{
    for (size_t i = 0; i < r->count; i++)
        if (text_eq(r->rows[i].group, group) && text_eq(r->rows[i].resource, resource)) {
            r->rows[i].verbs |= verb_bits(verbs);
            return;
        }
    assert(r->count < RIGHTS_MAX);
    r->rows[r->count++] = (struct right){ group, resource, verb_bits(verbs) };
}

static void add_own(struct rights *r, const struct kind *kind)
{
    const struct resource *own = kind->resource;
    /* To add a finalizer, or to migrate its stored version (serve/storage_versions.h). */
    bool patched = kind->finalizer || text_eq(own->group, TOOLHIVE_GROUP);
    add_right(r, own->group, own->plural, patched ? "get list watch patch" : "get list watch");
    /* Kubernetes' own kinds: the operator does not write their status. */
    if (strchr(own->group, '.'))
        add_right(r, own->group, arena_printf(r->a, "%s/status", own->plural), "get patch");
}

/* The operator may only create a Role if it has the rights of that Role itself. */
static void add_grants(struct rights *r, const struct kind_grant *g, bool cluster_scoped)
{
    for (; g && g->what; g++)
        for (struct str rest = str_of(g->cluster == cluster_scoped ? g->what : ""); rest.ptr;) {
            struct str word = str_cut(&rest, ' ');
            if (word.len)
                add_right(r, g->group, str_dup(r->a, word), g->verbs);
        }
}

static void add_kind(struct rights *r, const struct kind *kind, bool cluster_scoped)
{
    if (kind->resource->cluster_scoped == cluster_scoped)
        add_own(r, kind);
    for (const struct kind_watch *w = kind->watches; w && w->resource; w++)
        if (w->resource->cluster_scoped == cluster_scoped)
            /* Apply is a patch, plus a create if the object does not exist yet. */
            add_right(r,
                w->resource->group,
                w->resource->plural,
                w->child ? "get list watch create patch delete" : "get list watch");
    add_grants(r, kind->grants, cluster_scoped);
}

/* What serve/storage_versions.h needs. */
static void add_storage_versions(struct rights *r, const struct families *f)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->list[i].kinds == toolhive_kinds) {
            add_right(r, RESOURCE_CRD.group, RESOURCE_CRD.plural, "get");
            add_right(r,
                RESOURCE_CRD.group,
                arena_printf(r->a, "%s/status", RESOURCE_CRD.plural),
                "get patch");
        }
}

static int by_name(const void *x, const void *y)
{
    const struct right *a = x, *b = y;
    if (!a->group != !b->group)
        return a->group ? -1 : 1;
    int order = a->group ? strcmp(a->group, b->group) : 0;
    return order ? order : strcmp(a->resource, b->resource);
}

static struct json words(struct arena *a, const char *text)
{
    struct json_builder list;
    json_builder_init(&list, a);
    for (struct str rest = str_of(text); rest.ptr;) {
        struct str word = str_cut(&rest, ' ');
        json_push(&list, json_strn(a, word.ptr, word.len));
    }
    return json_list_end(&list);
}

struct json rights_rule(
    struct arena *a, const char *group, const char *resources, const char *verbs)
{
    return json_fields(a,
        { "apiGroups", json_list(a, json_str(group)) },
        { "resources", words(a, resources) },
        { "verbs", words(a, verbs) });
}

static struct json rule_of(struct arena *a, const struct right *row)
{
    struct json_builder verbs;
    json_builder_init(&verbs, a);
    for (size_t i = 0; i < lengthof(verb_names); i++)
        if (row->verbs & 1u << i)
            json_push(&verbs, json_str(verb_names[i]));
    struct json list = json_list_end(&verbs);
    if (!row->group)
        return json_fields(
            a, { "nonResourceURLs", json_list(a, json_str(row->resource)) }, { "verbs", list });
    return json_fields(a,
        { "apiGroups", json_list(a, json_str(row->group)) },
        { "resources", json_list(a, json_str(row->resource)) },
        { "verbs", list });
}

struct json rights_rules(struct arena *a, const struct families *f, bool cluster_scoped)
{
    struct rights r = { .a = a };
    for (size_t i = 0; i < f->count; i++)
        for (size_t k = 0; f->list[i].kinds[k]; k++)
            add_kind(&r, f->list[i].kinds[k], cluster_scoped);
    if (cluster_scoped) {
        /* Watches CRDs, to serve a kind as soon as it is installed. */
        add_right(&r, RESOURCE_CRD.group, RESOURCE_CRD.plural, "list watch");
        add_storage_versions(&r, f);
    } else {
        add_right(&r, "", "pods/eviction", "create");
        add_right(&r, "", "pods/log", "get");
        add_right(&r, "", "secrets", "get");
        add_right(&r, "events.k8s.io", "events", "create patch");
        /* To detect an upstream operator that works on the same objects. */
        add_right(&r, RESOURCE_LEASE.group, RESOURCE_LEASE.plural, "list");
    }
    qsort(r.rows, r.count, sizeof r.rows[0], by_name);
    struct json_builder rules;
    json_builder_init(&rules, a);
    for (size_t i = 0; i < r.count; i++)
        json_push(&rules, rule_of(a, &r.rows[i]));
    return json_list_end(&rules);
}

struct json rights_of_people(struct arena *a, const struct families *f, const char *verbs)
{
    struct rights r = { .a = a };
    for (size_t i = 0; i < f->count; i++)
        for (size_t k = 0; f->list[i].kinds[k]; k++) {
            const struct resource *own = f->list[i].kinds[k]->resource;
            if (own->cluster_scoped || !strchr(own->group, '.'))
                continue;
            add_right(&r, own->group, own->plural, verbs);
        }
    qsort(r.rows, r.count, sizeof r.rows[0], by_name);
    struct json_builder rules;
    json_builder_init(&rules, a);
    for (size_t i = 0; i < r.count; i++)
        json_push(&rules, rule_of(a, &r.rows[i]));
    return json_list_end(&rules);
}
