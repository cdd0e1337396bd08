/* The gate: what has to be written so that the cluster is as planned. Decided from the cache alone;
 * what is equal is not sent. */

#include "engine/internal.h"

#include "base/log.h"
#include "merge/merge.h"

/* The same plan written again this often, this close together, is a fight. */
#define GATE_FIGHTS_MAX 5
#define GATE_DELETIONS_MAX 20 /* a person may well delete a child a few times */
#define GATE_FIGHT_WINDOW_MS ((int64_t)10 * 60 * 1000)

struct json gate_complete(struct run *run, const struct plan_child *c)
{
    const struct resource *owner = run->key->kind->kind->resource;
    return plan_child_object(
        &run->arena, c, resource_api_version(&run->arena, owner), owner->kind, run->view.object);
}

static int64_t now_ms(const struct run *run)
{
    return env_mono_ms(run->key->kind->engine->env);
}

static void note_foreign(struct run *run, const struct plan_child *c, const struct cache_entry *e)
{
    struct memo *m = memo_get(run->key, c->resource, e->name);
    if (m->what == TROUBLE_FOREIGN)
        return;
    memo_trouble(m,
        TROUBLE_FOREIGN,
        arena_printf(&run->arena,
            "%s %s exists and is not controlled by this %s; rename or delete it, or rename this "
            "object",
            c->resource->kind,
            e->name,
            run->key->kind->kind->resource->kind),
        0,
        0);
    run->again = true;
}

/* What is there is what is wanted, though no answer of ours said so: it was lost, or somebody else
 * made it so. A fight may go on, so it is remembered for its time. */
static void note_settled(struct run *run, struct memo *m)
{
    bool over = m && (m->what == TROUBLE_REFUSED ||
                         (m->what == TROUBLE_CONTESTED && now_ms(run) >= m->until_ms));
    if (!over)
        return;
    memo_calm(m);
    run->again = true; /* the status that was planned still tells of it */
}

/* Refused or contested with the same plan, and not long ago. */
static bool is_held(const struct run *run, const struct memo *m, uint64_t hash)
{
    bool held = m && (m->what == TROUBLE_REFUSED || m->what == TROUBLE_CONTESTED);
    return held && m->plan_hash == hash && now_ms(run) < m->until_ms;
}

const char *gate_owner_of(struct run *run, const struct resource *r)
{
    const struct resource *owner = run->key->kind->kind->resource;
    return r->cluster_scoped ? plan_owner_id(&run->arena,
                                   resource_api_version(&run->arena, owner),
                                   owner->kind,
                                   run->view.object)
                             : run->uid;
}

/* One of ours. Where nobody controls it: one that the kind takes in; one that we wrote, and whose
 * owner reference somebody took off; or, in the cluster's scope, one that our predecessor made,
 * which could not say whose it is. */
static bool is_ours(struct run *run, const struct plan_child *c, const struct cache_entry *entry)
{
    const struct resource *r = entry->resource->resource;
    if (*entry->controller_uid)
        return text_eq(entry->controller_uid, gate_owner_of(run, r));
    return c->orphan || (entry->upstream ? r->cluster_scoped : entry->owned != NULL);
}

/* The same for a step towards what is wanted, which is refused like a write of it. */
static bool is_step_held(
    struct run *run, const struct plan_child *c, const char *name, struct json wanted)
{
    const struct memo *m = memo_find(run->key, c->resource, name);
    return m && m->what != TROUBLE_NONE && is_held(run, m, memo_hash(&run->arena, wanted));
}

static bool must_be_replaced(const struct plan_child *c, struct json owned, struct json wanted)
{
    for (size_t i = 0; c->fixed && c->fixed[i]; i++) {
        struct json there = json_get(owned, c->fixed[i]);
        if (json_present(there) && !json_equal(there, json_get(wanted, c->fixed[i])))
            return true;
    }
    return false;
}

/* The same plan was written again and again (write.c counts): what failed was no fight. */
static bool is_fight(struct run *run, struct memo *m, uint64_t hash, unsigned most)
{
    int64_t now = now_ms(run);
    if (m->plan_hash != hash || now - m->fights_since_ms > GATE_FIGHT_WINDOW_MS) {
        m->plan_hash = hash;
        m->fights = 0;
        m->fights_since_ms = now;
    }
    return m->fights >= most;
}

/* It is not there. If the owner has a status, or was passed over before, this is hardly its first
 * time: then it is counted, and one that is deleted after each creation is fought over, too.
 * Whoever deletes a pod wants another.
 */
