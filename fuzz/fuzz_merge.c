/* Random small schemas, and several managers who apply and update objects of them. The bytes decide
 * everything: the schema, the values, who does what. After each step:
 *   - the object fits the schema;
 *   - the applier's entry is the set of what it applied, and applying it again changes nothing;
 *   - the gate agrees that there is nothing to write;
 *   - nobody owns what is not there.
 * Values have no empty containers: with those the server itself needs two rounds to come to rest.
 */

#include "fuzz/fuzz.h"
#include "merge/apply.h"
#include "merge/merge.h"
#include "merge/typed.h"

struct bytes {
    struct arena *arena;
    const uint8_t *at, *end;
};

static unsigned pick(struct bytes *b, unsigned count)
{
    return b->at < b->end ? *b->at++ % count : 0;
}

static const char *const names[] = { "a", "b", "c", "d" };

/* ---- schemas ---- */

static struct json make_schema(struct bytes *b, int depth);

static struct json scalar_schema(struct bytes *b)
{
    static const char *const types[] = { "string", "integer", "boolean" };
    return json_map(b->arena, { "type", json_str(types[pick(b, lengthof(types))]) });
}

static struct json struct_schema(struct bytes *b, int depth, bool keyed)
{
    struct json_builder properties;
    json_builder_init(&properties, b->arena);
    if (keyed)
        json_put(&properties, "key", json_map(b->arena, { "type", json_str("string") }));
    for (unsigned i = 0, count = 1 + pick(b, 3); i < count; i++)
        json_put(&properties, names[i], make_schema(b, depth + 1));
    return json_map(b->arena,
        { "type", json_str("object") },
        { "properties", json_map_end(&properties) },
        { "x-kubernetes-map-type", json_str(!keyed && pick(b, 4) == 0 ? "atomic" : NULL) });
}

static struct json list_schema(struct bytes *b, int depth)
{
    static const char *const types[] = { "atomic", "set", "map" };
    const char *type = types[pick(b, lengthof(types))];
    bool map = text_eq(type, "map");
    struct json keys = json_list(b->arena, json_str("key"));
    return json_map(b->arena,
        { "type", json_str("array") },
        { "items", map ? struct_schema(b, depth + 1, true) : scalar_schema(b) },
        { "x-kubernetes-list-type", json_str(type) },
        { "x-kubernetes-list-map-keys", json_if(map, keys) });
}

static struct json make_schema(struct bytes *b, int depth)
{
    switch (depth > 4 ? 0 : pick(b, 6)) {
    case 1:
    case 2:
        return struct_schema(b, depth, false);
    case 3:
        return list_schema(b, depth);
    case 4:
        return json_map(b->arena,
            { "type", json_str("object") },
            { "additionalProperties", make_schema(b, depth + 1) });
    case 5:
        return json_map(b->arena, { "x-kubernetes-preserve-unknown-fields", json_bool(true) });
    default:
        return scalar_schema(b);
    }
}

/* ---- values ---- */

static struct json make_value(struct bytes *b, struct json schema);

static struct json make_list(struct bytes *b, struct json schema)
{
    struct json_builder out;
    json_builder_init(&out, b->arena);
    struct json items = json_member(schema, "items");
    const char *how = json_text(json_member(schema, "x-kubernetes-list-type"));
    unsigned count = 1 + pick(b, 3);
    for (unsigned i = 0; i < count; i++) {
        struct json item = make_value(b, items);
        bool again = false;
        if (text_eq(how, "map"))
            item = json_with_member(b->arena, item, "key", json_str(names[pick(b, 4)]));
        for (uint32_t j = 0; j < out.count && !text_eq(how, "atomic"); j++) {
            struct json other = out.members[j].value;
            again |= text_eq(how, "map")
                         ? text_eq(json_get_text(other, "key"), json_get_text(item, "key"))
                         : json_equal(other, item);
        }
        if (!again)
            json_push(&out, item);
    }
    return json_list_end(&out);
}

static struct json make_map(struct bytes *b, struct json schema)
{
    struct json_builder out;
    json_builder_init(&out, b->arena);
    struct json properties = json_member(schema, "properties");
    struct json more = json_member(schema, "additionalProperties");
    for (unsigned i = 0; json_present(more) && i < 3; i++)
        if (!i || pick(b, 2))
            json_put(&out, names[pick(b, 4)], make_value(b, more));
    json_each_member (m, properties)
        if (pick(b, 2) || (!out.count && m + 1 == m_end))
            json_put(&out, m->key, make_value(b, m->value));
    return json_map_end(&out);
}

