#include "sim/sim.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/table.h"
#include "base/time.h"
#include "engine/plan.h"
#include "merge/canonical.h"
#include "merge/managers.h"
#include "merge/typed.h"

/* The promises, checked from outside: by what reaches the store and what an operator sends. */

#define MANAGER "leeboard"
#define LEASES "coordination.k8s.io/leases"
#define LEASE_MS 15000     /* another operator may take it after this time */
#define UPSTREAM "manager" /* we take over its fields */
/* Writes of one object by operators within WINDOW_MS; more than that is a fight or a busy loop. */
#define WINDOW_MS 60000
#define WINDOW_WRITES_MAX 60
#define WRITTEN "%s %s/%s is written"
#define SENT "%s sends %s %s"

struct written { /* an object, and how often operators wrote it recently */
    struct table_node node;
    int64_t since_ms;
    unsigned count, reasons;
    char name[];
};

struct sim_checks {
    struct sim *sim;
    struct schemas *schemas;
    struct table written;
    bool rest;
};

struct sim_checks *sim_checks_new(struct sim *s)
{
    struct sim_checks *c = mem_new_of(struct sim_checks);
    c->sim = s;
    c->schemas = schemas_new();
    table_init(&c->written, 1, 2);
    struct error err;
    json_each (crd, s->crds)
        if (!schemas_add_crd(c->schemas, *crd, &err))
            sim_fail(s, "%s", err.text);
    return c;
}

void sim_checks_free(struct sim_checks *c)
{
    for (struct table_cursor at = table_first(&c->written); at.node; table_next(&at)) {
        struct written *w = container_of(at.node, struct written, node);
        table_remove(&c->written, at.node);
        free(w);
    }
    table_done(&c->written);
    schemas_free(c->schemas);
    free(c);
}

/* ---- our fields ---- */

/* All fields of this object that our manager owns, by any operation; or those of other managers. */
static const struct fieldset *fields_of(struct arena *a, struct json object, bool ours)
{
    struct managers m;
    struct error err;
    const struct fieldset *set = fieldset_empty();
    if (!managers_decode(a, json_get(object, "metadata.managedFields"), &m, &err))
        return set;
    for (size_t i = 0; i < m.count; i++)
        if (text_eq(m.entries[i].manager, MANAGER) == ours &&
            !text_eq(m.entries[i].manager, UPSTREAM))
            set = fieldset_union(a, set, m.entries[i].set);
    return set;
}

static const struct fieldset *owned(struct arena *a, struct json object)
{
    return fields_of(a, object, true);
}

/* 1: every leaf that a write of ours changed was ours before or is ours now. Fields without an
 * owner are the server's: it adds and removes them depending on other fields. */
static void check_foreign(struct sim_checks *c, const char *who, const struct store_object *o,
    struct json before, struct json after)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct schema *schema = schema_of_object(c->schemas, after);
    struct typed_comparison diff = typed_compare(&a, schema, before, after);
    const struct fieldset *changed = fieldset_union(&a, diff.removed, diff.modified);
    changed = fieldset_leaves(&a, managers_strip(&a, changed));
    const struct fieldset *ours = fieldset_union(&a, owned(&a, before), owned(&a, after));
    const struct fieldset *foreign = fieldset_difference_below(&a, changed, ours);
    foreign = fieldset_intersection(&a, foreign, fields_of(&a, before, false));
    size_t count;
    const struct field_path *paths = fieldset_paths(&a, foreign, &count);
    if (count)
        sim_fail(c->sim,
            "promise 1, foreign: %s changed %s of %s %s/%s, which is not its own",
            who,
            field_path_text(&a, &paths[0]),
            store_table_name(o->table),
            o->ns,
            o->name);
}

/* 6: a lost race is not reported, because no user can fix it. */
static void check_conflict(
    struct sim_checks *c, const char *who, const struct store_object *o, struct json after)
{
    json_each (condition, json_get(after, "status.conditions")) {
        const char *message = json_get_text(*condition, "message");
        if (message && strstr(message, "the object has been modified"))
            sim_fail(c->sim,
                "promise 6, conflict: %s tells of a conflict in %s %s/%s: %s",
                who,
                store_table_name(o->table),
                o->ns,
                o->name,
                message);
    }
}

