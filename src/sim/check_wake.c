#include "sim/sim.h"

#include <stdlib.h>

#include "base/table.h"
#include "cli/families.h"
#include "engine/kind.h"
#include "kube/stream.h"

/* What an operator knows, from the answers and watches that it received in this life.
 *
 * 3: an event without news wakes no operator: the echo of its own write, an earlier event, a list
 * of known objects, a change of a field that no kind reads. So none of them can shorten a back-off.
 * The watch lists define which fields kinds read. Also, no object is reconciled again and again,
 * whether or not anything is written.
 *
 * 5: an operator that creates an object has not been notified of it, and has checked the result of
 * its last attempt. */

/* The queue limits a key in a busy loop to 80 passes in its first minute; a busy key has 30. Each
 * deletion of its child by another client, or by the garbage collector, justifies one more. A
 * person in a hurry justifies all that the queue permits. */
#define WINDOW_MS 60000
#define WINDOW_PASSES_MAX 60

struct told { /* an object that an operator knows, or reconciles; or a collection that it watches */
    struct table_node node;
    uint64_t version, digest; /* of a collection: the position of the watch */
    uint64_t uid;             /* a hash; 0: the operator knows of no such object */
    uint64_t buried;          /* deleted according to an answer; its watch may be behind */
    uint64_t asked;   /* a hash of the owner for which it was to be created, with no answer yet */
    uint64_t watched; /* the last version from a watch */
    unsigned list;    /* the last list that contained it; of a collection: whether there was one */
    bool listing;     /* of a collection: the list is not complete yet */
    bool forbidden;   /* of a collection: the last list was refused */
    int64_t since_ms; /* start of a window with `passes` passes, and reasons for more */
    unsigned passes, reasons;
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

static void drop(struct sim_wakes *w, struct told *t)
{
    table_remove(&w->told, &t->node);
    free(t);
}

static void forget(struct sim_wakes *w, const char *prefix)
{
    for (struct table_cursor at = table_first(&w->told); at.node; table_next(&at)) {
        struct told *t = container_of(at.node, struct told, node);
        if (text_starts(t->name, prefix))
            drop(w, t);
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

/* ---- owners, and the fields that count ---- */

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
    const char *ns = json_get_text(object, "metadata.namespace");
    return arena_printf(a,
        "%s%s/%s",
        prefix_of(a, o, collection),
        ns ? ns : "",
        json_get_text(object, "metadata.name"));
}

/* What the operator knows about a collection as a whole. */
static struct told *get_watched(
    struct sim_wakes *w, const struct sim_operator *o, const char *collection)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    return get(w, prefix_of(&a, o, collection));
}

/* The name of a request's object. */
static const char *name_in(struct arena *a, const struct sim_operator *o, const char *path)
{
    static const char in[] = "/namespaces/";
    const char *text = arena_strndup(a, path, strcspn(path, "?"));
    const char *ns = strstr(text, in);
    ns = ns ? ns + strlen(in) : "";
    return arena_printf(a,
        "%s%.*s/%s",
        prefix_of(a, o, collection_of(a, path)),
        (int)strcspn(ns, "/"),
        ns,
        strrchr(text, '/') + 1);
}

static uint64_t hash_of(struct sim_wakes *w, const char *uid)
{
    return uid ? table_hash(&w->told, uid, strlen(uid)) | 1 : 0;
}

static uint64_t uid_of(struct sim_wakes *w, struct json object)
{
    return hash_of(w, json_get_text(object, "metadata.uid"));
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

/* A hash of all fields that may matter to a kind; may include more fields, never fewer. */
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
            json_push(&list, json_with_member(&a, *entry, "time", json_none));
    const char *text = json_to_text(&a, json_list_end(&list));
    return table_hash(&w->told, text, strlen(text));
}

/* ---- what an operator receives ---- */

/* The watch is past this version without such an object: it was deleted, or the watch lost it. */
static bool is_past(struct sim_wakes *w, const struct sim_operator *o, const char *collection,
    const struct told *t, struct json object)
{
    return sim_version_of(object) <= get_watched(w, o, collection)->version &&
           t->uid != uid_of(w, object);
}

void sim_wakes_told(
    struct sim_wakes *w, const struct sim_operator *o, const char *path, struct str answer)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json object;
    struct error err;
    uint64_t version = json_parse(&a, answer, &object, &err) ? sim_version_of(object) : 0;
    /* A terminating object is recorded when the watch sends it. */
    if (!version || json_present(json_get(object, "metadata.deletionTimestamp")))
        return;
    const char *collection = collection_of(&a, path);
    struct told *t = get(w, name_of(&a, o, collection, object));
    if (version <= t->version)
        return;
    if (!is_past(w, o, collection, t, object) && uid_of(w, object) != t->buried) {
        t->uid = uid_of(w, object);
        t->list = get_watched(w, o, collection)->list;
    }
    t->version = version;
    t->digest = digest_of(w, collection, object);
}

