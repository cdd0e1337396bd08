#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/resource.h"
#include "engine/plan.h"
#include "engine/view.h"

/* Rivals with a plan, in addition to those of scenario.c that only interfere:
 *
 *   gitops    applies its manifest again and again under its own manager
 *   manager   an upstream operator that still runs: plain updates of whole objects
 *   taker     a controller that takes one of our fields back after each of our writes, or deletes
 *             our child each time
 *
 * 3: a fight with the taker ends after a few rounds, and the owner's status reports it. */

#define ROUND_MS 20000
#define TAKES_MS_MAX 3000
/* The engine writes five times, the creation included, and recreates a child twenty times; in a
 * world with faults some of its answers get lost. */
#define FIGHT_TOLD(r) ((r)->deletes ? 21U : 5U)
#define FIGHT_MAX(r) ((r)->deletes ? 42U : 12U)
#define TOLD_MS 60000

struct sim_rivals {
    struct sim *sim;
    struct timer round, takes, told;
    bool takes_one; /* in this run */
    bool deletes;   /* … and deletes it completely */
    uint64_t spec;  /* hash of the spec that it deleted last */
    char owner[40], owner_name[260];
    char ns[64], name[260];  /* the object that the taker has chosen */
    unsigned strikes;        /* in this fight */
    int64_t wish;            /* the owner's generation at the last one */
    int64_t lives, since_ms; /* a change of these starts another fight, */
    bool planned;            /* … and so does an operator that plans something else */
    bool wanted;             /* according to the owner's last plan */
};

static const char *path_of(struct arena *a, const char *ns, const char *name)
{
    return arena_printf(a, "/apis/apps/v1/namespaces/%s/deployments/%s", ns, name);
}

static struct json read(
    struct sim *s, struct arena *a, const char *table, const char *ns, const char *name)
{
    const struct store_object *o = store_get(store_table(s->store, table), ns, name);
    struct json object;
    struct error err;
    return json_if(o && json_parse(a, o->text, &object, &err), object);
}

static int64_t lives(const struct sim *s)
{
    int64_t count = 0;
    for (size_t i = 0; i < s->options.operators; i++)
        count += s->operators[i]->lives;
    return count;
}

/* ---- gitops, manager ---- */

static void gitops(struct sim *s, struct arena *a, const struct store_object *o)
{
    struct json manifest = json_fields(a,
        { "apiVersion", json_str("apps/v1") },
        { "kind", json_str("Deployment") },
        { "metadata.name", json_str(o->name) },
        { "metadata.namespace", json_str(o->ns) });
    manifest = json_with(a,
        manifest,
        "metadata.labels",
        json_map(a, { "gitops.example/instance", json_str("shop") }));
    manifest = json_with(a,
        manifest,
        "spec.template.metadata.annotations",
        json_map(a, { "gitops.example/revision", json_strf(a, "r%d", (int)(s->now_ms / 60000)) }));
    const char *path =
        arena_printf(a, "%s?fieldManager=gitops-apply&force=true", path_of(a, o->ns, o->name));
    sim_ask(s, "gitops", "PATCH", path, "application/apply-patch+yaml", manifest, NULL, NULL);
}

static void upstream(struct sim *s, struct arena *a, const struct store_object *o)
{
    struct json object = read(s, a, "apps/deployments", o->ns, o->name);
    object = json_with(a, object, "spec.replicas", json_int(2 + sim_below(s, SIM_RIVALS, 2)));
    const char *path = arena_printf(a, "%s?fieldManager=manager", path_of(a, o->ns, o->name));
    sim_ask(s, "manager", "PUT", path, "application/json", object, NULL, NULL);
}

/* In each round, every Deployment may be written by one of the two. */
static void round_of_all(void *ctx)
{
    struct sim_rivals *r = ctx;
    struct sim *s = r->sim;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct store_cursor at = { 0 };
    const struct store_object *o, *chosen[16];
    size_t count = 0;
    while ((o = store_next(store_table(s->store, "apps/deployments"), &at)) &&
           count < lengthof(chosen))
        if (text_starts(o->ns, "sim-") && !sim_is_poison(o->name)) {
            store_object_hold(o);
            chosen[count++] = o;
        }
    for (size_t i = 0; i < count; i++) {
        if (sim_chance(s, SIM_RIVALS, 100))
            upstream(s, &a, chosen[i]);
        else if (sim_chance(s, SIM_RIVALS, 500))
            gitops(s, &a, chosen[i]);
        store_object_release(chosen[i]);
    }
    if (s->now_ms + ROUND_MS < s->options.faults_ms)
        timer_set(&s->env, &r->round, ROUND_MS);
}

