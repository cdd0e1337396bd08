/* Parts of a pod that server-side apply owns as a whole. The API server's defaults in them count as
 * our fields, so they are added here; otherwise the plan would never equal the stored object. */

#include "base/atomic.h"

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

struct json atomic_join(struct arena *a, struct json first, struct json second, const char *key)
{
    struct json_builder all;
    json_builder_init(&all, a);
    json_push_all(&all, first);
    json_push_all(&all, second);
    struct json both = json_list_end(&all);
    struct json_builder last, seen;
    json_builder_init(&last, a);
    json_builder_init(&seen, a);
    for (uint32_t i = 0; i < both.count; i++) {
        const char *text = json_text(json_member(both.items[i], key));
        if (text)
            json_put(&seen, text, json_int(i));
    }
    struct json where = json_map_end(&seen);
    for (uint32_t i = 0; i < both.count; i++) {
        const char *text = json_text(json_member(both.items[i], key));
        if (!text || json_member(where, text).integer == i)
            json_push(&last, both.items[i]);
    }
    return json_or_absent(json_list_end(&last));
}