void sim_wakes_list(struct sim_wakes *w, const struct sim_operator *o, const char *path)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct told *watched = get_watched(w, o, collection_of(&a, path));
    watched->list++;
    watched->listing = true;
}

/* An object that the list did not contain does not exist, unless it is newer. */
static void end_list(struct sim_wakes *w, struct told *watched, uint64_t version)
{
    for (struct table_cursor at = table_first(&w->told); at.node; table_next(&at)) {
        struct told *t = container_of(at.node, struct told, node);
        if (t == watched || !text_starts(t->name, watched->name) || t->list == watched->list)
            continue;
        t->asked = 0;
        if (t->version <= version)
            t->uid = 0;
    }
    watched->listing = false;
    if (version > watched->version)
        watched->version = version;
}

/* Families watch some collections separately, with selectors of their own: an event of one watch is
 * still new to the other. */
static bool is_watched_apart(struct sim_wakes *w, struct arena *a, const char *collection)
{
    const struct resource *first = NULL;
    for (size_t f = 0; f < w->families.count; f++)
        for (size_t k = 0; w->families.list[f].kinds[k]; k++) {
            const struct kind_watch *of = w->families.list[f].kinds[k]->watches;
            for (; of && of->resource; of++) {
                if (!is_of(a, of->resource, collection))
                    continue;
                if (first && first != of->resource)
                    return true;
                first = of->resource;
            }
        }
    return false;
}

/* A watch or a list contains the object. True: that is new. */
static bool see(
    struct sim_wakes *w, const struct sim_operator *o, const char *collection, struct json object)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    uint64_t version = sim_version_of(object);
    struct told *t = get(w, name_of(&a, o, collection, object));
    t->list = get_watched(w, o, collection)->list;
    if (version <= t->version)
        return version == t->watched && is_watched_apart(w, &a, collection);
    t->watched = version;
    t->uid = uid_of(w, object) == t->buried ? 0 : uid_of(w, object);
    t->asked = 0;
    uint64_t digest = digest_of(w, collection, object);
    bool same = t->version && t->digest == digest;
    t->version = version;
    t->digest = digest;
    return !same;
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
    uint64_t version = sim_version_of(object);
    struct told *watched = get_watched(w, o, collection);
    if (first)
        end_list(w, watched, version);
    if (!watched->listing && version > watched->version)
        watched->version = version;
    if (text_eq(type, "BOOKMARK"))
        return first;
    name = json_get_text(object, "metadata.name");
    if (!name || strstr(collection, "/customresourcedefinitions"))
        return true;
    if (!text_eq(type, "ADDED") && !text_eq(type, "MODIFIED")) {
        drop(w, get(w, name_of(&a, o, collection, object)));
        return true;
    }
    return see(w, o, collection, object) || sim_is_poison(name);
}