/* ---- the taker ---- */

/* The owner of the child; absent if it is gone. ret_table may be NULL. */
static struct json find_owner(const struct sim_rivals *r, struct arena *a, const char **ret_table)
{
    struct sim *s = r->sim;
    for (struct store_table *t = NULL; (t = store_table_next(s->store, t));) {
        struct json object = read(s, a, store_table_name(t), r->ns, r->owner_name);
        if (!text_eq(json_get_text(object, "metadata.uid"), r->owner))
            continue;
        if (ret_table)
            *ret_table = store_table_name(t);
        return object;
    }
    return json_none;
}

/* The operator left the child as it was taken, or, if it was deleted, did not make it again. */
static bool gave_up(const struct sim_rivals *r, struct json child)
{
    if (r->deletes)
        return true;
    json_each_member (m, json_get(child, "metadata.labels"))
        if (text_eq(json_text(m->value), "taken"))
            return true;
    return false;
}

static void told(void *ctx)
{
    struct sim_rivals *r = ctx;
    struct sim *s = r->sim;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    bool same = !r->planned && lives(s) == r->lives && r->strikes >= FIGHT_TOLD(r);
    struct json child = read(s, &a, "apps/deployments", r->ns, r->name);
    struct json owner = json_item(json_get(child, "metadata.ownerReferences"), 0);
    bool replaced = json_present(child) && !text_eq(json_get_text(owner, "uid"), r->owner);
    struct json object = find_owner(r, &a, NULL);
    if (!same || s->quiet || replaced || !r->wanted || !gave_up(r, child) ||
        json_get_int(object, "metadata.generation", 0) != r->wish)
        return;
    struct json c = json_find(json_get(object, "status.conditions"), "type", "Contested");
    const char *message = json_get_text(c, "message");
    sim_history_add(s->history, "taker", "  told: %s", message ? message : "nobody");
    if (!json_present(json_get(object, "metadata.deletionTimestamp")) &&
        !text_eq(json_get_text(c, "status"), "True"))
        sim_fail(s,
            "promise 3, told: %s/%s is fought over, and %s does not say so",
            r->ns,
            r->name,
            json_get_text(object, "kind"));
}

/* A child that an operator does not want for now, for example because a Model is gone, is not
 * fought over. */
void sim_rivals_planned(struct sim_rivals *r, const struct view *in, const struct plan *p)
{
    if (!text_eq(json_get_text(in->object, "metadata.uid"), r->owner))
        return;
    r->wanted = false;
    for (size_t i = 0; i < p->child_count; i++)
        r->wanted |= text_eq(p->children[i].resource->kind, "Deployment") &&
                     text_eq(json_get_text(p->children[i].object, "metadata.name"), r->name);
}

