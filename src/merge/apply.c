/* The algorithm of apply and update: compare, find conflicts, prune, transfer ownership. */

#include "merge/apply.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "merge/gojson.h"
#include "merge/typed.h"

struct run {
    struct arena *arena;
    const struct apply_request *request;
    struct managers managers;
};

/* ---- versions ---- */

/* NULL: this version no longer exists. */
static const struct schema *schema_at(const struct run *run, const char *api_version)
{
    const struct apply_request *r = run->request;
    if (text_eq(api_version, r->api_version))
        return r->schema;
    return r->versions ? r->versions->schema_of(r->versions->ctx, api_version) : NULL;
}

/* An object in the version with schema s. Conversion of custom objects changes no field, so it may
 * contain fields that this version does not know. */
static bool object_at(const struct run *run, const struct schema *s, struct json object,
    const char *api_version, struct json *ret, struct error *err)
{
    const struct apply_versions *v = run->request->versions;
    *ret = object;
    if (text_eq(json_text(json_member(object, "apiVersion")), api_version))
        return true;
    if (v && v->convert)
        *ret = v->convert(v->ctx, run->arena, object, api_version);
    else if (json_is(object, JSON_MAP))
        *ret = json_with_member(run->arena, object, "apiVersion", json_str(api_version));
    return typed_validate(s, *ret, true, err);
}

static const struct fieldset *without_reset(const struct run *run, const struct fieldset *set)
{
    const struct fieldset *reset = run->request->reset;
    return reset ? fieldset_difference_below(run->arena, set, reset) : set;
}

static bool compare_at(const struct run *run, const struct schema *s, struct json before,
    struct json after, const char *api_version, struct typed_comparison *ret, struct error *err)
{
    struct arena *a = run->arena;
    if (!object_at(run, s, before, api_version, &before, err))
        return fail_in(err, "failed to convert old object");
    if (!object_at(run, s, after, api_version, &after, err))
        return fail_in(err, "failed to convert new object");
    struct typed_comparison c = typed_compare(a, s, before, after);
    const struct apply_request *r = run->request;
    *ret = c;
    if (r->versions && r->versions->resets_own && !text_eq(api_version, r->api_version))
        return true;
    *ret = (struct typed_comparison){
        .removed = without_reset(run, c.removed),
        .modified = without_reset(run, c.modified),
        .added = without_reset(run, c.added),
    };
    return true;
}

/* Updates sets that are older than the schema; drops entries of versions that no longer exist. */
static bool reconcile_sets(struct run *run, struct json live, struct error *err)
{
    for (size_t i = run->managers.count; i-- > 0;) {
        struct managers_entry *e = &run->managers.entries[i];
        const struct schema *s = schema_at(run, e->api_version);
        struct json ignored;
        const struct apply_versions *v = run->request->versions;
        if (!s && v && v->missing)
            return fail(err, ERR_INVALID, "%s: %s", v->missing, e->api_version);
        const char *slash = strchr(e->api_version, '/');
        if (!s && slash && strchr(slash + 1, '/'))
            return fail(err, ERR_INVALID, "unexpected GroupVersion string: %s", e->api_version);
        if (s && !object_at(run, s, live, e->api_version, &ignored, err))
            return false;
        if (s)
            e->set = typed_set_reconciled(run->arena, s, e->set);
        else
            managers_delete(&run->managers, e);
    }
    return true;
}

/* ---- transfer of ownership ---- */

struct conflict_list {
    struct apply_conflict *items;
    size_t count;
};

static void add_conflicts(struct run *run, struct conflict_list *list,
    const struct managers_entry *e, const struct fieldset *set)
{
    size_t count;
    const struct field_path *paths = fieldset_paths(run->arena, set, &count);
    struct apply_conflict *items = arena_array(run->arena, list->count + count, sizeof(*items));
    if (list->count)
        memcpy(items, list->items, list->count * sizeof(*items));
    for (size_t i = 0; i < count; i++)
        items[list->count + i] = (struct apply_conflict){
            .owner = managers_entry_text(run->arena, e),
            .path = paths[i],
            .text = field_path_text(run->arena, &paths[i]),
        };
    list->items = items;
    list->count += count;
}

