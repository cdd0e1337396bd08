#include "base/settle.h"

#include "base/quantity.h"

static bool holds_quantities(const char *key)
{
    static const char *const keys[] = { "requests", "limits", "sizeLimit", "divisor" };
    for (size_t i = 0; i < lengthof(keys); i++)
        if (text_eq(key, keys[i]))
            return true;
    return false;
}

static bool same(struct json planned, struct json stored, enum settle how, bool quantities)
{
    bool list = json_is(planned, JSON_LIST), map = json_is(planned, JSON_MAP);
    if (quantities && json_is(planned, JSON_STR))
        return quantity_text_equal(planned.string, json_text(stored));
    if (planned.type != stored.type || !(list || map))
        return json_equal(planned, stored);
    if (planned.count != stored.count && (how == SETTLE_ALL || list))
        return false;
    for (uint32_t i = 0; list && i < planned.count; i++)
        if (!same(planned.items[i], stored.items[i], how, false))
            return false;
    json_each_member (m, planned) {
        bool deeper = quantities || holds_quantities(m->key);
        if (!same(m->value, json_member(stored, m->key), how, deeper))
            return false;
    }
    return true;
}

bool settle_same(struct json planned, struct json stored, enum settle how)
{
    return same(planned, stored, how, false);
}

struct json settle_lists(struct arena *a, struct json planned, struct json stored)
{
    if (json_is(planned, JSON_LIST))
        return settle_same(planned, stored, SETTLE_PLANNED) ? stored : planned;
    if (!json_is(planned, JSON_MAP))
        return planned;
    struct json_builder b;
    json_builder_init(&b, a);
    json_each_member (m, planned)
        json_put(&b, m->key, settle_lists(a, m->value, json_member(stored, m->key)));
    return json_map_end(&b);
}