/* Kinds that operators handle; their objects belong to the person. */
static bool is_served(const struct sim_checks *c, struct json object)
{
    json_each (crd, c->sim->crds)
        if (text_eq(json_get_text(*crd, "spec.names.kind"), json_get_text(object, "kind")))
            return true;
    return false;
}

/* 1: an object without any fields of ours stays with the client that created it. */
static void check_stranger(struct sim_checks *c, const char *who, const struct store_object *o,
    struct json before, bool gone)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct managers m;
    struct error err;
    if (is_served(c, before) ||
        !managers_decode(&a, json_get(before, "metadata.managedFields"), &m, &err))
        return;
    for (size_t i = 0; i < m.count; i++)
        if (text_eq(m.entries[i].manager, MANAGER) || text_eq(m.entries[i].manager, UPSTREAM))
            return;
    sim_fail(c->sim,
        "promise 1, stranger: %s %s %s %s/%s, which somebody else made",
        who,
        gone ? "deleted" : "wrote",
        store_table_name(o->table),
        o->ns,
        o->name);
}

/* 1: the spec belongs to the person. */
static void check_spec(struct sim_checks *c, const char *who, const struct store_object *o,
    struct json before, struct json after)
{
    struct str body = c->sim->request.body;
    bool named = memmem(body.ptr, body.len, "\"spec\"", strlen("\"spec\"")) != NULL;
    /* Poisoned objects were stored without checks; the server corrects them at any write. */
    if (sim_is_poison(o->name) && !named)
        return;
    if (is_served(c, after) && !json_equal(json_get(before, "spec"), json_get(after, "spec")))
        sim_fail(c->sim,
            "promise 1, spec: %s changed the spec of %s %s/%s",
            who,
            store_table_name(o->table),
            o->ns,
            o->name);
}

/* 4: a status never reports an older generation than before, nor one that did not exist yet. */
static void check_generation(
    struct sim_checks *c, const struct store_object *o, struct json before, struct json after)
{
    int64_t was = json_get_int(before, "status.observedGeneration", 0);
    int64_t is = json_get_int(after, "status.observedGeneration", 0);
    bool same =
        text_eq(json_get_text(before, "metadata.uid"), json_get_text(after, "metadata.uid"));
    if (same && (is < was || is > json_get_int(after, "metadata.generation", INT64_MAX)))
        sim_fail(c->sim,
            "promise 4, generation: status.observedGeneration of %s %s/%s went from %lld to %lld",
            store_table_name(o->table),
            o->ns,
            o->name,
            (long long)was,
            (long long)is);
}

static bool is_named(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct written, node)->name, key);
}

static struct written *get_written(struct sim_checks *c, const char *name)
{
    uint64_t hash = table_hash(&c->written, name, strlen(name));
    struct table_node *n = table_find(&c->written, hash, is_named, name);
    if (n)
        return container_of(n, struct written, node);
    struct written *w = mem_new(sizeof(*w) + strlen(name) + 1);
    memcpy(w->name, name, strlen(name) + 1);
    table_add(&c->written, &w->node, hash);
    return w;
}

static struct written *get_pace(struct sim_checks *c, const char *name)
{
    struct written *w = get_written(c, name);
    if (c->sim->now_ms - w->since_ms > WINDOW_MS) {
        w->since_ms = c->sim->now_ms;
        w->count = w->reasons = 0;
    }
    return w;
}

void sim_check_reason(struct sim_checks *c, const char *table, struct json owner)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *ns = json_get_text(owner, "metadata.namespace");
    const char *name = json_get_text(owner, "metadata.name");
    const char *status = arena_printf(&a,
        "/apis/%s/namespaces/%s/%s/%s/status",
        json_get_text(owner, "apiVersion"),
        ns,
        strchr(table, '/') + 1,
        name);
    get_pace(c, arena_printf(&a, WRITTEN, table, ns, name))->reasons++;
    for (size_t i = 0; i < c->sim->options.operators; i++)
        get_pace(c, arena_printf(&a, SENT, c->sim->operators[i]->name, "PATCH", status))->reasons++;
}