/* A list without a watch, page by page. */
static void see_page(
    struct sim_wakes *w, const struct sim_operator *o, const char *path, struct json page)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *collection = collection_of(&a, path);
    if (!strstr(path, "continue="))
        sim_wakes_list(w, o, path);
    json_each (item, json_get(page, "items"))
        if (json_get_text(*item, "metadata.name"))
            see(w, o, collection, *item);
    if (text_empty(json_get_text(page, "metadata.continue")))
        end_list(w, get_watched(w, o, collection), sim_version_of(page));
}

void sim_wakes_begin(struct sim_wakes *w, const struct sim_operator *o)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    forget(w, arena_printf(&a, "%s.", o->name));
}

void sim_wakes_forbid(
    struct sim_wakes *w, const struct sim_operator *o, const char *path, bool forbidden)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    get_watched(w, o, collection_of(&a, path))->forbidden = forbidden;
}

bool sim_wakes_is_blind(struct sim_wakes *w, const struct sim_operator *o, const char *path)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    return get_watched(w, o, collection_of(&a, path))->forbidden;
}

void sim_wakes_forget(struct sim_wakes *w, const struct sim_operator *o, const char *path)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *collection = collection_of(&a, path);
    uint64_t version = get_watched(w, o, collection)->version;
    forget(w, prefix_of(&a, o, collection));
    get_watched(w, o, collection)->version = version; /* an earlier answer is as old as it was */
}

void sim_wakes_answered(struct sim_wakes *w, const struct sim_operator *o, const char *path,
    int status, struct str answer)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json said;
    struct error err;
    /* A poisoned object in a list may be nested too deeply to be parsed. */
    if (!json_parse(&a, answer, &said, &err) &&
        !json_parse(&a, stream_flatten(&a, answer, JSON_DEPTH_MAX / 2), &said, &err))
        said = json_none;
    if (strstr(path, "?limit=")) {
        if (json_present(json_get(said, "items")))
            see_page(w, o, path, said);
        return;
    }
    struct told *t = find(w, name_in(&a, o, path));
    if (!t)
        return;
    t->asked = 0;
    const char *gone = json_get_text(said, "details.name");
    if (status != 404 || !gone || !text_ends(t->name, arena_printf(&a, "/%s", gone)))
        return;
    t->buried = t->uid ? t->uid : t->buried;
    t->uid = 0;
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

/* A child that was to be created for an owner that no longer exists is another object. */
void sim_wakes_creates(
    struct sim_wakes *w, const struct sim_operator *o, const char *path, struct json object)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct told *t = get(w, name_in(&a, o, path));
    uint64_t owner = hash_of(w, json_get_text(object, "metadata.ownerReferences.0.uid"));
    if (t->uid || (t->asked && t->asked == owner))
        sim_fail(w->sim,
            "promise 5, twice: %s creates %s, %s",
            o->name,
            path,
            t->uid ? "of which it was told" : "and did not look what became of it the last time");
    t->asked = owner;
}

/* ---- passes ---- */

static struct told *get_passes(struct sim_wakes *w, const struct sim_operator *o, const char *kind,
    const char *ns, const char *name)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct told *t =
        get(w, arena_printf(&a, "passes of %s over %s %s/%s", o->name, kind, ns, name));
    if (w->sim->now_ms - t->since_ms > WINDOW_MS) {
        t->since_ms = w->sim->now_ms;
        t->passes = t->reasons = 0;
    }
    return t;
}

void sim_wakes_reason(struct sim_wakes *w, const char *kind, const char *ns, const char *name)
{
    for (size_t i = 0; i < w->sim->options.operators; i++)
        get_passes(w, w->sim->operators[i], kind, ns, name)->reasons++;
}

void sim_wakes_pass(struct sim_wakes *w, const struct sim_operator *o, const struct kind *kind,
    const char *ns, const char *name)
{
    struct told *t = get_passes(w, o, kind->resource->kind, ns, name);
    unsigned most = WINDOW_PASSES_MAX * (w->sim->options.hurry ? 3 : 1) + t->reasons;
    if (++t->passes > most)
        sim_fail(w->sim, "promise 3, passes: %u %s in a minute", t->passes, t->name);
}
