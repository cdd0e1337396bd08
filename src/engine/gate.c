#include "engine/gate.h"

#include "merge/merge.h"

/* The same plan written this many times in a short time means that another writer reverts it. */
#define GATE_FIGHTS_MAX 5
#define GATE_DELETIONS_MAX 20 /* people may delete a child a few times */
#define GATE_FIGHT_WINDOW_MS ((int64_t)10 * 60 * 1000)

static enum trouble trouble_of(const struct gate_input *in)
{
    return in->memo ? in->memo->what : TROUBLE_NONE;
}

static struct gate_decision only(enum gate_action action)
{
    return (struct gate_decision){ .action = action };
}

/* Whether the child is ours. A child without a controller is ours if the kind takes in orphans; if
 * we wrote it and its owner reference was removed; or, if it is cluster-scoped, if our predecessor
 * created it, because the predecessor could not record its owner. */
static bool is_ours(const struct gate_input *in)
{
    const struct cache_entry *there = in->there;
    if (*there->controller_uid)
        return text_eq(there->controller_uid, in->owner);
    return in->child->orphan ||
           (there->upstream ? in->child->resource->cluster_scoped : there->owned != NULL);
}

static bool is_foreign(const struct gate_input *in)
{
    enum plan_child_mode mode = in->child->mode;
    return in->there && mode != PLAN_SHARED && mode != PLAN_REMOVED && !is_ours(in);
}

/* Refused or contested with the same plan, not long ago. */
static bool is_held(const struct gate_input *in, uint64_t hash)
{
    bool held = trouble_of(in) == TROUBLE_REFUSED || trouble_of(in) == TROUBLE_CONTESTED;
    return held && in->memo->plan_hash == hash && in->now_ms < in->memo->until_ms;
}

/* The same for an intermediate step (delete or adopt), which is refused like a write of the
 * child. */
static bool is_step_held(const struct gate_input *in)
{
    return trouble_of(in) != TROUBLE_NONE && is_held(in, memo_hash(in->arena, in->wanted));
}

/* The live child matches the plan, although no response of ours said so: the response was lost, or
 * another writer made the same change. A contested child stays contested until its time is over,
 * because the other writer may come back. */
static bool is_settled(const struct gate_input *in)
{
    return trouble_of(in) == TROUBLE_REFUSED ||
           (trouble_of(in) == TROUBLE_CONTESTED && in->now_ms >= in->memo->until_ms);
}

static struct gate_decision gate_as_planned(const struct gate_input *in)
{
    return (struct gate_decision){ .action = GATE_SKIP, .settled = is_settled(in) };
}

/* If we own no fields of the object, nothing is known about them. */
static bool must_be_replaced(const struct gate_input *in, struct json owned)
{
    const char *const *fixed = in->child->fixed;
    for (size_t i = 0; fixed && fixed[i] && owned.count; i++)
        if (!json_equal(json_get(owned, fixed[i]), json_get(in->wanted, fixed[i])))
            return true;
    return false;
}

/* Each write of the same plan is counted (write.c). A write that failed does not count. */
static bool is_new_plan(const struct gate_input *in, uint64_t hash)
{
    const struct memo *m = in->memo;
    return !m || m->plan_hash != hash || in->now_ms - m->fights_since_ms > GATE_FIGHT_WINDOW_MS;
}

static struct gate_decision fight_or(
    const struct gate_input *in, enum gate_action action, uint64_t hash, unsigned most)
{
    bool fresh = is_new_plan(in, hash);
    return (struct gate_decision){
        .action = !fresh && in->memo->fights >= most ? GATE_CONTEST : action,
        .hash = hash,
        .recount = fresh,
    };
}

/* If the owner is settled, a missing child was deleted by somebody. This is counted: a child that
 * is deleted after each creation is contested, too. */
static struct gate_decision gate_missing(const struct gate_input *in)
{
    const struct plan_child *c = in->child;
    bool shared = c->mode == PLAN_SHARED;
    enum gate_action create = shared ? GATE_SHARE : GATE_CREATE;
    bool counts = !shared && !c->disposable && in->owner_settled;
    if (!in->memo && !counts)
        return only(create);
    uint64_t hash = memo_hash(in->arena, in->wanted);
    if (is_held(in, hash))
        return only(GATE_SKIP);
    if (counts)
        return fight_or(in, create, hash, GATE_DELETIONS_MAX);
    return (struct gate_decision){ .action = create, .hash = hash };
}

