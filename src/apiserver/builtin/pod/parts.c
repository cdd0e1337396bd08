/* Subresources that write a part of a Pod's spec: ephemeralcontainers and resize. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"
#include "base/json_index.h"

#define EPHEMERAL "spec.ephemeralContainers"

static const char *const container_lists[] = { "containers", "initContainers" };

/* The old containers with the resources of the new ones with the same name. */
static struct json with_resources(struct arena *a, struct json old, struct json fresh)
{
    static const char *const fields[] = { "resources", "resizePolicy" };
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (c, old) {
        struct json kept = *c, other = json_find(fresh, "name", json_get_text(*c, "name"));
        for (size_t i = 0; json_present(other) && i < lengthof(fields); i++)
            kept = json_with_member(a, kept, fields[i], json_member(other, fields[i]));
        json_push(&b, kept);
    }
    return json_or_absent(json_list_end(&b));
}

struct json pod_part_keep(const struct api_write *w, struct json object)
{
    struct arena *a = w->arena;
    struct json kept = w->old, given = json_member(object, "metadata");
    if (text_eq(w->subresource, "ephemeralcontainers"))
        kept = json_with(a, kept, EPHEMERAL, json_get(object, EPHEMERAL));
    else if (text_eq(w->subresource, "resize"))
        for (size_t i = 0; i < lengthof(container_lists); i++) {
            const char *path = arena_printf(a, "spec.%s", container_lists[i]);
            kept = json_with(
                a, kept, path, with_resources(a, json_get(kept, path), json_get(object, path)));
        }
    else
        return fill_path(a, object, "status.qosClass", json_get(w->old, "status.qosClass"));
    kept = json_with(a, kept, "metadata.managedFields", json_member(given, "managedFields"));
    return json_with(a, kept, "metadata.resourceVersion", json_member(given, "resourceVersion"));
}

/* ---- ephemeral containers ---- */

static bool has_container(struct json spec, const char *name)
{
    for (size_t l = 0; l < lengthof(container_lists); l++)
        if (json_present(json_find(json_member(spec, container_lists[l]), "name", name)))
            return true;
    return false;
}

static void check_ephemeral_container(
    struct field_errors *e, struct json spec, struct json container, const char *here, bool twice)
{
    static const char *const forbidden[] = {
        "ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resizePolicy"
    };
    struct arena *a = e->arena;
    struct json name = json_member(container, "name"),
                target = json_member(container, "targetContainerName");
    if (check_is_empty(name))
        field_required(e, field_child(a, here, "name"), NULL);
    else
        check_name(e, name, field_child(a, here, "name"), NAME_DNS1123_LABEL);
    if (twice || has_container(spec, json_text(name)))
        field_duplicate(e, field_child(a, here, "name"), name);
    if (check_is_empty(json_member(container, "image")))
        field_required(e, field_child(a, here, "image"), NULL);
    for (size_t i = 0; i < lengthof(forbidden); i++)
        if (json_present(json_member(container, forbidden[i])))
            field_forbidden(
                e, field_child(a, here, forbidden[i]), "cannot be set for an Ephemeral Container");
    if (json_member(container, "resources").count)
        field_forbidden(
            e, field_child(a, here, "resources"), "cannot be set for an Ephemeral Container");
    if (!check_is_empty(target) && !has_container(spec, json_text(target)))
        field_error_add(
            e, FIELD_NOT_FOUND, field_child(a, here, "targetContainerName"), target, NULL);
}

void pod_ephemeral_check(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json list = json_get(o, EPHEMERAL), spec = json_member(o, "spec");
    if (list.count && !json_present(w->old)) {
        field_forbidden(e, EPHEMERAL, "cannot be set on create");
        return;
    }
    struct json_index names = json_index_of(e->arena, list, "name");
    for (size_t i = 0; i < list.count; i++) {
        check_ephemeral_container(e,
            spec,
            list.items[i],
            check_item_path(e->arena, "spec", "ephemeralContainers", i),
            json_index_again(&names, (uint32_t)i));
    }
}

static void check_ephemeral(const struct api_write *w, struct json o, struct field_errors *e)
{
    json_each (before, json_get(w->old, EPHEMERAL)) {
        const char *name = json_get_text(*before, "name");
        struct json now = json_find(json_get(o, EPHEMERAL), "name", name);
        if (!json_present(now))
            field_forbidden(e,
                EPHEMERAL,
                arena_printf(
                    e->arena, "existing ephemeral containers \"%s\" may not be removed", name));
        else if (!json_equal(*before, now))
            field_forbidden(e,
                EPHEMERAL,
                arena_printf(
                    e->arena, "existing ephemeral containers \"%s\" may not be changed", name));
    }
}

static bool is_mutable(const char *resource)
{
    return text_eq(resource, "cpu") || text_eq(resource, "memory");
}

/* Whether a list of resources adds or removes entries that are immutable. */
static void check_amounts(struct json old, struct json fresh, bool *fixed, bool *removed)
{
    json_each_member (m, old) {
        *removed = *removed || !json_present(json_member(fresh, m->key));
        *fixed =
            *fixed || (!is_mutable(m->key) && !json_equal(m->value, json_member(fresh, m->key)));
    }
    json_each_member (m, fresh)
        *fixed = *fixed || (!is_mutable(m->key) && !json_present(json_member(old, m->key)));
}

static void check_resize(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const parts[] = { "limits", "requests" };
    bool fixed = false;
    for (size_t l = 0; l < lengthof(container_lists); l++) {
        const char *path = field_child(e->arena, "spec", container_lists[l]);
        struct json old = json_get(w->old, path), fresh = json_get(o, path);
        for (size_t i = 0; i < old.count && i < fresh.count; i++)
            for (size_t p = 0; p < lengthof(parts); p++) {
                bool removed = false;
                check_amounts(json_get(json_member(old.items[i], "resources"), parts[p]),
                    json_get(json_member(fresh.items[i], "resources"), parts[p]),
                    &fixed,
                    &removed);
                const char *here = field_child(e->arena,
                    check_item_path(e->arena, "spec", container_lists[l], i),
                    "resources");
                if (removed)
                    field_forbidden(e,
                        field_child(e->arena, here, parts[p]),
                        p ? "resource requests cannot be removed"
                          : "resource limits cannot be removed");
            }
    }
    if (fixed)
        field_forbidden(e, "spec", "only cpu and memory resources are mutable");
    if (!text_eq(json_get_text(w->old, "status.qosClass"), pod_quality_of(json_member(o, "spec"))))
        field_invalid(e,
            "spec",
            json_str(pod_quality_of(json_member(o, "spec"))),
            "Pod QOS Class may not change as a result of resizing");
}

void pod_part_check(const struct api_write *w, struct json o, struct field_errors *e)
{
    if (text_eq(w->subresource, "ephemeralcontainers"))
        check_ephemeral(w, o, e);
    if (text_eq(w->subresource, "resize"))
        check_resize(w, o, e);
}
