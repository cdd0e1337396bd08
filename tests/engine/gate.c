/* Every way through the gate, as a table: what is planned, what is there and what is remembered,
 * and what is to be done. */

#include "engine/gate.h"
#include "merge/schema.h"
#include "tests/test.h"

#define NOW 1000000
#define SOON (NOW + 1)
#define HASH_OF_PLAN 1 /* stands for memo_hash() of what is wanted */

/* What exists under the child's name. */
enum there { NONE, EQUAL, DIFFERENT, STRANGERS, UNOWNED, DELETED, UPSTREAM };

struct row {
    const char *name;
    enum gate_action action; /* expected */
    enum plan_child_mode mode;
    enum there there;
    struct memo memo; /* used if `remembers` */
    bool remembers;
    bool orphan, disposable, fixed, fixed_new, new_owner, taken, clashes;
    enum gate_access access;
    enum gate_before before;
    /* Expected, too. */
    bool settled, recount;
    enum trouble trouble;
};

#define MEMO(...) .remembers = true, .memo = { __VA_ARGS__ }
#define HELD .plan_hash = HASH_OF_PLAN, .until_ms = SOON
#define OVER .plan_hash = HASH_OF_PLAN, .until_ms = NOW

static const struct row rows[] = {
    { "created at first", GATE_CREATE, .new_owner = true },
    { "created again, and counted", GATE_CREATE, .recount = true },
    { "a pod is not counted", GATE_CREATE, .disposable = true },
    { "once, like any other", GATE_CREATE, PLAN_ONCE, .recount = true },
    { "deleted for the 20th time",
        GATE_CREATE,
        MEMO(.plan_hash = HASH_OF_PLAN, .fights = 19, .fights_since_ms = NOW) },
    { "deleted once more",
        GATE_CONTEST,
        MEMO(.plan_hash = HASH_OF_PLAN, .fights = 20, .fights_since_ms = NOW) },
    { "deleted often, long ago",
        GATE_CREATE,
        MEMO(.plan_hash = HASH_OF_PLAN, .fights = 20, .fights_since_ms = NOW - 600001),
        .recount = true },
    { "deleted often as another plan",
        GATE_CREATE,
        MEMO(.plan_hash = 7, .fights = 20, .fights_since_ms = NOW),
        .recount = true },
    { "a pod that is deleted often",
        GATE_CREATE,
        MEMO(.plan_hash = HASH_OF_PLAN, .fights = 20, .fights_since_ms = NOW),
        .disposable = true },
    { "its creation was refused", GATE_SKIP, MEMO(.what = TROUBLE_REFUSED, HELD) },
    { "its creation was refused, as another plan",
        GATE_CREATE,
        MEMO(.what = TROUBLE_REFUSED, .plan_hash = 7, .until_ms = SOON),
        .recount = true },
    { "its creation was refused long ago",
        GATE_CREATE,
        MEMO(.what = TROUBLE_REFUSED, OVER),
        .recount = true,
        .new_owner = false },
    { "a stranger's is gone",
        GATE_CREATE,
        MEMO(.what = TROUBLE_FOREIGN),
        .settled = true,
        .recount = true },
    { "the child before it is missing", GATE_SKIP, .before = GATE_BEFORE_MISSING, .recount = true },
    { "the child before it comes", GATE_LATER, .before = GATE_BEFORE_COMING, .recount = true },
    { "another key creates it", GATE_YIELD, .taken = true, .recount = true },
    { "another key has its node port", GATE_YIELD, .clashes = true, .recount = true },
    { "shared: created", GATE_SHARE, PLAN_SHARED },
    { "shared: another key creates it", GATE_FOLLOW, PLAN_SHARED, .taken = true },
    { "shared: it is there", GATE_SKIP, PLAN_SHARED, STRANGERS },
    { "shared: refused", GATE_SKIP, PLAN_SHARED, MEMO(.what = TROUBLE_REFUSED, HELD) },

    { "as planned", GATE_SKIP, PLAN_OWNED, EQUAL },
    { "as planned, though it was refused",
        GATE_SKIP,
        PLAN_OWNED,
        EQUAL,
        MEMO(.what = TROUBLE_REFUSED, HELD),
        .settled = true },
    { "as planned for now, in a fight",
        GATE_SKIP,
        PLAN_OWNED,
        EQUAL,
        MEMO(.what = TROUBLE_CONTESTED, HELD) },
    { "as planned, after a fight",
        GATE_SKIP,
        PLAN_OWNED,
        EQUAL,
        MEMO(.what = TROUBLE_CONTESTED, OVER),
        .settled = true },
    { "as planned, though others write its node port",
        GATE_SKIP,
        PLAN_OWNED,
        EQUAL,
        .clashes = true },
    { "different", GATE_APPLY, PLAN_OWNED, DIFFERENT, .recount = true },
    { "different, and others write its node port",
        GATE_YIELD,
        PLAN_OWNED,
        DIFFERENT,
        .clashes = true,
        .recount = true },
    { "different, but never changed", GATE_SKIP, PLAN_ONCE, DIFFERENT },
    { "different, and refused",
        GATE_SKIP,
        PLAN_OWNED,
        DIFFERENT,
        MEMO(.what = TROUBLE_REFUSED, HELD) },
    { "different, and refused long ago",
        GATE_APPLY,
        PLAN_OWNED,
        DIFFERENT,
        MEMO(.what = TROUBLE_REFUSED, OVER),
        .recount = true },
    { "different, and contested",
        GATE_SKIP,
        PLAN_OWNED,
        DIFFERENT,
        MEMO(.what = TROUBLE_CONTESTED, HELD) },
    { "different for the fifth time",
        GATE_APPLY,
        PLAN_OWNED,
        DIFFERENT,
        MEMO(.plan_hash = HASH_OF_PLAN, .fights = 4, .fights_since_ms = NOW) },
    { "different once more",
        GATE_CONTEST,
        PLAN_OWNED,
        DIFFERENT,
        MEMO(.plan_hash = HASH_OF_PLAN, .fights = 5, .fights_since_ms = NOW) },
    { "different where the server stores it so",
        GATE_SKIP,
        PLAN_OWNED,
        DIFFERENT,
        MEMO(.learnt = true, .learnt_hash = HASH_OF_PLAN) },
    { "different where it cannot be changed", GATE_DELETE, PLAN_OWNED, DIFFERENT, .fixed = true },
    { "new where it cannot be changed", GATE_DELETE, PLAN_OWNED, DIFFERENT, .fixed_new = true },
    { "of the predecessor, who owns what cannot be changed",
        GATE_ADOPT,
        PLAN_OWNED,
        UPSTREAM,
        .fixed = true },
    { "different where it cannot be changed, and its deletion was refused",
        GATE_SKIP,
        PLAN_OWNED,
        DIFFERENT,
        MEMO(.what = TROUBLE_REFUSED, HELD),
        .fixed = true },
    { "the predecessor's", GATE_ADOPT, PLAN_OWNED, UPSTREAM },
    { "the predecessor's, and taking over was refused",
        GATE_SKIP,
        PLAN_OWNED,
        UPSTREAM,
        MEMO(.what = TROUBLE_REFUSED, HELD) },
    { "deleted, and not gone yet", GATE_SKIP, PLAN_OWNED, DELETED },
    { "a stranger's", GATE_SKIP, PLAN_OWNED, STRANGERS, .trouble = TROUBLE_FOREIGN },
    { "a stranger's, as is known",
        GATE_SKIP,
        PLAN_OWNED,
        STRANGERS,
        MEMO(.what = TROUBLE_FOREIGN) },
    { "nobody's, and not written by us",
        GATE_SKIP,
        PLAN_OWNED,
        UNOWNED,
        .trouble = TROUBLE_FOREIGN },
    { "nobody's, and taken in", GATE_APPLY, PLAN_OWNED, UNOWNED, .orphan = true, .recount = true },

    { "absent already", GATE_SKIP, PLAN_ABSENT },
    { "to be absent", GATE_DELETE, PLAN_ABSENT, DIFFERENT },
    { "to be absent, and deleted", GATE_SKIP, PLAN_ABSENT, DELETED },
    { "to be absent, but a stranger's", GATE_SKIP, PLAN_ABSENT, STRANGERS },
    { "to be absent, and its deletion was refused",
        GATE_SKIP,
        PLAN_ABSENT,
        DIFFERENT,
        MEMO(.what = TROUBLE_REFUSED, HELD) },
    { "to be removed, a stranger's too", GATE_DELETE, PLAN_REMOVED, STRANGERS },
    { "to be removed, and its deletion was refused",
        GATE_SKIP,
        PLAN_REMOVED,
        STRANGERS,
        MEMO(.what = TROUBLE_REFUSED, HELD) },

    { "the last write's end is not known", GATE_LOOK, MEMO(.unknown = true) },
    { "its API is not served", GATE_SKIP, .access = GATE_UNSERVED },
    { "its API is not served any more",
        GATE_SKIP,
        MEMO(.what = TROUBLE_REFUSED, HELD),
        .access = GATE_UNSERVED,
        .settled = true },
    { "not loaded yet", GATE_SKIP, .access = GATE_LOADING },
};

