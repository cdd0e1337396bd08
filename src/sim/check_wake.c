#include "sim/sim.h"

#include <stdlib.h>

#include "base/table.h"
#include "cli/families.h"
#include "engine/kind.h"

/* 3: an event that says nothing new wakes nobody: the echo of an operator's own write, an event
 * that came before, a list of what is known, a change of what no kind reads. So none of them can
 * cut a back-off short. What an operator knows is what answers and watches brought it in this life;
 * what kinds read is what their watch lists say. And no object is passed over again and again,
 * whether or not anything is written. */

/* A key that spins is held to 80 passes in its first minute by the queue; a busy one has 30, one
 * whose child somebody deletes twenty times has up to 65. A person in a hurry gives reason for all
 * that the queue permits. */
#define WINDOW_MS 60000
#define WINDOW_PASSES_MAX 75

struct told { /* an object, as an operator knows it; or one that it passes over */
    struct table_node node;
    uint64_t version, digest;
    int64_t since_ms; /* of a window with `passes` passes */
    unsigned passes;
    char name[];
};

struct sim_wakes {
    struct sim *sim;
    struct table told;
    struct families families;
};

struct sim_wakes *sim_wakes_new(struct sim *s)
{
    struct sim_wakes *w = mem_new_of(struct sim_wakes);
    struct cli no_flags = { 0 };
    struct error err;
    w->sim = s;
    table_init(&w->told, 5, 6);
    if (!families_read(&no_flags, &w->families, &err))
        sim_fail(s, "%s", err.text);
    return w;
}

static void forget(struct sim_wakes *w, const char *prefix)
{
    for (struct table_cursor at = table_first(&w->told); at.node; table_next(&at)) {
        struct told *t = container_of(at.node, struct told, node);
        if (!text_starts(t->name, prefix))
            continue;
        table_remove(&w->told, at.node);
        free(t);
    }
}

void sim_wakes_free(struct sim_wakes *w)
{
    forget(w, "");
    table_done(&w->told);
    free(w);
}

static bool is_named(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct told, node)->name, key);
}

static struct told *find(struct sim_wakes *w, const char *name)
{
    uint64_t hash = table_hash(&w->told, name, strlen(name));
    struct table_node *n = table_find(&w->told, hash, is_named, name);
    return n ? container_of(n, struct told, node) : NULL;
}

static struct told *get(struct sim_wakes *w, const char *name)
{
    struct told *t = find(w, name);
    if (t)
        return t;
    t = mem_new(sizeof(*t) + strlen(name) + 1);
    memcpy(t->name, name, strlen(name) + 1);
    table_add(&w->told, &t->node, table_hash(&w->told, name, strlen(name)));
    return t;
}

/* ---- whose, and what of it counts ---- */

/* "/api/v1/namespaces/sim-a/services/x?…" is one of "/api/v1/services". */
static const char *collection_of(struct arena *a, const char *path)
{
    char *text = arena_strndup(a, path, strcspn(path, "?"));
    char *scope = strstr(text, "/namespaces/"), *plural = NULL;
    if (scope && (plural = strchr(scope + strlen("/namespaces/"), '/')))
        memmove(scope, plural, strlen(plural) + 1);
    char *at = text_starts(text, "/apis/") ? strchr(text + strlen("/apis/"), '/') : text + 4;
    for (int i = 0; at && i < 2; i++) /* past the version and the plural */
        at = strchr(at + 1, '/');
    if (at)
        *at = '\0';
    return text;
}

static const char *prefix_of(struct arena *a, const struct sim_operator *o, const char *collection)
{
    return arena_printf(a, "%s.%lld %s ", o->name, (long long)o->lives, collection);
}

static const char *name_of(
    struct arena *a, const struct sim_operator *o, const char *collection, struct json object)
{
    const char *namespace = json_get_text(object, "metadata.namespace");
    return arena_printf(a,
        "%s%s/%s",
        prefix_of(a, o, collection),
        namespace ? namespace : "",
        json_get_text(object, "metadata.name"));
}

static bool is_of(struct arena *a, const struct resource *r, const char *collection)
{
    return text_ends(collection, r->plural) &&
           text_eq(collection,
               *r->group ? arena_printf(a, "/apis/%s/%s/%s", r->group, r->version, r->plural)
                         : arena_printf(a, "/api/%s/%s", r->version, r->plural));
}

static void keep(struct arena *a, struct json_builder *b, struct json object, const char *path)
{
    json_put(b, arena_strdup(a, path), json_get(object, path));
}

