#include "engine/status.h"

#include "base/time.h"
#include "engine/plan.h"

static struct json complete_condition(
    struct arena *a, const struct plan_condition *c, const struct status_input *in)
{
    const char *value = c->unknown ? "Unknown" : c->status ? "True" : "False";
    struct json before = json_find(json_get(in->live, "conditions"), "type", c->type);
    const char *since = json_get_text(before, "lastTransitionTime");
    if (!since || !text_eq(json_get_text(before, "status"), value))
        since = time_format(a, in->now_ms);
    return json_fields(a,
        { "type", json_str(c->type) },
        { "status", json_str(value) },
        { "reason", json_str(c->reason) },
        { "message", json_str(c->message) },
        { "lastTransitionTime", json_str(since) },
        { "observedGeneration", json_int_or_absent(in->generation) });
}

/* Sorts conditions by type: their order in the plan must not matter. */
static struct json complete_conditions(
    struct arena *a, const struct plan *p, const struct status_input *in)
{
    struct json_builder by_type;
    json_builder_init(&by_type, a);
    for (size_t i = 0; i < p->condition_count; i++)
        json_put(&by_type, p->conditions[i].type, complete_condition(a, &p->conditions[i], in));
    struct json_builder list;
    json_builder_init(&list, a);
    struct json map = json_map_end(&by_type);
    json_each_member (m, map)
        json_push(&list, m->value);
    return json_or_absent(json_list_end(&list));
}

static struct json fit(const struct status_input *in, struct json status)
{
    return in->fit ? in->fit(in->ctx, status) : status;
}

static struct json without_condition(
    struct arena *a, struct json conditions, const char *type, struct json instead)
{
    struct json_builder list;
    json_builder_init(&list, a);
    json_each (c, conditions)
        json_push(&list, text_eq(json_get_text(*c, "type"), type) ? instead : *c);
    return json_or_absent(json_list_end(&list));
}

/* Leaves out a field that exists and is not ours, because the other program wrote it. The other
 * program may have written only a part of a condition; the fields of it that we still own are kept,
 * because otherwise they would be deleted. They are copied, because the cache may drop them while
 * the write is in flight. */
static struct json yield(
    struct arena *a, const struct status_input *in, struct json status, const char *name)
{
    static const char *const parts[] = { "status", "reason", "message" };
    if (json_present(json_member(in->live, name)))
        return json_present(json_member(in->owned, name))
                   ? status
                   : json_with_member(a, status, name, json_none);
    struct json live = json_find(json_get(in->live, "conditions"), "type", name);
    struct json owned = json_find(json_get(in->owned, "conditions"), "type", name);
    bool taken = false;
    for (size_t i = 0; i < lengthof(parts); i++)
        taken |= json_present(json_member(live, parts[i])) &&
                 !json_present(json_member(owned, parts[i]));
    if (!taken)
        return status;
    return json_with_member(a,
        status,
        "conditions",
        without_condition(a, json_get(status, "conditions"), name, json_copy(a, owned)));
}

struct json status_complete(struct arena *a, const struct plan *p, const struct status_input *in)
{
    struct json status = json_is(p->status, JSON_MAP) ? p->status : json_empty_map();
    if (!json_present(json_member(status, "conditions")))
        status = json_with_member(a, status, "conditions", complete_conditions(a, p, in));
    for (size_t i = 0; i < p->yielded_count; i++)
        status = yield(a, in, status, p->yielded[i]);
    status = fit(in, status);
    if (!p->stamp)
        return status;
    const char *stamp = json_get_text(in->owned, p->stamp);
    struct json rest = json_with_member(a, in->owned, p->stamp, json_none);
    if (!stamp || !json_equal(rest, status))
        stamp = time_format(a, in->now_ms);
    return fit(in, json_with_member(a, status, p->stamp, json_str(stamp)));
}