static struct json make_value(struct bytes *b, struct json schema)
{
    const char *type = json_text(json_member(schema, "type"));
    if (text_eq(type, "string"))
        return json_str(names[pick(b, 4)]);
    if (text_eq(type, "integer"))
        return json_int(pick(b, 3));
    if (text_eq(type, "boolean"))
        return json_bool(pick(b, 2));
    if (text_eq(type, "array"))
        return make_list(b, schema);
    if (text_eq(type, "object"))
        return make_map(b, schema);
    struct json free_form[] = {
        json_int(1),
        json_str("x"),
        json_map(b->arena, { names[pick(b, 4)], json_int(pick(b, 3)) }),
        json_list(b->arena, json_int(pick(b, 3))),
    };
    return free_form[pick(b, lengthof(free_form))];
}

/* ---- steps ---- */

struct world {
    struct bytes *bytes;
    struct json schema; /* of spec */
    const struct schema *compiled;
    struct json live;
};

static struct json make_object(struct world *w)
{
    return json_fields(w->bytes->arena,
        { "apiVersion", json_str("g.dev/v1") },
        { "kind", json_str("Thing") },
        { "metadata.name", json_str("x") },
        { "spec", make_value(w->bytes, w->schema) });
}

static const struct fieldset *entry_of(struct world *w, struct json object, const char *manager)
{
    struct managers m;
    struct error err;
    assert(managers_decode(w->bytes->arena, json_get(object, "metadata.managedFields"), &m, &err));
    const struct managers_entry like = { .manager = manager, .applies = true, .subresource = "" };
    const struct managers_entry *e = managers_find(&m, &like);
    return e ? e->set : fieldset_empty();
}

/* Every path of an object: members and all that is above them. */
static const struct fieldset *all_paths(struct arena *a, const struct fieldset *s)
{
    struct fieldset_builder b;
    fieldset_builder_init(&b, a);
    for (uint32_t i = 0; i < s->count; i++)
        fieldset_add(&b,
            s->entries[i].element,
            true,
            s->entries[i].below ? all_paths(a, s->entries[i].below) : NULL);
    return fieldset_end(&b);
}

static void check_object(struct world *w)
{
    struct arena *a = w->bytes->arena;
    struct managers m;
    struct error err;
    assert(typed_validate(w->compiled, w->live, true, &err));
    assert(managers_decode(a, json_get(w->live, "metadata.managedFields"), &m, &err));
    const struct fieldset *there = all_paths(a, typed_set(a, w->compiled, w->live));
    for (size_t i = 0; i < m.count; i++) {
        assert(!fieldset_is_empty(m.entries[i].set));
        assert(fieldset_is_empty(fieldset_difference(a, m.entries[i].set, there)));
    }
}

static void check_applied(struct world *w, const struct apply_request *r, struct json config)
{
    struct arena *a = w->bytes->arena;
    struct apply_result again;
    struct merge_owned owned;
    const struct fieldset *set;
    struct error err;
    assert(merge_set_of(a, w->compiled, config, &set, &err));
    assert(fieldset_equal(set, entry_of(w, w->live, r->manager)));
    assert(merge_set_equal_entry(a, set, w->live, r->manager, "", NULL));
    const struct fieldset *bare = typed_set(a, w->compiled, config);
    assert(typed_set_is_of(a, w->compiled, config, bare));
    assert(typed_set_is_of(a, w->compiled, w->live, bare) ==
           fieldset_equal(typed_set(a, w->compiled, w->live), bare));
    assert(apply_config(a, r, w->live, config, &again, &err));
    assert(json_equal(again.object, w->live));
    merge_owned(a, w->compiled, w->live, r->manager, "", &owned);
    assert(merge_equal(w->compiled, &owned, config));
    assert(merge_difference(a, w->compiled, &owned, config).count == 0);
}

static void step(struct world *w)
{
    static const char *const managers[] = { "p", "q", "r" };
    struct arena *a = w->bytes->arena;
    struct apply_request r = {
        .schema = w->compiled,
        .api_version = "g.dev/v1",
        .manager = managers[pick(w->bytes, 3)],
        .subresource = "",
        .now = "2026-01-01T00:00:00Z",
        .force = pick(w->bytes, 2),
    };
    struct apply_result result;
    struct error err;
    struct json object = make_object(w);
    if (pick(w->bytes, 4) == 0) {
        assert(apply_update(a, &r, w->live, object, &object, &err));
        w->live = object;
    } else if (apply_config(a, &r, w->live, object, &result, &err)) {
        w->live = result.object;
        check_applied(w, &r, object);
    } else {
        assert(err.code == ERR_CONFLICT && result.conflict_count > 0 && !r.force);
    }
    if (json_present(w->live))
        check_object(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct bytes b = { .arena = &a, .at = data, .end = data + size };
    struct world w = { .bytes = &b };
    struct error err;
    w.schema = struct_schema(&b, 0, false);
    struct json root =
        json_fields(&a, { "type", json_str("object") }, { "properties.spec", w.schema });
    assert(schema_from_crd(&a, root, &w.compiled, &err));
    for (int i = 0; i < 10 && b.at < b.end; i++)
        step(&w);
    return 0;
}