#define OURS                                                                                       \
    "'managedFields': [{'manager': 'leeboard', 'operation': 'Apply', 'apiVersion': 'v1',"          \
    " 'fieldsType': 'FieldsV1', 'fieldsV1': {'f:data': {'f:color': {}}}}]"
#define PREDECESSORS                                                                               \
    "'managedFields': [{'manager': 'manager', 'operation': 'Update', 'apiVersion': 'v1',"          \
    " 'fieldsType': 'FieldsV1', 'fieldsV1': {'f:data': {'f:color': {}}}}]"
#define CONTROLLED "'ownerReferences': [{'uid': 'owner', 'controller': true}]"

static const struct {
    const char *metadata, *color;
} objects[] = {
    [EQUAL] = { CONTROLLED ", " OURS, "red" },
    [DIFFERENT] = { CONTROLLED ", " OURS, "blue" },
    [STRANGERS] = { "'ownerReferences': [{'uid': 'other', 'controller': true}]", "red" },
    [UNOWNED] = { "'labels': {}", "red" },
    [DELETED] = { CONTROLLED ", 'deletionTimestamp': '2026-01-01T00:00:00Z', " OURS, "red" },
    [UPSTREAM] = { CONTROLLED ", " PREDECESSORS, "red" },
};

struct gate_rig {
    struct cache cache;
    struct cache_resource *resource;
    struct schemas *schemas;
};