static void take_one(void *ctx)
{
    struct sim_rivals *r = ctx;
    struct sim *s = r->sim;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json object = read(s, &a, "apps/deployments", r->ns, r->name);
    struct json labels = json_get(object, "metadata.labels");
    const char *label = NULL;
    json_each_member (m, labels)
        if (!strstr(m->key, "gitops"))
            label = m->key;
    struct json owner = json_item(json_get(object, "metadata.ownerReferences"), 0);
    if (s->quiet || !label || text_eq(json_text(json_member(labels, label)), "taken") ||
        !json_present(owner))
        return;
    snprintf(r->owner, sizeof(r->owner), "%s", json_get_text(owner, "uid"));
    snprintf(r->owner_name, sizeof(r->owner_name), "%s", json_get_text(owner, "name"));
    const char *table;
    struct json of = find_owner(r, &a, &table);
    int64_t wish = json_get_int(of, "metadata.generation", 0);
    r->planned |= wish != r->wish; /* or it tries to write, and is refused */
    r->wish = wish;
    if (r->planned || lives(s) != r->lives || s->now_ms - r->since_ms > 10 * 60 * 1000) {
        r->strikes = 0;
        r->since_ms = s->now_ms;
    }
    r->planned = false;
    r->lives = lives(s);
    if (++r->strikes > FIGHT_MAX(r))
        sim_fail(s, "promise 3, fight: %s/%s was taken back %u times", r->ns, r->name, r->strikes);
    if (r->strikes == FIGHT_TOLD(r) && sim_is_faultless(&s->options))
        timer_set(&s->env, &r->told, TOLD_MS);
    if (r->deletes) {
        sim_history_add(s->history, "taker", "deletes %s, the %u. time", r->name, r->strikes);
        const char *at = path_of(&a, r->ns, r->name);
        if (json_present(of))
            sim_check_reason(s->checks, table, of);
        sim_wakes_reason(s->wakes, json_get_text(owner, "kind"), r->ns, r->owner_name);
        sim_ask(s, "taker", "DELETE", at, NULL, json_none, NULL, NULL);
        return;
    }
    struct json body = json_fields(
        &a, { "metadata", json_map(&a, { "labels", json_map(&a, { label, json_str("taken") }) }) });
    sim_history_add(s->history, "taker", "takes %s, the %u. time", label, r->strikes);
    const char *path = arena_printf(&a, "%s?fieldManager=taker", path_of(&a, r->ns, r->name));
    sim_ask(s, "taker", "PATCH", path, "application/merge-patch+json", body, NULL, NULL);
}

/* A hash of the object that an operator wants; planning it again starts another fight. */
static uint64_t hash_of(struct arena *a, const struct store_object *o)
{
    struct json object = { 0 };
    struct error err;
    uint8_t digest[SHA256_BYTES];
    uint64_t hash;
    if (!json_parse(a, o->text, &object, &err))
        return 0;
    sha256_of(str_of(json_to_text(a, json_get(object, "spec"))), digest);
    memcpy(&hash, digest, sizeof(hash));
    return hash;
}

static int64_t generation_of(struct arena *a, const struct store_object *o)
{
    struct json object = { 0 };
    struct error err;
    return o && json_parse(a, o->text, &object, &err)
               ? json_get_int(object, "metadata.generation", 0)
               : 0;
}

void sim_rivals_changed(struct sim_rivals *r, const struct store_event *event)
{
    struct sim *s = r->sim;
    const struct store_object *o = event->object;
    if (!r->takes_one || s->quiet || event->gone ||
        !text_eq(store_table_name(o->table), "apps/deployments"))
        return;
    if (!*r->ns && (!*r->name || text_eq(o->name, r->name))) {
        snprintf(r->ns, sizeof(r->ns), "%s", o->ns);
        snprintf(r->name, sizeof(r->name), "%s", o->name);
    }
    if (!text_eq(o->name, r->name) || !text_eq(o->ns, r->ns))
        return;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (r->deletes) {
        uint64_t spec = hash_of(&a, o);
        r->planned |= spec != r->spec;
        r->spec = spec;
    } else {
        r->planned |= generation_of(&a, o) != generation_of(&a, event->before);
    }
    timer_set(&s->env, &r->takes, sim_below(s, SIM_RIVALS, TAKES_MS_MAX));
}

struct sim_rivals *sim_rivals_new(struct sim *s)
{
    struct sim_rivals *r = mem_new_of(struct sim_rivals);
    r->sim = s;
    r->takes_one = s->options.rivals && sim_below(s, SIM_RIVALS, 3) == 0;
    r->deletes = s->options.seed % 2;
    timer_init(&r->round, round_of_all, r);
    timer_init(&r->takes, take_one, r);
    timer_init(&r->told, told, r);
    if (s->options.rivals)
        timer_set(&s->env, &r->round, ROUND_MS);
    return r;
}

void sim_rivals_take(struct sim_rivals *r, const char *name)
{
    r->takes_one = true;
    r->deletes = false;
    *r->ns = '\0';
    snprintf(r->name, sizeof(r->name), "%s", name);
}

void sim_rivals_free(struct sim_rivals *r)
{
    timer_stop(&r->sim->env, &r->round);
    timer_stop(&r->sim->env, &r->takes);
    timer_stop(&r->sim->env, &r->told);
    free(r);
}
