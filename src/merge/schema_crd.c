/* Compiles the openAPIV3Schema of a CustomResourceDefinition into the form of the built-in table.
 * The rules are those of kube-openapi's conversion, which the API server uses for its own merging:
 * a schema without a type allows every shape, a map without properties has free-form members, lists
 * are atomic by default. */

#include "merge/schema.h"

#include <string.h>

struct compiler {
    struct arena *arena;
    struct error *err;
    struct schema_type *types;
    struct schema_field *fields;
    struct schema_key *keys;
    char *names;
    uint32_t type_count, field_count, key_count, name_bytes;
    uint32_t type_size, field_size, key_size, name_size;
    /* Each name is stored once: offsets by hash, 0 for a free slot. */
    uint32_t *places;
    uint32_t place_count, name_count;
};

static const struct schema_type common_types[] = {
    [SCHEMA_TYPE_DEDUCED] = {
        .scalar = SCALAR_ANY,
        .list = LIST_ATOMIC,
        .map = MAP_GRANULAR,
        .item = SCHEMA_TYPE_ATOMIC,
        .member = SCHEMA_TYPE_DEDUCED,
    },
    [SCHEMA_TYPE_ATOMIC] = {
        .scalar = SCALAR_ANY,
        .list = LIST_ATOMIC,
        .map = MAP_ATOMIC,
        .item = SCHEMA_TYPE_ATOMIC,
        .member = SCHEMA_TYPE_ATOMIC,
    },
};

const struct schema *schema_deduced(void)
{
    static const struct schema deduced = {
        .table = { .types = common_types, .names = "", .type_count = lengthof(common_types) },
        .root = SCHEMA_TYPE_DEDUCED,
        .deduced = true,
    };
    return &deduced;
}

/* Makes room for `more` elements after `count`; may move the array. */
static void *room(
    struct arena *a, void *old, uint32_t count, uint32_t more, uint32_t *size, size_t bytes)
{
    if (count + more <= *size)
        return old;
    uint32_t wanted = *size ? *size * 2 : 32;
    while (wanted < count + more)
        wanted *= 2;
    void *grown = arena_array(a, wanted, bytes);
    if (count)
        memcpy(grown, old, count * bytes);
    *size = wanted;
    return grown;
}

/* ---- names ---- */