static int compare_identities(const void *left, const void *right)
{
    return managers_compare_identity(left, right);
}

/* Removes fields that changed between two objects from the sets of all managers but self (NULL: of
 * all). With a list, changed fields that others own are added to it instead, and no ownership
 * changes. */
static bool hand_over(struct run *run, struct json before, struct json after,
    const struct managers_entry *self, struct conflict_list *conflicts, struct error *err)
{
    struct managers *m = &run->managers;
    if (m->count > 1)
        qsort(m->entries, m->count, sizeof(*m->entries), compare_identities);
    for (size_t i = 0; i < m->count; i++) {
        struct managers_entry *e = &m->entries[i];
        const struct schema *s = schema_at(run, e->api_version);
        if (!s || (self && managers_compare_identity(e, self) == 0))
            continue;
        struct typed_comparison c;
        if (!compare_at(run, s, before, after, e->api_version, &c, err))
            return false;
        const struct fieldset *changed = fieldset_union(run->arena, c.modified, c.added);
        const struct fieldset *taken = fieldset_intersection(run->arena, e->set, changed);
        if (conflicts) {
            add_conflicts(run, conflicts, e, taken);
            continue;
        }
        e->set = fieldset_difference(run->arena, e->set, taken);
        e->set = fieldset_difference(run->arena, e->set, c.removed);
    }
    if (!conflicts)
        managers_delete_empty(m);
    return true;
}

/* ---- pruning ---- */

/* Members, and the declared fields above them. */
static const struct fieldset *fields_of(
    const struct run *run, const struct schema *s, struct json object)
{
    return typed_set_with_fields(run->arena, s, typed_set(run->arena, s, object));
}

static const struct fieldset *owned_at(const struct run *run, const char *api_version)
{
    const struct fieldset *all = fieldset_empty();
    for (size_t i = 0; i < run->managers.count; i++)
        if (text_eq(run->managers.entries[i].api_version, api_version))
            all = fieldset_union(run->arena, all, run->managers.entries[i].set);
    return all;
}

/* The pruned object, with fields restored that any manager owns at this version. */
static bool add_back_owned(const struct run *run, struct json merged, struct json *pruned,
    const char *api_version, struct error *err)
{
    struct arena *a = run->arena;
    const struct schema *s = schema_at(run, api_version);
    if (!s)
        return true;
    if (!object_at(run, s, merged, api_version, &merged, err))
        return fail_in(err, "failed to convert merged object at version %s", api_version);
    if (!object_at(run, s, *pruned, api_version, pruned, err))
        return fail_in(err, "failed to convert pruned object at version %s", api_version);
    const struct fieldset *owned = typed_set_with_fields(a, s, owned_at(run, api_version));
    const struct fieldset *kept = fieldset_union(a, fields_of(run, s, *pruned), owned);
    *pruned = typed_remove(a, s, merged, fieldset_difference(a, fields_of(run, s, merged), kept));
    return true;
}

/* The same for all versions, beginning with last's. */
static bool add_back_all(const struct run *run, struct json all, struct json *pruned,
    const struct managers_entry *last, struct error *err)
{
    if (!add_back_owned(run, all, pruned, last->api_version, err))
        return false;
    for (size_t i = 0; i < run->managers.count; i++) {
        const char *version = run->managers.entries[i].api_version;
        bool again = text_eq(version, last->api_version);
        for (size_t j = 0; j < i && !again; j++)
            again = text_eq(version, run->managers.entries[j].api_version);
        if (!again && !add_back_owned(run, all, pruned, version, err))
            return false;
    }
    return true;
}

