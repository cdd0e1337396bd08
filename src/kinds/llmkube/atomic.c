/* Parts of a pod that server-side apply owns as a whole. What the API server fills in there counts
 * as ours; so it is written out, or what we plan would never equal what is stored. */

#include "kinds/llmkube/isvc.h"

#define TOKEN_LIFETIME_S 3600

static struct json filled(struct arena *a, const char *part, struct json v)
{
    const struct {
        const char *part, *field;
        struct json value;
    } defaults[] = {
        { "fieldRef", "apiVersion", json_str("v1") },
        { "resourceFieldRef", "divisor", json_str("0") },
        { "serviceAccountToken", "expirationSeconds", json_int(TOKEN_LIFETIME_S) },
    };
    for (size_t i = 0; i < lengthof(defaults); i++)
        if (text_eq(defaults[i].part, part) && json_is(v, JSON_MAP) &&
            !json_present(json_member(v, defaults[i].field)))
            return json_with_member(a, v, defaults[i].field, defaults[i].value);
    return v;
}

struct json atomic_fill(struct arena *a, struct json v)
{
    struct json_builder b;
    json_builder_init(&b, a);
    if (json_is(v, JSON_LIST)) {
        json_each (item, v)
            json_push(&b, atomic_fill(a, *item));
        return json_list_end(&b);
    }
    if (!json_is(v, JSON_MAP))
        return v;
    json_each_member (m, v)
        json_put(&b, m->key, filled(a, m->key, atomic_fill(a, m->value)));
    return json_map_end(&b);
}
