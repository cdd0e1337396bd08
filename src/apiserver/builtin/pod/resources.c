/* Validates the resources of a container: amounts, and the resize policy. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/check.h"
#include "base/quantity.h"

/* ---- amounts ---- */

static bool is_native(const char *name)
{
    return !strchr(name, '/') || strstr(name, "kubernetes.io/");
}

static bool is_of_containers(const char *name)
{
    return text_eq(name, "cpu") || text_eq(name, "memory") || text_eq(name, "ephemeral-storage") ||
           text_starts(name, "hugepages-");
}

/* Names with a meaning elsewhere, such as in quotas. */
static bool is_standard(const char *name)
{
    static const char *const others[] = { "configmaps",
        "limits.cpu",
        "limits.ephemeral-storage",
        "limits.memory",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "requests.cpu",
        "requests.ephemeral-storage",
        "requests.memory",
        "requests.storage",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
        "storage" };
    for (size_t i = 0; i < lengthof(others); i++)
        if (text_eq(name, others[i]))
            return true;
    return is_of_containers(name) || text_starts(name, "requests.hugepages-");
}

static void check_resource_name(struct field_errors *e, const char *name, const char *path)
{
    size_t before = e->count;
    check_name(e, json_str(name), path, NAME_LABEL_KEY);
    bool sound = e->count == before;
    if (strchr(name, '/')) {
        if (!is_native(name) && (!sound || text_starts(name, "requests.")))
            field_invalid(
                e, path, json_str(name), "doesn't follow extended resource name standard");
        return;
    }
    if (sound && !is_standard(name))
        field_invalid(
            e, path, json_str(name), "must be a standard resource type or fully qualified");
    if (!is_of_containers(name))
        field_invalid(e, path, json_str(name), "must be a standard resource for containers");
}

/* A whole number of pages of the size in the name. */
static bool is_in_pages(const char *name, struct quantity amount)
{
    struct quantity page;
    if (!quantity_parse(str_of(name + strlen("hugepages-")), &page, NULL))
        return false;
    int64_t size = quantity_value(page);
    return size > 0 && quantity_milli_value(amount) % 1000 == 0 &&
           quantity_value(amount) % size == 0;
}

static void check_resource(struct field_errors *e, const struct json_member *m, const char *path)
{
    const char *here = field_key(e->arena, path, m->key);
    struct quantity q;
    check_resource_name(e, m->key, here);
    bool sound = check_quantity(e, m->value, here);
    if (!quantity_parse(str_of(json_text(m->value)), &q, NULL))
        return;
    if (!is_native(m->key) && quantity_milli_value(q) % 1000)
        field_invalid(e, here, m->value, "must be an integer");
    if (sound && text_starts(m->key, "hugepages-") && !is_in_pages(m->key, q))
        field_invalid(e,
            here,
            m->value,
            arena_printf(e->arena,
                "%s is not positive integer multiple of %s",
                json_text(m->value),
                m->key));
}

void pod_resources_check(struct field_errors *e, struct json resources, const char *path)
{
    struct json limits = json_member(resources, "limits"),
                requests = json_member(resources, "requests");
    const char *limits_path = field_child(e->arena, path, "limits");
    const char *requests_path = field_child(e->arena, path, "requests");
    bool has_cpu_or_memory = false, has_huge_pages = false;
    json_each_member (m, limits) {
        check_resource(e, m, limits_path);
        has_huge_pages |= text_starts(m->key, "hugepages-");
        has_cpu_or_memory |= text_eq(m->key, "cpu") || text_eq(m->key, "memory");
    }
    json_each_member (m, requests) {
        check_resource(e, m, requests_path);
        has_huge_pages |= text_starts(m->key, "hugepages-");
        has_cpu_or_memory |= text_eq(m->key, "cpu") || text_eq(m->key, "memory");
        struct json limit = json_member(limits, m->key);
        struct quantity q, l;
        if (!json_present(limit)) {
            if (!is_native(m->key) || text_starts(m->key, "hugepages-"))
                field_required(
                    e, limits_path, "Limit must be set for non overcommitable resources");
            continue;
        }
        if (!quantity_parse(str_of(json_text(m->value)), &q, NULL) ||
            !quantity_parse(str_of(json_text(limit)), &l, NULL))
            continue;
        bool exact = !is_native(m->key) || text_starts(m->key, "hugepages-");
        if (exact && quantity_compare(q, l) != 0)
            field_invalid(e,
                requests_path,
                m->value,
                arena_printf(
                    e->arena, "must be equal to %s limit of %s", m->key, json_text(limit)));
        else if (!exact && quantity_compare(q, l) > 0)
            field_invalid(e,
                requests_path,
                m->value,
                arena_printf(e->arena,
                    "must be less than or equal to %s limit of %s",
                    m->key,
                    json_text(limit)));
    }
    if (has_huge_pages && !has_cpu_or_memory)
        field_forbidden(e, path, "HugePages require cpu or memory");
}

/* ---- resizing ---- */

static void check_resize_part(
    struct field_errors *e, struct json part, const char *path, const char *const *allowed)
{
    if (check_is_empty(part))
        field_required(e, path, NULL);
    else
        check_enum(e, part, path, allowed);
}

static void check_resizing(
    struct field_errors *e, struct json c, const char *restart_policy, const char *path)
{
    static const char *const resources[] = { "cpu", "memory", NULL };
    static const char *const policies[] = { "NotRequired", "RestartContainer", NULL };
    struct json list = json_member(c, "resizePolicy");
    const char *here = field_child(e->arena, path, "resizePolicy");
    for (size_t i = 0; i < list.count; i++) {
        struct json name = json_member(list.items[i], "resourceName"),
                    policy = json_member(list.items[i], "restartPolicy");
        name = check_is_set(name) ? name : json_str("");
        for (size_t j = 0; j < i; j++)
            if (text_eq(json_get_text(list.items[j], "resourceName") ?: "", json_text(name))) {
                field_duplicate(e, field_index(e->arena, here, i), name);
                break;
            }
        check_resize_part(e, name, here, resources);
        check_resize_part(e, policy, here, policies);
        if (text_eq(restart_policy, "Never") && !text_eq(json_text(policy), "NotRequired"))
            field_invalid(
                e, here, policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
    }
}

void pod_container_resources_check(
    struct field_errors *e, struct json c, struct json spec, const char *path)
{
    check_resizing(e, c, json_get_text(spec, "restartPolicy"), path);
}