/* 3: no object is written again and again. Recreating a child is counted for both operations. */
static void check_pace(struct sim_checks *c, const char *name)
{
    struct written *w = get_pace(c, name);
    /* A person in a hurry changes the object every other second. */
    unsigned most = c->sim->options.hurry ? 3 * WINDOW_WRITES_MAX : WINDOW_WRITES_MAX;
    if (++w->count > most + 2 * w->reasons)
        sim_fail(c->sim, "promise 3, pace: %s %u times in a minute", name, w->count);
}

static bool is_housekeeping(const char *table)
{
    return text_eq(table, LEASES) || text_eq(table, "/events");
}

/* The garbage collector deletes orphans: an operator that has not yet learned that the owner is
 * gone has reason to look. */
static void note_collected(struct sim_checks *c, const struct store_event *e)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json before, after = { 0 };
    struct error err;
    if (!e->before || !json_parse(&a, e->before->text, &before, &err) ||
        (!e->gone && !json_parse(&a, e->object->text, &after, &err)))
        return;
    struct json owner = json_item(json_get(before, "metadata.ownerReferences"), 0);
    if (json_present(owner) &&
        (e->gone || json_present(json_get(after, "metadata.deletionTimestamp"))))
        sim_wakes_reason(c->sim->wakes,
            json_get_text(owner, "kind"),
            e->object->ns,
            json_get_text(owner, "name"));
}

void sim_check_change(struct sim_checks *c, const struct sim_change *change)
{
    const struct store_event *e = change->event;
    const char *who = change->request->actor.name;
    if (text_eq(who, "server"))
        note_collected(c, e);
    if (!change->request->actor.op)
        return;
    if (text_eq(store_table_name(e->object->table), LEASES))
        change->request->actor.op->leased_ms = c->sim->now_ms;
    if (is_housekeeping(store_table_name(e->object->table)))
        return;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json before, after;
    struct error err;
    check_pace(c,
        arena_printf(
            &a, WRITTEN, store_table_name(e->object->table), e->object->ns, e->object->name));
    if (c->rest)
        sim_fail(c->sim,
            "promise 2, rest: %s %s %s while the world is at rest",
            who,
            change->request->method,
            change->request->path);
    if (!e->before || !json_parse(&a, e->before->text, &before, &err))
        return;
    check_stranger(c, who, e->object, before, e->gone);
    if (e->gone && text_eq(change->request->method, "PATCH"))
        sim_check_let_go(c->sim, before);
    if (e->gone || !json_parse(&a, e->object->text, &after, &err))
        return;
    check_foreign(c, who, e->object, before, after);
    check_spec(c, who, e->object, before, after);
    check_conflict(c, who, e->object, after);
    check_generation(c, e->object, before, after);
}

/* A field that was sent is not stored: its feature is disabled in the server, and an operator that
 * restarts cannot know that. */
static bool is_dropped(struct json sent, struct json stored)
{
    if (!json_present(stored))
        return !canonical_is_zero(sent);
    json_each_member (m, sent)
        if (is_dropped(m->value, json_member(stored, m->key)))
            return true;
    for (uint32_t i = 0; json_is(sent, JSON_LIST) && sent.count == stored.count && i < sent.count;
         i++)
        if (is_dropped(sent.items[i], stored.items[i]))
            return true;
    return false;
}

/* The present object of the request; absent: it does not exist. */
static struct json read_stored(
    struct sim_checks *c, struct arena *a, const struct sim_request *request)
{
    struct json stored;
    const char *path = arena_strndup(a, request->path, strcspn(request->path, "?"));
    struct sim_request served = c->sim->request; /* still in progress */
    int status = sim_ask(c->sim, "check", "GET", path, NULL, json_none, a, &stored);
    c->sim->request = served;
    return json_if(status == 200, stored);
}

/* No client can know that before the first time; the second time is too much. */
static bool is_unkept(struct sim_checks *c, const struct sim_request *request)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json sent;
    struct error err;
    struct json stored = read_stored(c, &a, request);
    const struct sim_operator *o = request->actor.op;
    return json_parse(&a, request->body, &sent, &err) &&
           is_dropped(json_get(sent, "spec"), json_get(stored, "spec")) &&
           get_written(c,
               arena_printf(&a,
                   "%s.%lld drops %s %.*s",
                   o->name,
                   (long long)o->lives,
                   request->path,
                   (int)request->body.len,
                   request->body.ptr))
                   ->count++ == 0;
}