/* Other activity may have to come before the creation. */
static struct gate_decision gate_create(const struct gate_input *in)
{
    struct gate_decision d = gate_missing(in);
    bool creates = d.action == GATE_CREATE || d.action == GATE_SHARE;
    if (creates && in->before != GATE_BEFORE_READY)
        d.action = in->before == GATE_BEFORE_COMING ? GATE_LATER : GATE_SKIP;
    else if (d.action == GATE_SHARE && in->taken)
        d.action = GATE_FOLLOW;
    else if (d.action != GATE_SKIP && (in->taken || (creates && in->clashes)))
        d.action = GATE_YIELD;
    return d;
}

static struct gate_decision gate_existing(const struct gate_input *in)
{
    struct json owned = cache_read_owned(in->arena, in->there);
    bool replaced = must_be_replaced(in, owned);
    if (replaced || in->there->upstream)
        return only(is_step_held(in) ? GATE_SKIP : replaced ? GATE_DELETE : GATE_ADOPT);
    struct merge_owned ours = {
        .found = in->there->owned != NULL,
        .exact = in->there->exact,
        .fields = owned,
    };
    if (merge_equal(in->there->resource->schema, &ours, in->wanted))
        return gate_as_planned(in);
    uint64_t hash = memo_hash(in->arena, in->wanted);
    const struct memo *m = in->memo;
    bool learnt =
        m && m->learnt && m->learnt_hash == hash && m->owned_hash == memo_hash(in->arena, owned);
    if (learnt || is_held(in, hash))
        return only(GATE_SKIP);
    struct gate_decision d = fight_or(in, GATE_APPLY, hash, GATE_FIGHTS_MAX);
    if (d.action == GATE_APPLY && in->clashes)
        d.action = GATE_YIELD;
    return d;
}

static struct gate_decision gate_foreign(const struct gate_input *in)
{
    if (trouble_of(in) == TROUBLE_FOREIGN)
        return only(GATE_SKIP);
    const char *message = arena_printf(in->arena,
        "%s %s exists and is not controlled by this %s; rename or delete it, or rename this object",
        in->child->resource->kind,
        in->there->name,
        in->owner_kind);
    return (struct gate_decision){
        .action = GATE_SKIP,
        .trouble = { TROUBLE_FOREIGN, message, .reason = "NotControlled" },
    };
}

static struct gate_decision gate_unwanted(const struct gate_input *in, bool foreign)
{
    bool deletes = in->there && !foreign && !in->there->deleting && !is_step_held(in);
    return only(deletes ? GATE_DELETE : GATE_SKIP);
}

static struct gate_decision gate_wanted(const struct gate_input *in)
{
    if (!in->there)
        return gate_create(in);
    if (in->there->deleting)
        return only(GATE_SKIP);
    return in->child->mode == PLAN_OWNED ? gate_existing(in) : gate_as_planned(in);
}

struct gate_decision gate_child(const struct gate_input *in)
{
    enum plan_child_mode mode = in->child->mode;
    if (in->memo && in->memo->unknown)
        return only(GATE_LOOK);
    if (mode == PLAN_REMOVED)
        return gate_unwanted(in, false);
    if (in->access == GATE_UNSERVED) /* earlier writes have ended */
        return gate_as_planned(in);
    if (in->access == GATE_LOADING)
        return only(GATE_SKIP);
    bool foreign = is_foreign(in);
    if (mode == PLAN_ABSENT)
        return gate_unwanted(in, foreign);
    if (foreign)
        return gate_foreign(in);
    struct gate_decision d = gate_wanted(in);
    d.settled |= trouble_of(in) == TROUBLE_FOREIGN;
    return d;
}

bool gate_is_leftover(
    const struct plan *p, const struct kind_watch *watches, const struct cache_entry *entry)
{
    if (entry->deleting || !(entry->owned || entry->upstream))
        return false;
    const struct resource *r = entry->resource->resource;
    bool deletable = false;
    for (const struct kind_watch *w = watches; w->resource; w++)
        deletable |= w->child && !w->lasting && w->resource == r;
    if (!deletable)
        return false;
    for (size_t i = 0; i < p->child_count; i++) {
        const struct plan_child *c = &p->children[i];
        if (c->resource == r && text_eq(json_get_text(c->object, "metadata.name"), entry->name))
            return false;
    }
    return true;
}
