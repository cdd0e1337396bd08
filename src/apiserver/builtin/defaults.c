#include "apiserver/builtin/defaults.h"

#include "apiserver/core/object.h"
#include "apiserver/core/server.h"
#include "apiserver/store/store.h"

/* The classes of a kind. */
struct classes {
    const struct api_kind *kind;
    const struct store_table *table;
    struct store_cursor cursor;
};

static bool classes_begin(
    const struct api_write *w, const char *group, const char *plural, struct classes *ret)
{
    *ret = (struct classes){ 0 };
    if (!w->server)
        return false;
    ret->kind = registry_find(apiserver_registry(w->server), group, "v1", plural);
    if (ret->kind)
        ret->table = store_table(apiserver_store(w->server), ret->kind->table);
    return ret->table;
}

/* Absent after the last. */
static struct json classes_next(const struct api_write *w, struct classes *c)
{
    const struct store_object *o = store_next(c->table, &c->cursor);
    return json_if(o, object_read(c->kind, w->arena, o));
}

static bool is_marked(struct json class_name, const char *const marks[])
{
    struct json annotations = json_get(class_name, "metadata.annotations");
    for (; *marks; marks++)
        if (text_eq(json_text(json_member(annotations, *marks)), "true"))
            return true;
    return false;
}

const char *defaults_class(
    const struct api_write *w, const char *group, const char *plural, const char *const marks[])
{
    const char *name = NULL, *newest = "";
    struct classes c;
    if (!classes_begin(w, group, plural, &c))
        return NULL;
    /* They are sorted by name, so the first is taken if several were created in the same second. */
    for (struct json class_name; json_present(class_name = classes_next(w, &c));) {
        const char *made = json_get_text(class_name, "metadata.creationTimestamp");
        if (!made || !is_marked(class_name, marks) || (name && strcmp(made, newest) <= 0))
            continue;
        name = json_get_text(class_name, "metadata.name");
        newest = made;
    }
    return name;
}

struct json defaults_priority(const struct api_write *w)
{
    struct json found = { 0 };
    struct classes c;
    if (!classes_begin(w, "scheduling.k8s.io", "priorityclasses", &c))
        return found;
    for (struct json class_name; json_present(class_name = classes_next(w, &c));)
        if (json_get_bool(class_name, "globalDefault", false) &&
            (!json_present(found) ||
                json_get_int(class_name, "value", 0) < json_get_int(found, "value", 0)))
            found = class_name;
    return found;
}

struct json defaults_place(struct apiserver *s, struct arena *a, struct json pod, const char *node)
{
    static const char *const keys[] = { "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone" };
    if (!s || text_empty(node))
        return pod;
    const struct api_kind *k = registry_find(apiserver_registry(s), "", "v1", "nodes");
    struct json there = json_get(apiserver_read(s, a, k, "", node), "metadata.labels");
    struct json labels = json_get(pod, "metadata.labels");
    for (size_t i = 0; i < lengthof(keys); i++)
        if (json_present(json_member(there, keys[i])))
            labels = json_with_member(a,
                json_is(labels, JSON_MAP) ? labels : json_empty_map(),
                keys[i],
                json_member(there, keys[i]));
    return json_with(a, pod, "metadata.labels", labels);
}