/* 5: no object is created twice. One that existed before an operator became the leader is in the
 * lists that it then requests and is allowed to read. A later one that it has not seen
 * (sim_wakes_creates()) is from a late write of a previous leader, or from its own write that it
 * had given up. */
static void check_twice(struct sim_checks *c, const struct sim_request *request)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct sim_operator *o = request->actor.op;
    struct json stored = read_stored(c, &a, request);
    int64_t made_ms, led_ms = env_wall_ms(&c->sim->env) - c->sim->now_ms + request->led_ms;
    bool stale = o->stale_until_ms && c->sim->now_ms < o->stale_until_ms + WINDOW_MS;
    if (!stale && !sim_wakes_is_blind(c->sim->wakes, o, request->path) &&
        time_parse(json_get_text(stored, "metadata.creationTimestamp"), &made_ms) &&
        made_ms + 1000 <= led_ms)
        sim_fail(c->sim,
            "promise 5, twice: %s creates %s, which is there since before it led",
            o->name,
            request->path);
}

/* 2: an accepted write has an effect. An event whose answer was lost is sent again: checking first
 * would cost as much. */
bool sim_check_request(
    struct sim_checks *c, const struct sim_request *request, int status, size_t changes)
{
    if (text_eq(request->method, "DELETE") && status < 300 && changes && request->actor.op)
        sim_deletions_add(c->sim->deletions, request->path);
    if (text_eq(request->method, "GET") || status >= 300 || !request->actor.op ||
        strstr(request->path, "/events/"))
        return false;
    if (status == 200 && sim_is_create(request)) {
        check_twice(c, request);
        return true;
    }
    if (changes)
        return false;
    if (is_unkept(c, request))
        return true;
    sim_history_add(c->sim->history, "body", "%.*s", (int)request->body.len, request->body.ptr);
    sim_fail(c->sim,
        "promise 2, effect: %s sent %s %s, which changed nothing",
        request->actor.name,
        request->method,
        request->path);
    return false;
}

/* 4: only the leader writes, judged by the lease in the server. */
void sim_check_sent(
    struct sim_checks *c, struct sim_operator *o, const char *method, const char *path)
{
    if (strstr(path, "/leases") || strstr(path, "/events"))
        return;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *to = arena_strndup(&a, path, strcspn(path, "?"));
    check_pace(c, arena_printf(&a, SENT, o->name, method, to));
    if (text_eq(method, "GET"))
        return;
    if (!sim_operator_leads(o)) {
        sim_fail(c->sim, "promise 4, leader: %s sent %s %s without leading", o->name, method, path);
        return;
    }
    int64_t age_ms = c->sim->now_ms - o->leased_ms;
    if (age_ms > LEASE_MS) {
        sim_fail(c->sim,
            "promise 4, lease: %s sent %s %s, and wrote its lease %lld ms ago",
            o->name,
            method,
            path,
            (long long)age_ms);
        return;
    }
    const struct store_object *lease =
        store_get(store_table(c->sim->store, LEASES), "kube-system", "882d6afe.llmkube.dev");
    struct json object;
    struct error err;
    if (!lease || !json_parse(&a, lease->text, &object, &err))
        return;
    const char *holder = json_get_text(object, "spec.holderIdentity");
    if (!text_empty(holder) && !text_starts(holder, o->name))
        sim_fail(c->sim,
            "promise 4, lease: %s sent %s %s while %s holds the lease",
            o->name,
            method,
            path,
            holder);
}

void sim_check_rest(struct sim_checks *c, bool rest)
{
    c->rest = rest;
}

/* ---- the end ---- */

static bool has_uid(const struct store_object *o, const char *uid)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json object;
    struct error err;
    return memmem(o->text.ptr, o->text.len, uid, strlen(uid)) &&
           (!json_parse(&a, o->text, &object, &err) ||
               text_eq(json_get_text(object, "metadata.uid"), uid));
}

