/* The history of a StatefulSet: `kubectl rollout undo` patches the set with a revision's
 * content. */

#include "kinds/workloads/stateful_set.h"

#include <stdlib.h>

#include "base/selector.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/workloads/workloads.h"

#define HASH "controller.kubernetes.io/hash"
#define COLLISIONS_MAX 100
/* How many old ones one pass deletes or adopts. */
#define STEP_MAX 8

static int64_t number(struct json revision)
{
    return json_get_int(revision, "revision", 0);
}

static int by_number(const void *left, const void *right)
{
    struct json a = *(const struct json *)left, b = *(const struct json *)right;
    if (number(a) != number(b))
        return number(a) < number(b) ? -1 : 1;
    int64_t a_ms = workloads_time_ms(a, "metadata.creationTimestamp");
    int64_t b_ms = workloads_time_ms(b, "metadata.creationTimestamp");
    if (a_ms != b_ms)
        return a_ms < b_ms ? -1 : 1;
    return json_compare(json_get(a, "metadata.name"), json_get(b, "metadata.name"));
}

/* A strategic merge patch that restores the template. */
static struct json data_of(struct arena *a, struct json tmpl)
{
    return json_fields(
        a, { "spec.template", json_with_member(a, tmpl, "$patch", json_str("replace")) });
}

static struct json template_of(struct arena *a, struct json revision)
{
    return json_with_member(a, json_get(revision, "data.spec.template"), "$patch", json_none);
}

/* Includes all fields that we own: an object that was applied before keeps everything but the
 * change. */
static void plan_revision(
    const struct view *in, struct plan *out, struct json revision, int64_t new_number)
{
    const char *name = json_get_text(revision, "metadata.name");
    struct json ours = view_owned(in, &WORKLOADS_REVISION, name);
    ours = json_is(ours, JSON_MAP) ? ours : json_empty_map();
    ours = json_with(in->arena, ours, "metadata.name", json_str(name));
    ours = json_with(in->arena, ours, "data", json_get(revision, "data"));
    plan_child(out,
        &WORKLOADS_REVISION,
        json_with_member(in->arena, ours, "revision", json_int(new_number)));
    plan_orphan(out);
}

static void find(
    const struct view *in, const struct selector *selector, struct stateful_revisions *r)
{
    const char *uid = json_get_text(in->object, "metadata.uid");
    struct json all = view_list(in, &WORKLOADS_REVISION, view_namespace(in), NULL);
    r->items = arena_array(in->arena, all.count + 1, sizeof(*r->items));
    json_each (revision, all) {
        const char *owner = workloads_controller(*revision);
        bool going = json_present(json_get(*revision, "metadata.deletionTimestamp"));
        if ((owner ? text_eq(owner, uid) : !going) &&
            selector_matches(selector, json_get(*revision, "metadata.labels")))
            r->items[r->count++] = *revision;
    }
    if (r->count)
        qsort(r->items, r->count, sizeof(*r->items), by_number);
}

/* Under an unused name. */
static void add(
    const struct view *in, struct plan *out, struct stateful_revisions *r, int64_t new_number)
{
    struct arena *a = in->arena;
    struct json tmpl = json_get(in->object, "spec.template"), data = data_of(a, tmpl);
    const char *text = json_to_text(a, data), *hash;
    do {
        hash = workloads_hash(
            a, r->collisions ? arena_printf(a, "%s%lld", text, (long long)r->collisions) : text);
        r->update = arena_printf(a, "%s-%s", view_name(in), hash);
    } while (json_present(view_get(in, &WORKLOADS_REVISION, r->update)) &&
             ++r->collisions < COLLISIONS_MAX);
    struct view_trouble t = view_trouble(in, &WORKLOADS_REVISION, r->update);
    r->failure = t.what == TROUBLE_REFUSED ? t.message : NULL;
    struct json labels =
        json_overlay(a, json_get(tmpl, "metadata.labels"), json_map(a, { HASH, json_str(hash) }));
    plan_child(out,
        &WORKLOADS_REVISION,
        json_fields(a,
            { "metadata.name", json_str(r->update) },
            { "metadata.labels", labels },
            { "metadata.annotations",
                json_or_absent(json_get(in->object, "metadata.annotations")) },
            { "data", data },
            { "revision", json_int(new_number) }));
}

void stateful_revisions_find(const struct view *in, struct plan *out,
    const struct selector *selector, struct stateful_revisions *ret)
{
    struct arena *a = in->arena;
    struct stateful_revisions r = {
        .collisions = json_get_int(in->object, "status.collisionCount", 0),
        .update_template = json_get(in->object, "spec.template"),
    };
    find(in, selector, &r);
    struct json wanted = data_of(a, r.update_template), found = { 0 };
    int64_t highest = r.count ? number(r.items[r.count - 1]) : 0;
    for (size_t i = 0; i < r.count; i++)
        if (json_equal(json_get(r.items[i], "data"), wanted))
            found = r.items[i];
    r.update = json_get_text(found, "metadata.name");
    if (!r.update)
        add(in, out, &r, highest + 1);
    bool comes_back = r.count && !json_equal(json_get(r.items[r.count - 1], "data"), wanted);
    for (size_t i = 0; i < r.count && out->child_count < STEP_MAX; i++) {
        bool bump = comes_back && text_eq(json_get_text(r.items[i], "metadata.name"), r.update);
        if (bump || !workloads_controller(r.items[i]))
            plan_revision(in, out, r.items[i], bump ? highest + 1 : number(r.items[i]));
    }
    const char *before = json_get_text(in->object, "status.currentRevision");
    r.current = r.update;
    r.current_template = r.update_template;
    for (size_t i = 0; i < r.count; i++)
        if (text_eq(json_get_text(r.items[i], "metadata.name"), before)) {
            r.current = before;
            r.current_template = template_of(a, r.items[i]);
        }
    *ret = r;
}

void stateful_revisions_forget(
    const struct view *in, struct plan *out, const struct stateful_revisions *r, struct json used)
{
    int64_t limit = json_get_int(in->object, "spec.revisionHistoryLimit", 10), old = 0;
    const char **names = arena_array(in->arena, r->count + 1, sizeof(*names));
    for (size_t i = 0; i < r->count; i++) {
        const char *name = json_get_text(r->items[i], "metadata.name");
        if (!text_eq(name, r->current) && !text_eq(name, r->update) && !json_list_has(used, name))
            names[old++] = name;
    }
    for (int64_t i = 0; limit >= 0 && i < old - limit && i < STEP_MAX; i++)
        plan_absent(out, &WORKLOADS_REVISION, names[i]);
}