/* Removes fields that the manager applied last time and that now have no owner. */
static bool prune(const struct run *run, struct json *object, const struct managers_entry *last,
    struct error *err)
{
    struct arena *a = run->arena;
    const struct apply_request *r = run->request;
    const struct schema *s = schema_at(run, last->api_version);
    struct json all;
    if (!s || fieldset_is_empty(last->set))
        return true;
    if (!object_at(run, s, *object, last->api_version, &all, err))
        return fail_in(err, "failed to convert merged object to last applied version");
    const struct fieldset *was = typed_set_with_fields(a, s, last->set);
    struct json pruned = typed_remove(a, s, all, was);
    if (!add_back_all(run, all, &pruned, last, err))
        return fail_in(err, "failed add back owned items");
    /* Only fields that the manager owned may be removed: items inside a removed parent that it
     * never owned are restored. */
    if (!object_at(run, s, pruned, last->api_version, &pruned, err))
        return fail_in(err, "failed add back dangling items");
    const struct fieldset *gone =
        fieldset_difference(a, fields_of(run, s, all), fields_of(run, s, pruned));
    pruned = typed_remove(a, s, all, fieldset_intersection(a, gone, was));
    return object_at(run, r->schema, pruned, r->api_version, object, err);
}

/* ---- update ---- */

static const char *manager_name(const struct apply_request *r)
{
    return text_empty(r->manager) ? "unknown" : r->manager;
}

/* The writer gets the changed fields; all managers lose the removed ones. */
static bool track_update(
    struct run *run, const char *manager, struct json before, struct json after, struct error *err)
{
    const struct apply_request *r = run->request;
    if (!typed_validate(r->schema, after, true, err) ||
        !typed_validate(r->schema, before, true, err))
        return false;
    struct typed_comparison c;
    if (!reconcile_sets(run, before, err) || !hand_over(run, before, after, NULL, NULL, err) ||
        !compare_at(run, r->schema, before, after, r->api_version, &c, err))
        return false;
    struct managers_entry self = {
        .manager = manager,
        .api_version = r->api_version,
        .subresource = r->subresource ? r->subresource : "",
        .time = r->now,
        .set = managers_strip(run->arena, fieldset_union(run->arena, c.modified, c.added)),
    };
    if (!fieldset_is_empty(self.set)) {
        struct managers_entry *previous = managers_find(&run->managers, &self);
        if (previous) {
            self.set = fieldset_union(run->arena, self.set, previous->set);
            *previous = self;
        } else {
            managers_add(&run->managers, self);
        }
    }
    managers_cap(&run->managers);
    return true;
}

static struct json with_owners(struct arena *a, struct json object, const struct managers *m)
{
    return json_with(a, object, "metadata.managedFields", managers_encode(m));
}

/* A client that ignores managedFields must not delete them; one that sends an empty list does so on
 * purpose. A subresource never changes them. */
static void decode_live_or_new(
    struct run *run, struct json live, struct json object, bool subresource)
{
    struct json mine = json_get(object, "metadata.managedFields");
    struct error err;
    run->managers = (struct managers){ .arena = run->arena };
    if (!subresource && managers_is_reset(mine))
        return;
    if (!subresource && managers_decode(run->arena, mine, &run->managers, &err) &&
        run->managers.count)
        return;
    if (!managers_decode(
            run->arena, json_get(live, "metadata.managedFields"), &run->managers, &err))
        run->managers = (struct managers){ .arena = run->arena };
}

bool apply_update(struct arena *a, const struct apply_request *r, struct json live,
    struct json object, struct json *ret, struct error *err)
{
    struct run run = { .arena = a, .request = r };
    decode_live_or_new(&run, live, object, !text_empty(r->subresource));
    *ret = json_with(a, object, "metadata.managedFields", json_none);
    /* An object without owners stays without them until the first apply. */
    if (!run.managers.count && json_present(json_get(live, "metadata.uid")))
        return true;
    struct json before = live;
    if (!json_present(live))
        before = json_with_member(
            a, schema_empty_object(a, r->schema), "apiVersion", json_str(r->api_version));
    if (!track_update(&run, manager_name(r), before, *ret, err))
        return false;
    *ret = with_owners(a, *ret, &run.managers);
    return true;
}

/* ---- apply ---- */