static void rig_init(struct gate_rig *g)
{
    static const char *const predecessors[] = { "manager", NULL };
    static const struct kind_watch watch = { .resource = &RESOURCE_CONFIG_MAP, .child = true };
    cache_init(&g->cache, "leeboard", predecessors, 1, 2);
    g->schemas = schemas_new();
    g->resource = cache_watch(&g->cache, &watch);
    g->resource->schema = schema_of(g->schemas, "", "v1", "ConfigMap");
    g->resource->subresource = "";
}

static void rig_done(struct gate_rig *g)
{
    cache_done(&g->cache);
    schemas_free(g->schemas);
}

static struct cache_entry *entry_of(struct gate_rig *g, enum there there)
{
    struct cache_entry *entry = cache_find(g->resource, "ns", "child");
    if (entry)
        cache_delete(g->resource, entry);
    if (there == NONE)
        return NULL;
    const char *text = arena_printf(test_arena(),
        "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'data': {'color': '%s'}, 'metadata': {'name': "
        "'child', 'namespace': 'ns', 'uid': 'u', 'resourceVersion': '3', %s}}",
        objects[there].color,
        objects[there].metadata);
    cache_put(g->resource, test_json(text), CACHE_FROM_WATCH, &entry);
    return entry;
}

static void check_row(struct gate_rig *g, const struct row *row)
{
    static const char *const fixed[] = { "data.color", NULL };
    static const char *const fixed_new[] = { "data.size", NULL };
    struct json wanted = test_json("{'apiVersion': 'v1', 'kind': 'ConfigMap',"
                                   " 'metadata': {'name': 'child'}, 'data': {'color': 'red'}}");
    if (row->fixed_new)
        wanted = json_with(test_arena(), wanted, "data.size", json_str("xl"));
    struct plan_child child = {
        .resource = &RESOURCE_CONFIG_MAP,
        .mode = row->mode,
        .object = wanted,
        .orphan = row->orphan,
        .disposable = row->disposable,
        .fixed = row->fixed_new ? fixed_new
                 : row->fixed   ? fixed
                                : NULL,
    };
    uint64_t hash = memo_hash(test_arena(), wanted);
    struct memo memo = row->memo;
    memo.plan_hash = memo.plan_hash == HASH_OF_PLAN ? hash : memo.plan_hash;
    memo.learnt_hash = memo.learnt_hash == HASH_OF_PLAN ? hash : memo.learnt_hash;
    struct cache_entry *there = entry_of(g, row->there);
    if (memo.learnt)
        memo.owned_hash = memo_hash(test_arena(), cache_read_owned(test_arena(), there));
    struct gate_input in = {
        .arena = test_arena(),
        .child = &child,
        .wanted = wanted,
        .there = there,
        .memo = row->remembers ? &memo : NULL,
        .now_ms = NOW,
        .owner = "owner",
        .owner_kind = "Widget",
        .owner_settled = !row->new_owner,
        .access = row->access,
        .before = row->before,
        .taken = row->taken,
        .clashes = row->clashes,
    };
    struct gate_decision d = gate_child(&in);
    if (d.action != row->action || d.settled != row->settled || d.recount != row->recount ||
        d.trouble.what != row->trouble)
        test_fail(__FILE__,
            __LINE__,
            "%s: action %d settled %d recount %d trouble %d",
            row->name,
            d.action,
            d.settled,
            d.recount,
            d.trouble.what);
}

