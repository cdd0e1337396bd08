/* Pod-level resources, which the containers share. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/check.h"

struct quantity pod_amount(struct json amounts, const char *name)
{
    struct quantity q = { 0 };
    const char *text = json_text(json_member(amounts, name));
    return text && quantity_parse(str_of(text), &q, NULL) ? q : (struct quantity){ 0 };
}

struct quantity pod_containers_sum(struct json spec, const char *part, const char *resource)
{
    struct quantity sum = { 0 }, most = { 0 }, beside = { 0 };
    json_each (c, json_member(spec, "containers"))
        sum =
            quantity_plus(sum, pod_amount(json_get(json_member(*c, "resources"), part), resource));
    json_each (c, json_member(spec, "initContainers")) {
        struct quantity q = pod_amount(json_get(json_member(*c, "resources"), part), resource);
        if (text_eq(json_get_text(*c, "restartPolicy"), "Always")) {
            sum = quantity_plus(sum, q);
            q = beside = quantity_plus(beside, q);
        } else {
            q = quantity_plus(q, beside);
        }
        most = quantity_larger(most, q);
    }
    return quantity_larger(sum, most);
}

static bool is_huge(const char *name)
{
    return text_starts(name, "hugepages-");
}

static bool is_shared(const char *name)
{
    return text_eq(name, "cpu") || text_eq(name, "memory") || is_huge(name);
}

/* ---- defaults ---- */

struct json pod_level_fill(struct arena *a, struct json spec)
{
    static const char *const names[] = { "cpu", "memory" };
    struct json whole = json_member(spec, "resources"), limits = json_member(whole, "limits"),
                requests = json_member(whole, "requests");
    if (!limits.count && !requests.count)
        return spec;
    if (!check_is_set(requests))
        requests = json_empty_map();
    for (size_t i = 0; i < lengthof(names); i++) {
        struct quantity sum = pod_containers_sum(spec, "requests", names[i]);
        if (sum.value && !json_present(json_member(requests, names[i])))
            requests = json_with_member(a, requests, names[i], json_str(quantity_to_text(a, sum)));
    }
    json_each_member (m, limits)
        if (is_shared(m->key) && !json_present(json_member(requests, m->key)))
            requests = json_with_member(a, requests, m->key, m->value);
    return json_with_member(a, spec, "resources", json_with_member(a, whole, "requests", requests));
}

/* ---- validation ---- */

/* Returns the resources that are supported at the pod level; others are reported. */
static struct json check_names(struct field_errors *e, struct json amounts, const char *path)
{
    static const char *const allowed[] = { "cpu", "hugepages-", "memory", NULL };
    struct json_builder b;
    json_builder_init(&b, e->arena);
    json_each_member (m, amounts) {
        const char *here = field_key(e->arena, path, m->key);
        bool plain = text_eq(m->key, "ephemeral-storage") || text_eq(m->key, "storage");
        if (is_shared(m->key))
            json_put(&b, m->key, m->value);
        else if (plain || strchr(m->key, '/'))
            check_enum(e, json_str(m->key), here, allowed);
        else
            field_invalid(
                e, here, json_str(m->key), "must be a standard resource type or fully qualified");
    }
    return json_map_end(&b);
}

static void check_sums(struct field_errors *e, struct json spec, const char *part, const char *path)
{
    bool limits = text_eq(part, "limits");
    const char *here = field_child(e->arena, path, part);
    json_each_member (m, json_get(json_member(spec, "resources"), part)) {
        struct quantity own, sum = pod_containers_sum(spec, part, m->key);
        if (sum.value && is_shared(m->key) && (!limits || is_huge(m->key)) &&
            quantity_parse(str_of(json_text(m->value)), &own, NULL) &&
            quantity_compare(own, sum) < 0)
            field_invalid(e,
                field_key(e->arena, here, m->key),
                m->value,
                arena_printf(e->arena,
                    "must be greater than or equal to aggregate container %s of %s",
                    part,
                    quantity_to_text(e->arena, sum)));
    }
}

static void check_containers(
    struct field_errors *e, struct json spec, struct json limits, const char *path)
{
    size_t i = 0;
    json_each (c, json_member(spec, "containers")) {
        const char *here = check_item_path(e->arena, path, "containers", i++);
        json_each_member (m, json_get(*c, "resources.limits")) {
            struct json whole = json_member(limits, m->key);
            if (json_present(whole) &&
                quantity_compare(pod_amount(limits, m->key),
                    pod_amount(json_get(*c, "resources.limits"), m->key)) < 0)
                field_invalid(e,
                    field_child(e->arena, field_key(e->arena, here, m->key), "limits"),
                    m->value,
                    arena_printf(e->arena,
                        "must be less than or equal to pod limits of %s",
                        json_text(whole)));
        }
    }
}

void pod_level_check(struct field_errors *e, struct json spec, const char *path)
{
    struct json whole = json_member(spec, "resources");
    const char *here = field_child(e->arena, path, "resources");
    if (!check_is_set(whole))
        return;
    if (text_eq(json_get_text(spec, "os.name"), "windows")) {
        field_forbidden(e, here, "may not be set for a windows pod");
        return;
    }
    if (json_member(whole, "claims").count)
        field_forbidden(e,
            field_child(e->arena, here, "claims"),
            "claims may not be set for Resources at pod-level");
    struct json limits = check_names(
                    e, json_member(whole, "limits"), field_child(e->arena, here, "limits")),
                requests = check_names(
                    e, json_member(whole, "requests"), field_child(e->arena, here, "requests"));
    pod_resources_check(
        e, json_map(e->arena, { "limits", limits }, { "requests", requests }), here);
    check_sums(e, spec, "requests", here);
    check_sums(e, spec, "limits", here);
    check_containers(e, spec, limits, here);
}
