/* Parts of a pod of which only one of several may be there: a probe asks by HTTP or by TCP, a
 * volume is a ConfigMap or a Secret, a variable has a value or a reference. Under server-side apply
 * a field that the API server filled in is nobody's: when the user changes his mind, it stays
 * behind with its part, and the API server refuses the pod for having two. So these few are written
 * out. */

#include "kinds/llmkube/isvc.h"

#define DEFAULT_MODE 0644

static const struct choice {
    const char *part;
    const char *field;
    const char *text; /* NULL: DEFAULT_MODE */
    const char *list; /* only in items of this list; NULL: anywhere */
} choices[] = {
    { "httpGet", "scheme", "HTTP", NULL },
    { "grpc", "service", "", NULL },
    { "fieldRef", "apiVersion", "v1", NULL },
    { "configMap", "defaultMode", NULL, "volumes" },
    { "secret", "defaultMode", NULL, "volumes" },
    { "projected", "defaultMode", NULL, "volumes" },
    { "downwardAPI", "defaultMode", NULL, "volumes" },
    { "hostPath", "type", "", "volumes" },
};

static struct json completed(struct arena *a, const char *part, const char *list, struct json v)
{
    for (size_t i = 0; i < lengthof(choices) && json_is(v, JSON_MAP); i++) {
        const struct choice *c = &choices[i];
        if (!text_eq(c->part, part) || (c->list && !text_eq(c->list, list)) ||
            json_present(json_member(v, c->field)))
            continue;
        v = json_with_member(a, v, c->field, c->text ? json_str(c->text) : json_int(DEFAULT_MODE));
    }
    return v;
}

/* `list` is the name of the list that v is an item of, or NULL. */
static struct json walk(struct arena *a, const char *key, const char *list, struct json v)
{
    struct json_builder b;
    json_builder_init(&b, a);
    if (json_is(v, JSON_LIST)) {
        json_each (item, v)
            json_push(&b, walk(a, NULL, key, *item));
        return json_list_end(&b);
    }
    if (!json_is(v, JSON_MAP))
        return v;
    json_each_member (m, v)
        json_put(&b, m->key, completed(a, m->key, list, walk(a, m->key, NULL, m->value)));
    return json_map_end(&b);
}

struct json choices_complete(struct arena *a, struct json template)
{
    /* Metadata is the user's own words. */
    return json_with_member(
        a, template, "spec", walk(a, "spec", NULL, json_member(template, "spec")));
}