TEST(the_gate_decides_by_its_table)
{
    struct gate_rig g;
    rig_init(&g);
    for (size_t i = 0; i < lengthof(rows); i++)
        check_row(&g, &rows[i]);
    rig_done(&g);
}

TEST(a_child_that_is_not_planned_is_deleted_unless_it_lasts)
{
    struct gate_rig g;
    rig_init(&g);
    struct plan p;
    plan_init(&p, test_arena());
    const struct cache_entry *ours = entry_of(&g, DIFFERENT);
    const struct kind_watch child[] = { { &RESOURCE_CONFIG_MAP, .child = true }, { 0 } };
    const struct kind_watch lasting[] = {
        { &RESOURCE_CONFIG_MAP, .child = true, .lasting = true },
        { 0 },
    };
    const struct kind_watch read_only[] = { { &RESOURCE_CONFIG_MAP }, { 0 } };
    check(gate_is_leftover(&p, child, ours));
    check(!gate_is_leftover(&p, lasting, ours));
    check(!gate_is_leftover(&p, read_only, ours));
    plan_absent(&p, &RESOURCE_CONFIG_MAP, "child");
    check(!gate_is_leftover(&p, child, ours));
    plan_init(&p, test_arena());
    check(!gate_is_leftover(&p, child, entry_of(&g, STRANGERS)));
    check(!gate_is_leftover(&p, child, entry_of(&g, DELETED)));
    rig_done(&g);
}