const char *apply_conflict_message(struct arena *a, const struct apply_result *result)
{
    const struct apply_conflict *c = result->conflicts;
    if (result->conflict_count == 1)
        return arena_printf(
            a, "Apply failed with 1 conflict: conflict with %s: %s", c->owner, c->text);
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)16 << 20);
    buf_printf(&b, "Apply failed with %zu conflicts: ", result->conflict_count);
    for (size_t i = 0; i < result->conflict_count; i++) {
        if (!i || !text_eq(c[i].owner, c[i - 1].owner))
            buf_printf(&b, "%sconflicts with %s:", i ? "\n" : "", c[i].owner);
        buf_printf(&b, "\n- %s", c[i].text);
    }
    return arena_strdup(a, buf_text(&b));
}

static bool fail_conflicts(
    struct arena *a, const struct conflict_list *list, struct apply_result *ret, struct error *err)
{
    ret->conflicts = list->items;
    ret->conflict_count = list->count;
    return fail(err, ERR_CONFLICT, "%s", apply_conflict_message(a, ret));
}

static bool check_config(const struct apply_request *r, struct json config, struct error *err)
{
    const char *version = json_get_text(config, "apiVersion");
    if (!text_eq(version, r->api_version))
        return fail(err,
            ERR_INVALID,
            "Incorrect version specified in apply patch. Specified patch version: %s, expected: %s",
            version ? version : "",
            r->api_version);
    if (managers_readable(json_get(config, "metadata.managedFields")))
        return fail(err, ERR_INVALID, "metadata.managedFields must be nil");
    return typed_validate(r->schema, config, false, err) ||
           fail_in(err, "failed to create typed patch object");
}

/* For an object that was not tracked yet: the manager before-first-apply gets all fields. */
static bool track_first(struct run *run, struct json live, struct error *err)
{
    const struct apply_request *r = run->request;
    if (run->managers.count)
        return true;
    struct json head = json_map(run->arena,
        { "apiVersion", json_member(live, "apiVersion") },
        { "kind", json_member(live, "kind") });
    struct json empty = json_overlay(run->arena, schema_empty_object(run->arena, r->schema), head);
    struct json bare = json_with(run->arena, live, "metadata.managedFields", json_none);
    return track_update(run, "before-first-apply", empty, bare, err);
}

static bool apply_merged(struct run *run, struct json live, struct json config,
    struct apply_result *ret, struct error *err)
{
    struct arena *a = run->arena;
    const struct apply_request *r = run->request;
    struct managers_entry self = {
        .manager = manager_name(r),
        .api_version = r->api_version,
        .subresource = r->subresource ? r->subresource : "",
        .applies = true,
        .set = without_reset(run, typed_set(a, r->schema, config)),
    };
    struct managers_entry *mine = managers_find(&run->managers, &self);
    struct managers_entry last = mine ? *mine : (struct managers_entry){ .set = fieldset_empty() };
    self.time = last.time;
    if (!mine && run->managers.count + MANAGERS_UPDATES_MAX + 1 >= MANAGERS_MAX)
        return fail(err,
            ERR_INVALID,
            "%zu managers own fields of the object: take some entries out of its managedFields",
            run->managers.count);
    if (mine)
        *mine = self;
    else
        managers_add(&run->managers, self);
    struct json object = typed_merge(a, r->schema, live, config);
    if (mine && !prune(run, &object, &last, err))
        return fail_in(err, "failed to prune fields");
    struct conflict_list conflicts = { 0 };
    if (!r->force && !hand_over(run, live, object, &self, &conflicts, err))
        return false;
    if (conflicts.count)
        return fail_conflicts(a, &conflicts, ret, err);
    if (!hand_over(run, live, object, &self, NULL, err))
        return false;
    ret->same = json_equal(live, object);
    mine = managers_find(&run->managers, &self);
    if (mine) {
        mine->set = managers_strip(a, mine->set);
        if (!ret->same)
            mine->time = r->now;
        managers_delete_empty(&run->managers);
    }
    ret->object = with_owners(a, object, &run->managers);
    return true;
}