/* The same for a cluster-scoped child, which names its owner in an annotation. */
static void check_owner_named(struct sim *s, const struct store_object *o, const char *owner)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str name = str_of(owner), type = str_cut(&name, '/'), ns = str_cut(&name, '/');
    struct str kind = str_cut(&type, '.');
    json_each (crd, s->crds) {
        const char *group = json_get_text(*crd, "spec.group");
        if (!str_eq(type, str_of(group)) ||
            !str_eq(kind, str_of(json_get_text(*crd, "spec.names.kind"))))
            continue;
        const char *table =
            arena_printf(&a, "%s/%s", group, json_get_text(*crd, "spec.names.plural"));
        if (!store_get(store_table(s->store, table), str_dup(&a, ns), str_dup(&a, name)))
            sim_fail(s,
                "promise 5, owner: %s %s is left of %s, which is gone",
                store_table_name(o->table),
                o->name,
                owner);
    }
}

/* A child is deleted with its owner. */
static void check_owner(struct sim_checks *c, const struct store_object *o, struct json object)
{
    struct sim *s = c->sim;
    const char *named =
        json_text(json_member(json_get(object, "metadata.annotations"), PLAN_OWNER_ANNOTATION));
    if (named)
        check_owner_named(s, o, named);
    json_each (owner, json_get(object, "metadata.ownerReferences")) {
        bool there = false;
        for (struct store_table *t = NULL; (t = store_table_next(s->store, t)) && !there;) {
            struct store_cursor at = { 0 };
            for (const struct store_object *p; (p = store_next(t, &at)) && !there;)
                there = text_eq(p->name, json_get_text(*owner, "name")) &&
                        has_uid(p, json_get_text(*owner, "uid"));
        }
        if (!there)
            sim_fail(s,
                "promise 5, owner: %s %s/%s is left of %s %s, which is gone",
                store_table_name(o->table),
                o->ns,
                o->name,
                json_get_text(*owner, "kind"),
                json_get_text(*owner, "name"));
    }
}

/* 6: in every case the whole status is about the present generation, and gives a reason. */
static void check_told(struct sim_checks *c, const struct store_object *o, struct json object)
{
    if (text_eq(json_get_text(object, "kind"), "GPUQuota"))
        return; /* its CRD has no conditions */
    int64_t generation = json_get_int(object, "metadata.generation", 0);
    struct json conditions = json_get(object, "status.conditions");
    bool told = conditions.count;
    json_each (condition, conditions)
        told &= json_get_int(*condition, "observedGeneration", 0) == generation &&
                !text_empty(json_get_text(*condition, "reason")) &&
                !text_empty(json_get_text(*condition, "message"));
    if (!told)
        sim_fail(c->sim,
            "promise 6, told: not all conditions of %s %s/%s are of its generation %lld: %s",
            store_table_name(o->table),
            o->ns,
            o->name,
            (long long)generation,
            json_to_text(&c->sim->arena, json_get(object, "status")));
}

void sim_check_end(struct sim_checks *c)
{
    struct sim *s = c->sim;
    for (size_t i = 0; i < s->options.operators; i++)
        sim_operator_check(s->operators[i]);
    sim_causes_check(s->causes);
    for (struct store_table *t = NULL; (t = store_table_next(s->store, t));) {
        struct store_cursor at = { 0 };
        for (const struct store_object *o; (o = store_next(t, &at));) {
            cleanup(arena_done) struct arena a = ARENA_INIT;
            struct json object;
            struct error err;
            if (!json_parse(&a, o->text, &object, &err))
                continue;
            check_owner(c, o, object);
            /* The server cannot store poisoned objects, so their status cannot be written. */
            if (!is_served(c, object) || sim_is_poison(o->name) ||
                json_present(json_get(object, "metadata.deletionTimestamp")))
                continue;
            check_told(c, o, object);
            sim_check_missing(s, object);
        }
    }
}

/* Generated names end in these five characters; the server truncates the prefix so that the name
 * fits into a label. */
static bool is_generated(const char *name)
{
    size_t length = strlen(name);
    return length > 6 && (name[length - 6] == '-' || length == 63) &&
           strspn(name + length - 5, "bcdfghjklmnpqrstvwxz2456789") == 5;
}

/* The end of a problem is reported only if the problem was: otherwise these conditions are
 * absent. */