static uint32_t hash_text(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

static uint32_t *find_place(struct compiler *c, const char *text)
{
    uint32_t at = hash_text(text) & (c->place_count - 1);
    while (c->places[at] && strcmp(c->names + c->places[at], text) != 0)
        at = (at + 1) & (c->place_count - 1);
    return &c->places[at];
}

static void grow_places(struct compiler *c)
{
    uint32_t *old = c->places, count = c->place_count;
    c->place_count = count ? count * 2 : 64;
    c->places = arena_array(c->arena, c->place_count, sizeof(*c->places));
    for (uint32_t i = 0; i < count; i++)
        if (old[i])
            *find_place(c, c->names + old[i]) = old[i];
}

static uint32_t add_name(struct compiler *c, const char *text)
{
    if (c->name_count * 2 >= c->place_count)
        grow_places(c);
    uint32_t *place = find_place(c, text);
    if (*place)
        return *place;
    uint32_t bytes = (uint32_t)strlen(text) + 1;
    c->names = room(c->arena, c->names, c->name_bytes, bytes + 1, &c->name_size, 1);
    if (!c->name_bytes)
        c->name_bytes = 1; /* offset 0 is the empty text */
    *place = c->name_bytes;
    memcpy(c->names + c->name_bytes, text, bytes);
    c->name_bytes += bytes;
    c->name_count++;
    return *place;
}

/* ---- types ---- */

static bool same_simple(const struct schema_type *x, const struct schema_type *y)
{
    return x->scalar == y->scalar && x->format == y->format && x->list == y->list &&
           x->map == y->map && x->item == y->item && x->member == y->member && !x->field_count &&
           !x->key_count;
}

static bool add_type(struct compiler *c, struct schema_type t, uint16_t *ret)
{
    if (!t.field_count && !t.key_count)
        for (uint32_t i = 0; i < c->type_count; i++)
            if (same_simple(&c->types[i], &t)) {
                *ret = (uint16_t)i;
                return true;
            }
    if (c->type_count >= SCHEMA_NO_TYPE)
        return fail(c->err, ERR_TOO_LARGE, "the schema has more than %d types", SCHEMA_NO_TYPE);
    c->types = room(c->arena, c->types, c->type_count, 1, &c->type_size, sizeof(*c->types));
    *ret = (uint16_t)c->type_count;
    c->types[c->type_count++] = t;
    return true;
}

static void set_fields(
    struct compiler *c, struct schema_type *t, const struct schema_field *fields, uint32_t count)
{
    c->fields =
        room(c->arena, c->fields, c->field_count, count + 1, &c->field_size, sizeof(*c->fields));
    memcpy(c->fields + c->field_count, fields, count * sizeof(*fields));
    t->fields = c->field_count;
    t->field_count = (uint16_t)count;
    c->field_count += count;
}

/* A built-in type and the types that it refers to: ObjectMeta in custom objects. */
static bool copy_builtin(struct compiler *c, uint16_t type, uint16_t *ret)
{
    struct schema_type t = schema_builtin.types[type];
    assert(!t.key_count || t.item != SCHEMA_NO_TYPE);
    if (type <= SCHEMA_TYPE_ATOMIC) {
        *ret = type;
        return true;
    }
    if (t.item != SCHEMA_NO_TYPE && !copy_builtin(c, t.item, &t.item))
        return false;
    if (t.member != SCHEMA_NO_TYPE && !copy_builtin(c, t.member, &t.member))
        return false;
    struct schema_field fields[64];
    assert(t.field_count <= lengthof(fields));
    for (uint32_t i = 0; i < t.field_count; i++) {
        fields[i] = schema_builtin.fields[t.fields + i];
        fields[i].name = add_name(c, schema_builtin.names + fields[i].name);
        if (!copy_builtin(c, fields[i].type, &fields[i].type))
            return false;
    }
    set_fields(c, &t, fields, t.field_count);
    uint32_t first_key = c->key_count;
    c->keys =
        room(c->arena, c->keys, c->key_count, t.key_count + 1u, &c->key_size, sizeof(*c->keys));
    for (uint32_t i = 0; i < t.key_count; i++) {
        struct schema_key key = schema_builtin.keys[t.keys + i];
        key.name = add_name(c, schema_builtin.names + key.name);
        if (key.fallback)
            key.fallback = add_name(c, schema_builtin.names + key.fallback);
        c->keys[c->key_count++] = key;
    }
    t.keys = first_key;
    return add_type(c, t, ret);
}

static bool add_object_meta(struct compiler *c, uint16_t *ret)
{
    for (uint32_t i = 0; i < schema_builtin_kind_count; i++) {
        const struct schema builtin = {
            .table = schema_builtin,
            .root = (uint16_t)schema_builtin_kinds[i].root,
        };
        const struct schema_field *f =
            schema_field(&builtin, schema_type(&builtin, builtin.root), "metadata");
        if (f)
            return copy_builtin(c, f->type, ret);
    }
    return false;
}

/* ---- compiling ---- */

struct place {
    const struct place *above;
    const char *name;
    bool preserve; /* unknown fields here and below */
    bool root;
};

static bool fail_at(struct compiler *c, const struct place *p, const char *what)
{
    const char *path = p->name;
    for (p = p->above; p && p->name; p = p->above)
        path = arena_printf(c->arena, "%s.%s", p->name, path);
    return fail(c->err, ERR_INVALID, "openAPIV3Schema %s: %s", path ? path : "", what);
}

static bool compile(struct compiler *c, struct json v, const struct place *p, uint16_t *ret);

static uint32_t add_fallback(struct compiler *c, struct json v)
{
    if (v.type == JSON_STR)
        return add_name(c, arena_printf(c->arena, "s%s", v.string));
    if (v.type == JSON_BOOL)
        return add_name(c, v.boolean ? "btrue" : "bfalse");
    if (v.type == JSON_INT || v.type == JSON_REAL)
        return add_name(c, arena_printf(c->arena, "n%s", json_to_text(c->arena, v)));
    return 0;
}

static bool compile_keys(
    struct compiler *c, struct json v, const struct place *p, struct schema_type *t)
{
    struct json names = json_member(v, "x-kubernetes-list-map-keys");
    struct json properties = json_get(v, "items.properties");
    if (names.type != JSON_LIST || !names.count)
        return fail_at(c, p, "x-kubernetes-list-type map needs x-kubernetes-list-map-keys");
    c->keys = room(c->arena, c->keys, c->key_count, names.count, &c->key_size, sizeof(*c->keys));
    struct json_builder sorted;
    json_builder_init(&sorted, c->arena);
    json_each (name, names) {
        struct json property = json_member(properties, name->type == JSON_STR ? name->string : "");
        if (!json_present(property))
            return fail_at(c, p, "a key of x-kubernetes-list-map-keys is no property of items");
        json_put(&sorted, name->string, property);
    }
    struct json by_name = json_map_end(&sorted);
    t->keys = c->key_count;
    t->key_count = (uint16_t)by_name.count;
    json_each_member (m, by_name) {
        c->keys[c->key_count++] = (struct schema_key){
            .name = add_name(c, m->key),
            .fallback = add_fallback(c, json_member(m->value, "default")),
        };
    }
    return true;
}

static bool compile_list(
    struct compiler *c, struct json v, const struct place *p, struct schema_type *t)
{
    struct json items = json_member(v, "items");
    const char *how = json_text(json_member(v, "x-kubernetes-list-type"));
    t->item = SCHEMA_TYPE_ATOMIC;
    t->list = LIST_ATOMIC;
    const struct place below = { .above = p, .name = "items", .preserve = p->preserve };
    if (json_present(items) && !compile(c, items, &below, &t->item))
        return false;
    if (!how || text_eq(how, "atomic"))
        return true;
    t->list = text_eq(how, "set") ? LIST_SET : LIST_MAP;
    if (t->list == LIST_MAP && !text_eq(how, "map"))
        return fail_at(c, p, "x-kubernetes-list-type is none of atomic, set, map");
    return t->list == LIST_SET || compile_keys(c, v, p, t);
}

/* Adds apiVersion, kind and metadata to the properties of an object and of embedded ones. */
static struct json object_properties(struct compiler *c, struct json v, bool object)
{
    struct json properties = json_member(v, "properties");
    if (!object)
        return properties;
    struct json text = json_map(c->arena, { "type", json_str("string") });
    struct json head = json_map(c->arena,
        { "apiVersion", text },
        { "kind", text },
        { "metadata", json_null() }); /* means ObjectMeta */
    return json_overlay(c->arena, properties, head);
}

static bool compile_map(
    struct compiler *c, struct json v, const struct place *p, struct schema_type *t)
{
    bool object = p->root || json_get_bool(v, "x-kubernetes-embedded-resource", false);
    struct json properties = object_properties(c, v, object);
    struct json more = json_member(v, "additionalProperties");
    bool free_form = p->preserve || !json_or_absent(properties).count;
    t->map = text_eq(json_text(json_member(v, "x-kubernetes-map-type")), "atomic") ? MAP_ATOMIC
                                                                                   : MAP_GRANULAR;
    t->member = SCHEMA_NO_TYPE;
    const struct place below = { .above = p, .name = "*", .preserve = p->preserve };
    if (more.type == JSON_MAP) {
        if (!compile(c, more, &below, &t->member))
            return false;
    } else if (json_present(more) ? json_equal(more, json_bool(true)) : free_form) {
        t->member = SCHEMA_TYPE_DEDUCED;
    }
    if (properties.type == JSON_MAP && properties.count > UINT16_MAX)
        return fail_at(c, p, "too many properties");
    struct schema_field *fields = arena_array(c->arena, properties.count + 1u, sizeof(*fields));
    uint32_t count = 0;
    json_each_member (m, properties) {
        const struct place field = { .above = p, .name = m->key, .preserve = p->preserve };
        struct schema_field *f = &fields[count++];
        f->name = add_name(c, m->key);
        bool meta = object && m->value.type == JSON_NULL;
        if (!(meta ? add_object_meta(c, &f->type) : compile(c, m->value, &field, &f->type)))
            return false;
    }
    set_fields(c, t, fields, count);
    return true;
}

static bool compile_scalar(struct json v, const char *type, struct schema_type *t)
{
    const char *format = json_text(json_member(v, "format"));
    if (text_eq(type, "string"))
        t->scalar = !format || text_eq(format, "byte") || !*format ? SCALAR_STRING : SCALAR_ANY;
    else if (text_eq(type, "boolean"))
        t->scalar = SCALAR_BOOL;
    else if (text_eq(type, "integer") || text_eq(type, "number"))
        t->scalar = SCALAR_NUMBER;
    return t->scalar != SCALAR_NONE;
}

/* Custom objects are stored as sent, so their texts have no canonical form. */
static bool compile(struct compiler *c, struct json v, const struct place *p, uint16_t *ret)
{
    const char *type = json_text(json_member(v, "type"));
    struct schema_type t = { .item = SCHEMA_NO_TYPE, .member = SCHEMA_NO_TYPE };
    struct place here = *p;
    here.preserve |= json_get_bool(v, "x-kubernetes-preserve-unknown-fields", false);
    if (json_get_bool(v, "x-kubernetes-int-or-string", false)) {
        t.format = FORMAT_INT_OR_STRING;
        type = NULL;
    }
    if (text_empty(type))
        t.scalar = SCALAR_ANY;
    else if (compile_scalar(v, type, &t))
        return add_type(c, t, ret);
    else if (!text_eq(type, "object") && !text_eq(type, "array"))
        return fail_at(c, p, "unknown type");
    if (!text_eq(type, "object") && !compile_list(c, v, &here, &t))
        return false;
    if (!text_eq(type, "array") && !compile_map(c, v, &here, &t))
        return false;
    return add_type(c, t, ret);
}

bool schema_from_crd(
    struct arena *a, struct json open_api_v3_schema, const struct schema **ret, struct error *err)
{
    if (!json_present(open_api_v3_schema)) {
        *ret = schema_deduced();
        return true;
    }
    cleanup(arena_done) struct arena scratch = ARENA_INIT;
    struct compiler c = { .arena = &scratch, .err = err };
    uint16_t type;
    for (size_t i = 0; i < lengthof(common_types); i++)
        if (!add_type(&c, common_types[i], &type))
            return false;
    add_name(&c, " "); /* reserves offset 0 */
    const struct place root = { .root = true };
    if (open_api_v3_schema.type != JSON_MAP)
        return fail(err, ERR_INVALID, "openAPIV3Schema is no object");
    if (!compile(&c, open_api_v3_schema, &root, &type))
        return false;
    struct schema *s = arena_new(a, struct schema);
    struct schema_type *types = arena_array(a, c.type_count, sizeof(*types));
    struct schema_field *fields = arena_array(a, c.field_count, sizeof(*fields));
    struct schema_key *keys = arena_array(a, c.key_count, sizeof(*keys));
    memcpy(types, c.types, c.type_count * sizeof(*types));
    memcpy(fields, c.fields, c.field_count * sizeof(*fields));
    if (c.key_count)
        memcpy(keys, c.keys, c.key_count * sizeof(*keys));
    *s = (struct schema){
        .table = {
            .types = types,
            .fields = fields,
            .keys = keys,
            .names = arena_strndup(a, c.names, c.name_bytes),
            .type_count = c.type_count,
            .field_count = c.field_count,
            .key_count = c.key_count,
            .name_bytes = c.name_bytes,
        },
        .root = type,
    };
    *ret = s;
    return true;
}