static bool apply_once(struct arena *a, const struct apply_request *r, struct json live,
    struct json config, struct apply_result *ret, struct error *err)
{
    struct run run = { .arena = a, .request = r };
    *ret = (struct apply_result){ 0 };
    if (!managers_decode(a, json_get(live, "metadata.managedFields"), &run.managers, err))
        return fail_in(err, "failed to decode managed fields");
    if (!check_config(r, config, err))
        return false;
    if (!typed_validate(r->schema, live, true, err))
        return fail_in(err, "failed to create typed live object");
    if (!track_first(&run, live, err))
        return fail_in(err, "failed to create manager for existing fields");
    return reconcile_sets(&run, live, err) && apply_merged(&run, live, config, ret, err);
}

/* ---- kubectl, which may have applied the object on the client side before ---- */

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

static const char *last_applied(struct json object)
{
    return json_text(json_member(json_get(object, "metadata.annotations"), LAST_APPLIED));
}

/* Fields that kubectl applied on the client side and that have not changed since. They count as
 * owned by the caller. Empty if that is unknown. */
static const struct fieldset *applied_before(
    struct arena *a, const struct apply_request *r, struct json live)
{
    const char *text = last_applied(live);
    struct json config;
    struct error err;
    bool usable = text && json_parse(a, str_of(text), &config, &err) &&
                  text_eq(json_get_text(config, "apiVersion"), r->api_version) &&
                  typed_validate(r->schema, config, false, &err) &&
                  typed_validate(r->schema, live, false, &err);
    if (!usable)
        return fieldset_empty();
    struct typed_comparison c = typed_compare(a, r->schema, config, live);
    const struct fieldset *set = typed_set(a, r->schema, config);
    set = fieldset_difference(a, set, c.modified);
    set = fieldset_difference(a, set, c.added);
    return fieldset_difference(a, set, c.removed);
}

/* Drops conflicts over those fields. */
static bool settle_conflicts(struct arena *a, const struct apply_request *r, struct json live,
    struct json config, struct apply_result *ret, struct error *err)
{
    const struct fieldset *ours = applied_before(a, r, live);
    struct conflict_list left = { 0 };
    left.items = arena_array(a, ret->conflict_count, sizeof(*left.items));
    for (size_t i = 0; i < ret->conflict_count; i++)
        if (!fieldset_has(ours, &ret->conflicts[i].path))
            left.items[left.count++] = ret->conflicts[i];
    if (left.count)
        return fail_conflicts(a, &left, ret, err);
    struct apply_request forced = *r;
    forced.force = true;
    return apply_once(a, &forced, live, config, ret, err);
}

/* Updates the annotation if it exists; no manager gets to own it. */
static void renew_last_applied(struct arena *a, struct json config, struct apply_result *ret)
{
    if (text_empty(last_applied(ret->object)))
        return;
    struct json annotations = json_get(config, "metadata.annotations");
    if (json_present(annotations))
        config = json_with(a,
            config,
            "metadata.annotations",
            json_with_member(a, annotations, LAST_APPLIED, json_none));
    const char *text = arena_printf(a, "%s\n", gojson_text(a, config));
    annotations = json_get(ret->object, "metadata.annotations");
    ret->object = json_with(a,
        ret->object,
        "metadata.annotations",
        json_with_member(a, annotations, LAST_APPLIED, json_str(text)));
}

bool apply_config(struct arena *a, const struct apply_request *r, struct json live,
    struct json config, struct apply_result *ret, struct error *err)
{
    if (!json_present(live))
        live = schema_empty_object(a, r->schema);
    bool kubectl = text_eq(r->manager, "kubectl");
    struct error why;
    bool ok = apply_once(a, r, live, config, ret, &why);
    if (!ok && kubectl && ret->conflict_count)
        ok = settle_conflicts(a, r, live, config, ret, &why);
    if (!ok) {
        if (err)
            *err = why;
        return false;
    }
    if (kubectl)
        renew_last_applied(a, config, ret);
    return true;
}
