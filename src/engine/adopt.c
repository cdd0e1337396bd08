#include "engine/adopt.h"

#include "base/str.h"
#include "merge/merge.h"
#include "merge/typed.h"

static bool is_of(struct json entry, const char *const *managers, const char *subresource)
{
    const char *sub = json_get_text(entry, "subresource");
    if (!text_eq(sub ? sub : "", subresource) ||
        !text_eq(json_get_text(entry, "operation"), "Update"))
        return false;
    for (size_t i = 0; managers && managers[i]; i++)
        if (text_eq(json_get_text(entry, "manager"), managers[i]))
            return true;
    return false;
}

bool adopt_wanted(struct json object, const char *const *managers, const char *subresource)
{
    json_each (entry, json_get(object, "metadata.managedFields"))
        if (is_of(*entry, managers, subresource))
            return true;
    return false;
}

/* The union of the fields that our predecessors' entries own, and our entry if it exists. */
static const struct fieldset *united(struct arena *a, struct json object,
    const char *const *managers, const char *subresource, const char *also)
{
    const struct fieldset *all = fieldset_empty();
    json_each (entry, json_get(object, "metadata.managedFields")) {
        const char *sub = json_get_text(*entry, "subresource");
        bool ours = also && text_eq(json_get_text(*entry, "manager"), also) &&
                    text_eq(json_get_text(*entry, "operation"), "Apply") &&
                    text_eq(sub ? sub : "", subresource);
        const struct fieldset *set;
        if ((ours || is_of(*entry, managers, subresource)) &&
            fieldset_from_json(a, json_get(*entry, "fieldsV1"), &set, NULL))
            all = fieldset_union(a, all, set);
    }
    return all;
}

struct json adopt_fields(struct arena *a, const struct schema *s, struct json object,
    const char *const *managers, const char *subresource)
{
    const struct fieldset *set = united(a, object, managers, subresource, NULL);
    return typed_extract(a, s, object, set, EXTRACT_KEYS);
}

struct json adopt_patch(struct arena *a, struct json object, const char *const *managers,
    const char *subresource, const char *manager)
{
    const struct fieldset *set = united(a, object, managers, subresource, manager);
    struct json_builder entries;
    json_builder_init(&entries, a);
    struct json model = { 0 };
    json_each (entry, json_get(object, "metadata.managedFields")) {
        const char *sub = json_get_text(*entry, "subresource");
        bool replaced = is_of(*entry, managers, subresource) ||
                        (text_eq(json_get_text(*entry, "manager"), manager) &&
                            text_eq(json_get_text(*entry, "operation"), "Apply") &&
                            text_eq(sub ? sub : "", subresource));
        if (!replaced)
            json_push(&entries, *entry);
        else
            model = *entry;
    }
    model = json_with_member(a, model, "manager", json_str(manager));
    model = json_with_member(a, model, "operation", json_str("Apply"));
    model = json_with_member(a, model, "fieldsV1", fieldset_to_json(a, set));
    json_push(&entries, model);
    return json_list(a,
        json_fields(a,
            { "op", json_str("replace") },
            { "path", json_str("/metadata/managedFields") },
            { "value", json_list_end(&entries) }),
        json_fields(a,
            { "op", json_str("replace") },
            { "path", json_str("/metadata/resourceVersion") },
            { "value", json_get(object, "metadata.resourceVersion") }));
}