static bool is_closed(struct json condition)
{
    static const struct {
        const char *type, *status, *reason;
    } closed[] = {
        { "Degraded", "False", "Superseded" },
        { "Progressing", "False", "Superseded" },
        { "VLLMSpecValid", "True", "ConfigValid" },
        { "SGLangSpecValid", "True", "ConfigValid" },
        { "TGISpecValid", "True", "ConfigValid" },
    };
    for (size_t i = 0; i < lengthof(closed); i++)
        if (text_eq(json_get_text(condition, "type"), closed[i].type) &&
            text_eq(json_get_text(condition, "status"), closed[i].status) &&
            text_eq(json_get_text(condition, "reason"), closed[i].reason))
            return true;
    return false;
}

/* Whether pods have it depends on the spec when they started, and it does not change later. */
#define GIVEN_AT_START "karpenter.sh/do-not-disrupt"

/* ToolHive's RunConfigs contain the generation, and annotations contain their checksum. */
static bool is_counted(const char *key)
{
    static const char *const keys[] = {
        SIM_TOOLHIVE "/mcpserver-generation",
        SIM_TOOLHIVE "/content-checksum",
        SIM_TOOLHIVE "/runconfig-checksum",
        "runconfig.json",
        "hmac-secret",
    };
    for (size_t i = 0; i < lengthof(keys); i++)
        if (text_eq(key, keys[i]))
            return true;
    return false;
}

/* Times, uids and generated names differ between runs; so do random keys, and generations, which
 * count a rival's edits. */
static struct json normal(struct arena *a, struct json v, const char *key)
{
    if (is_counted(key))
        return json_str("COUNTED");
    if (json_is(v, JSON_STR)) {
        bool is_time = v.count == 20 && v.string[10] == 'T' && v.string[19] == 'Z';
        bool is_uid = v.count == 36 && v.string[8] == '-' && v.string[23] == '-';
        return is_time                  ? json_str("TIME")
               : is_uid                 ? json_str("UID")
               : is_generated(v.string) ? json_str("GENERATED")
                                        : v;
    }
    if (text_eq(key, "observedGeneration") || text_eq(key, "generation"))
        return json_none;
    struct json_builder b;
    json_builder_init(&b, a);
    if (json_is(v, JSON_MAP)) {
        json_each_member (m, v)
            if (!text_eq(m->key, GIVEN_AT_START) || !text_eq(json_text(m->value), "true"))
                json_put(&b, m->key, normal(a, m->value, m->key));
        struct json map = json_map_end(&b);
        return text_eq(key, "annotations") ? json_or_absent(map) : map;
    }
    if (!json_is(v, JSON_LIST))
        return v;
    json_each (item, v)
        if (!is_closed(*item))
            json_push(&b, normal(a, *item, NULL));
    return json_list_end(&b);
}

const char *sim_end_state(struct sim *s, struct arena *a, bool same_world)
{
    struct buf lines = BUF_INIT((size_t)64 << 20);
    for (struct store_table *t = NULL; (t = store_table_next(s->store, t));) {
        if (is_housekeeping(store_table_name(t)))
            continue;
        struct store_cursor at = { 0 };
        for (const struct store_object *o; (o = store_next(t, &at));) {
            cleanup(arena_done) struct arena one = ARENA_INIT;
            struct json object;
            struct error err;
            if (!json_parse(&one, o->text, &object, &err))
                continue;
            const struct fieldset *ours = owned(&one, object);
            /* The claim that a namespace's Models share is kept for good after its first use. */
            if (fieldset_is_empty(ours) || text_eq(o->name, "llmkube-model-cache") ||
                sim_is_poison(o->name))
                continue;
            const struct schema *schema = schema_of_object(s->checks->schemas, object);
            struct json mine = typed_extract(&one, schema, object, ours, EXTRACT_KEYS);
            buf_printf(&lines,
                "%s %s/%s ",
                store_table_name(t),
                o->ns,
                is_generated(o->name) && !same_world ? "GENERATED" : o->name);
            json_print(&lines, same_world ? mine : normal(&one, mine, NULL));
            buf_add_char(&lines, '\n');
        }
    }
    char *text = arena_strdup(a, buf_text(&lines));
    buf_done(&lines);
    return text;
}
