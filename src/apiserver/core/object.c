#include "apiserver/core/object.h"

#include <string.h>

#include "base/buf.h"

void object_print(struct buf *b, struct json object)
{
    struct json version = json_member(object, "apiVersion"), kind = json_member(object, "kind");
    buf_add_text(b, "{\"apiVersion\":");
    json_print(b, version);
    buf_add_text(b, ",\"kind\":");
    json_print(b, kind);
    json_each_member (m, object) {
        if (strcmp(m->key, "apiVersion") == 0 || strcmp(m->key, "kind") == 0)
            continue;
        buf_add_char(b, ',');
        json_print(b, json_str(m->key));
        buf_add_char(b, ':');
        json_print(b, m->value);
    }
    buf_add_char(b, '}');
}

static struct str version_of(struct str text)
{
    static const struct str before = STR("{\"apiVersion\":\"");
    if (!str_starts(text, before))
        return (struct str){ NULL, 0 };
    struct str rest = { text.ptr + before.len, text.len - before.len };
    return str_cut(&rest, '"');
}

size_t object_head_bytes(struct str text)
{
    static const struct str between = STR("\",\"kind\":\"");
    struct str version = version_of(text);
    if (!version.ptr)
        return 0;
    const char *end = version.ptr + version.len;
    struct str rest = { end, text.len - (size_t)(end - text.ptr) };
    if (!str_starts(rest, between))
        return 0;
    rest = (struct str){ rest.ptr + between.len, rest.len - between.len };
    struct str kind = str_cut(&rest, '"');
    return (size_t)(kind.ptr + kind.len + 1 - text.ptr);
}

/* Compares without building the text of group and version. */
static bool is_version(const struct resource *r, struct str version)
{
    size_t group = strlen(r->group), own = strlen(r->version);
    if (!group)
        return version.len == own && memcmp(version.ptr, r->version, own) == 0;
    return version.len == group + 1 + own && memcmp(version.ptr, r->group, group) == 0 &&
           version.ptr[group] == '/' && memcmp(version.ptr + group + 1, r->version, own) == 0;
}

struct str object_version(const struct store_object *o)
{
    return version_of(o->text);
}

bool object_is_plain(const struct api_kind *k, const struct store_object *o, bool *ret_same)
{
    struct str version = version_of(o->text);
    *ret_same = version.ptr && is_version(&k->resource, version);
    if (k->refill || object_head_bytes(o->text) == 0)
        return false;
    return *ret_same || !k->behaviour || !k->behaviour->convert;
}

const char *object_go_type(struct arena *a, const struct api_kind *k, const char *kind)
{
    struct str group = str_of(k->resource.group), package = str_cut(&group, '.');
    if (package.len == 0 || text_eq(k->resource.group, "events.k8s.io"))
        package = STR("core");
    return arena_printf(a, "%.*s.%s", (int)package.len, package.ptr, kind);
}

const char *object_api_version(struct arena *a, const struct api_kind *k)
{
    return *k->resource.group ? arena_printf(a, "%s/%s", k->resource.group, k->resource.version)
                              : k->resource.version;
}

struct json object_to_kind(const struct api_kind *k, struct arena *a, struct json object)
{
    const struct api_behaviour *b = k->behaviour;
    const char *version = object_api_version(a, k);
    if (!text_eq(json_get_text(object, "apiVersion"), version)) {
        bool converts = b && b->convert;
        if (converts)
            object = b->convert(k, a, object, version);
        object = json_with_member(a, object, "apiVersion", json_str(version));
        object = json_with_member(a, object, "kind", json_str(k->resource.kind));
        if (converts)
            return object;
    }
    if (k->refill && b && b->prune) {
        struct field_errors ignored;
        field_errors_init(&ignored, a);
        object = b->prune(k, a, object, &ignored);
    }
    if (k->refill && b && b->fill)
        object = b->fill(k, a, object);
    return object;
}

struct json object_read_as(
    const struct api_kind *k, struct arena *a, const struct store_object *o, bool itself)
{
    struct json object;
    struct error err;
    if (!json_parse(a, o->text, &object, &err))
        return json_none;
    bool inner = !itself && !k->custom && k->behaviour && k->behaviour->convert;
    return inner ? object : object_to_kind(k, a, object);
}

struct json object_read(const struct api_kind *k, struct arena *a, const struct store_object *o)
{
    return object_read_as(k, a, o, true);
}

struct json object_to_storage(const struct api_kind *k, struct arena *a, struct json object)
{
    const struct api_behaviour *b = k->behaviour;
    if (text_empty(k->storage_version) ||
        text_eq(json_get_text(object, "apiVersion"), k->storage_version))
        return object;
    if (b && b->convert)
        object = b->convert(k, a, object, k->storage_version);
    return json_with_member(a, object, "apiVersion", json_str(k->storage_version));
}