static struct gate_decision gate_missing(
    struct run *run, const struct plan_child *c, struct json wanted, const char *name)
{
    struct memo *m = memo_find(run->key, c->resource, name);
    bool counts = c->mode != PLAN_SHARED && c->resource != &RESOURCE_POD &&
                  (run->key->ran || json_present(json_get(run->view.object, "status.conditions")));
    if (!m && !counts)
        return (struct gate_decision){ .action = GATE_CREATE };
    uint64_t hash = memo_hash(&run->arena, wanted);
    if (is_held(run, m, hash))
        return (struct gate_decision){ .action = GATE_SKIP };
    if (counts && is_fight(run, memo_get(run->key, c->resource, name), hash, GATE_DELETIONS_MAX))
        return (struct gate_decision){ .action = GATE_CONTEST, .hash = hash };
    return (struct gate_decision){ .action = GATE_CREATE, .hash = hash };
}

static struct gate_decision gate_existing(struct run *run, const struct plan_child *c,
    const struct cache_entry *entry, struct json wanted)
{
    struct arena *a = &run->arena;
    struct json owned = cache_read_owned(a, entry);
    bool replaced = must_be_replaced(c, owned, wanted);
    if (replaced || entry->upstream)
        return (struct gate_decision){
            .action = is_step_held(run, c, entry->name, wanted) ? GATE_SKIP
                      : replaced                                ? GATE_DELETE
                                                                : GATE_ADOPT,
        };
    struct merge_owned ours = {
        .found = entry->owned != NULL,
        .exact = entry->exact,
        .fields = owned,
    };
    if (merge_equal(entry->resource->schema, &ours, wanted)) {
        note_settled(run, memo_find(run->key, c->resource, entry->name));
        return (struct gate_decision){ .action = GATE_SKIP };
    }
    uint64_t hash = memo_hash(a, wanted);
    struct memo *m = memo_get(run->key, c->resource, entry->name);
    bool learnt = m->learnt && m->learnt_hash == hash && m->owned_hash == memo_hash(a, owned);
    if (learnt || is_held(run, m, hash))
        return (struct gate_decision){ .action = GATE_SKIP };
    if (log_enabled(LOG_LEVEL_DEBUG)) {
        struct merge_differences d = merge_difference(a, entry->resource->schema, &ours, wanted);
        for (size_t i = 0; i < d.count; i++)
            log_debug("%s %s: %s %s",
                c->resource->kind,
                entry->name,
                d.items[i].text,
                merge_change_name(d.items[i].what));
    }
    if (is_fight(run, m, hash, GATE_FIGHTS_MAX))
        return (struct gate_decision){ .action = GATE_CONTEST, .hash = hash };
    return (struct gate_decision){ .action = GATE_APPLY, .hash = hash };
}

struct gate_decision gate_child(struct run *run, const struct plan_child *c, struct json wanted)
{
    struct engine *e = run->key->kind->engine;
    const struct gate_decision skip = { .action = GATE_SKIP };
    struct cache_resource *r = cache_resource_of(&e->cache, c->resource);
    assert(r); /* children are watched */
    const char *name = json_get_text(wanted, "metadata.name");
    struct memo *m = memo_find(run->key, c->resource, name);
    if (r->missing)
        note_settled(run, m); /* an answer to what was under way when it went */
    if (r->missing || !engine_is_loaded(e, r))
        return skip; /* the key runs again when it is there, and loaded */
    struct cache_entry *entry = cache_find(r, view_namespace(&run->view), name);
    bool foreign = entry && c->mode != PLAN_SHARED && !is_ours(run, c, entry);
    if (c->mode == PLAN_ABSENT)
        return entry && !foreign && !entry->deleting && !is_step_held(run, c, name, wanted)
                   ? (struct gate_decision){ .action = GATE_DELETE }
                   : skip;
    if (m && m->what == TROUBLE_FOREIGN && !foreign) {
        memo_calm(m);
        run->again = true; /* the status that was planned still tells of it */
    }
    if (foreign) {
        note_foreign(run, c, entry);
        return skip;
    }
    if (!entry)
        return gate_missing(run, c, wanted, name);
    if (entry->deleting)
        return skip;
    if (c->mode != PLAN_OWNED) {
        note_settled(run, m);
        return skip;
    }
    return gate_existing(run, c, entry, wanted);
}

bool gate_is_leftover(const struct run *run, const struct cache_entry *entry)
{
    if (entry->deleting || !(entry->owned || entry->upstream))
        return false;
    /* A claim holds data that somebody may want back; it goes with its owner, not before. */
    if (entry->resource->resource == &RESOURCE_PVC)
        return false;
    bool watched_child = false;
    const struct kind_watch *w = run->key->kind->kind->watches;
    for (; w->resource; w++)
        watched_child |= w->child && w->resource == entry->resource->resource;
    if (!watched_child)
        return false;
    for (size_t i = 0; i < run->plan.child_count; i++) {
        const struct plan_child *c = &run->plan.children[i];
        if (c->resource == entry->resource->resource &&
            text_eq(json_get_text(c->object, "metadata.name"), entry->name))
            return false;
    }
    return true;
}