/* What of an object may matter to some kind; more than that counts, never less. */
static uint64_t digest_of(struct sim_wakes *w, const char *collection, struct json object)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json_builder b;
    json_builder_init(&b, &a);
    keep(&a, &b, object, "metadata.uid");
    keep(&a, &b, object, "metadata.deletionTimestamp");
    keep(&a, &b, object, "metadata.ownerReferences");
    keep(&a, &b, object, "metadata.labels");
    json_each_member (m, object)
        if (!text_eq(m->key, "metadata") && !text_eq(m->key, "status"))
            json_put(&b, m->key, m->value);
    for (size_t f = 0; f < w->families.count; f++)
        for (size_t k = 0; w->families.list[f].kinds[k]; k++) {
            const struct kind *kind = w->families.list[f].kinds[k];
            if (is_of(&a, kind->resource, collection)) {
                keep(&a, &b, object, "metadata.annotations");
                keep(&a, &b, object, "metadata.finalizers");
                keep(&a, &b, object, "metadata.generation");
                keep(&a, &b, object, "status");
            }
            for (const struct kind_watch *of = kind->watches; of && of->resource; of++)
                for (size_t i = 0; is_of(&a, of->resource, collection) && of->keep && of->keep[i];
                     i++)
                    keep(&a, &b, object, of->keep[i]);
        }
    struct json map = json_map_end(&b);
    struct json_builder list;
    json_builder_init(&list, &a);
    json_push(&list, map);
    json_each (entry, json_get(object, "metadata.managedFields"))
        if (text_eq(json_get_text(*entry, "manager"), "leeboard") ||
            text_eq(json_get_text(*entry, "manager"), "manager"))
            json_push(&list, json_with_member(&a, *entry, "time", (struct json){ 0 }));
    const char *text = json_to_text(&a, json_list_end(&list));
    return table_hash(&w->told, text, strlen(text));
}

/* ---- what an operator is told ---- */

void sim_wakes_told(
    struct sim_wakes *w, const struct sim_operator *o, const char *path, struct str answer)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json object;
    struct error err;
    uint64_t version = json_parse(&a, answer, &object, &err) ? sim_version_of(object) : 0;
    /* What is going is taken note of when the watch tells it. */
    if (!version || json_present(json_get(object, "metadata.deletionTimestamp")))
        return;
    const char *collection = collection_of(&a, path);
    struct told *t = get(w, name_of(&a, o, collection, object));
    if (version <= t->version)
        return;
    t->version = version;
    t->digest = digest_of(w, collection, object);
}

static bool is_news(
    struct sim_wakes *w, const struct sim_operator *o, const char *collection, struct str line)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json event;
    struct error err;
    if (!json_parse(&a, line, &event, &err))
        return true;
    struct json object = json_get(event, "object");
    const char *type = json_get_text(event, "type"), *name;
    bool first = json_present(
        json_member(json_get(object, "metadata.annotations"), "k8s.io/initial-events-end"));
    if (text_eq(type, "BOOKMARK"))
        return first;
    name = json_get_text(object, "metadata.name");
    if (!name || sim_is_poison(name) || strstr(collection, "/customresourcedefinitions"))
        return true;
    const char *known = name_of(&a, o, collection, object);
    if (!text_eq(type, "ADDED") && !text_eq(type, "MODIFIED")) {
        forget(w, known);
        return true;
    }
    uint64_t version = sim_version_of(object);
    struct told *t = get(w, known);
    if (version <= t->version)
        return false;
    uint64_t digest = digest_of(w, collection, object);
    bool same = t->version && t->digest == digest;
    t->version = version;
    t->digest = digest;
    return !same;
}

bool sim_wakes_news(
    struct sim_wakes *w, const struct sim_operator *o, const char *path, struct str lines)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *collection = collection_of(&a, path);
    bool news = false;
    while (lines.len) {
        struct str line = str_cut(&lines, '\n');
        news |= line.len && is_news(w, o, collection, line);
    }
    return news;
}

void sim_wakes_begin(struct sim_wakes *w, const struct sim_operator *o)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    forget(w, arena_printf(&a, "%s.", o->name));
}

void sim_wakes_forget(struct sim_wakes *w, const struct sim_operator *o, const char *path)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    forget(w, prefix_of(&a, o, collection_of(&a, path)));
}

/* ---- passes ---- */

void sim_wakes_pass(struct sim_wakes *w, const struct sim_operator *o, const struct kind *kind,
    const char *namespace, const char *name)
{
    struct sim *s = w->sim;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct told *t = get(w,
        arena_printf(
            &a, "passes of %s over %s %s/%s", o->name, kind->resource->kind, namespace, name));
    if (s->now_ms - t->since_ms > WINDOW_MS) {
        t->since_ms = s->now_ms;
        t->passes = 0;
    }
    if (++t->passes > WINDOW_PASSES_MAX * (s->options.hurry ? 3 : 1))
        sim_fail(s, "promise 3, passes: %u %s in a minute", t->passes, t->name);
}
