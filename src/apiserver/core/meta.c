#include "apiserver/core/meta.h"

#include "apiserver/rules/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/core/internal.h"
#include "apiserver/core/object.h"
#include "apiserver/core/options.h"
#include "apiserver/rules/decode.h"
#include "base/names.h"
#include "base/time.h"

#define SUBRESOURCE_BYTES_MAX 256

/* ---- decoding ---- */

enum meta_type { META_TEXT, META_NUMBER, META_TIME, META_TEXTS, META_LIST, META_STRINGS };

static const struct meta_field {
    const char *name;
    enum meta_type type;
} fields[] = {
    { "annotations", META_TEXTS },
    { "creationTimestamp", META_TIME },
    { "deletionGracePeriodSeconds", META_NUMBER },
    { "deletionTimestamp", META_TIME },
    { "finalizers", META_STRINGS },
    { "generateName", META_TEXT },
    { "generation", META_NUMBER },
    { "labels", META_TEXTS },
    { "managedFields", META_LIST },
    { "name", META_TEXT },
    { "namespace", META_TEXT },
    { "ownerReferences", META_LIST },
    { "resourceVersion", META_TEXT },
    { "selfLink", META_TEXT },
    { "uid", META_TEXT },
};

static const struct meta_field *field_of(const char *name)
{
    for (size_t i = 0; i < lengthof(fields); i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

static bool fail_type(struct error *err, struct json v, const char *field, const char *type)
{
    return fail(err,
        ERR_INVALID,
        "json: cannot unmarshal %s into Go struct field ObjectMeta.metadata.%s of type %s",
        json_type_name(v),
        field,
        type);
}

static bool check_items(struct error *err, const struct meta_field *f, struct json v)
{
    if (f->type == META_TEXTS)
        json_each_member (m, v)
            if (!json_is(m->value, JSON_STR) && !json_is(m->value, JSON_NULL))
                return fail_type(err, m->value, f->name, "string");
    if (f->type == META_STRINGS)
        json_each (item, v)
            if (!json_is(*item, JSON_STR))
                return fail_type(err, *item, f->name, "string");
    if (f->type == META_LIST)
        json_each (item, v)
            if (!json_is(*item, JSON_MAP))
                return fail_type(err,
                    *item,
                    f->name,
                    text_eq(f->name, "managedFields") ? "v1.ManagedFieldsEntry"
                                                      : "v1.OwnerReference");
    return true;
}

static bool check_field(struct error *err, const struct meta_field *f, struct json v)
{
    static const struct {
        enum json_type json;
        const char *type;
    } types[] = {
        [META_TEXT] = { JSON_STR, "string" },
        [META_NUMBER] = { JSON_INT, "int64" },
        [META_TIME] = { JSON_STR, "string" },
        [META_TEXTS] = { JSON_MAP, "map[string]string" },
        [META_LIST] = { JSON_LIST, "[]v1.OwnerReference" },
        [META_STRINGS] = { JSON_LIST, "[]string" },
    };
    int64_t ms;
    if (v.type != types[f->type].json)
        return fail_type(err,
            v,
            f->name,
            text_eq(f->name, "managedFields") ? "[]v1.ManagedFieldsEntry" : types[f->type].type);
    if (f->type == META_TIME && !time_parse(v.string, &ms)) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        return fail(err, ERR_INVALID, "%s", decode_time_trouble(&a, v.string));
    }
    return check_items(err, f, v);
}

/* Null texts become empty. */
static struct json without_nulls(struct arena *a, struct json texts)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each_member (m, texts)
        json_put(&b, m->key, json_is(m->value, JSON_NULL) ? json_str("") : m->value);
    return json_map_end(&b);
}

/* Whole seconds in UTC, as in metav1.Time. */
static struct json time_value(struct arena *a, struct json v)
{
    int64_t ms;
    return time_parse(v.string, &ms) ? json_str(time_format(a, ms)) : v;
}

static bool is_zero(struct json v)
{
    return json_is(v, JSON_NULL) || (v.type >= JSON_STR && v.count == 0) ||
           (json_is(v, JSON_INT) && v.integer == 0);
}

static int by_path(const void *x, const void *y)
{
    return strcmp(((const struct field_error *)x)->path, ((const struct field_error *)y)->path);
}

/* The metadata of a custom object is decoded separately. An empty list of managers is kept: it
 * resets managedFields. */
static bool read_custom(struct arena *a, struct json metadata, struct json *ret,
    struct field_errors *unknown, struct error *err)
{
    struct field_errors found;
    struct json managers = json_member(metadata, "managedFields");
    field_errors_init(&found, a);
    *ret = json_present(metadata) ? meta_read_embedded(a, metadata, &found) : json_empty_map();
    for (size_t i = 0; i < found.count; i++)
        if (found.items[i].type == FIELD_TYPE_INVALID)
            return fail(err, ERR_INVALID, "%s", found.items[i].message);
    if (found.count)
        qsort(found.items, found.count, sizeof(*found.items), by_path);
    field_errors_take(unknown, &found, "metadata");
    if (json_is(managers, JSON_LIST) && !managers.count)
        *ret = json_with_member(a, *ret, "managedFields", managers);
    return true;
}

bool meta_normalise(struct arena *a, struct json metadata, const struct api_kind *k,
    struct json *ret, struct field_errors *unknown, struct error *err)
{
    struct json_builder b;
    json_builder_init(&b, a);
    if (k->custom)
        return read_custom(a, metadata, ret, unknown, err);
    if (json_present(metadata) && !json_is(metadata, JSON_MAP) && !json_is(metadata, JSON_NULL))
        return fail(err,
            ERR_INVALID,
            "json: cannot unmarshal %s into Go struct field %s.metadata of type v1.ObjectMeta",
            json_type_name(metadata),
            k->resource.kind);
    json_each_member (m, metadata) {
        const struct meta_field *f = field_of(m->key);
        if (!f) {
            field_invalid(unknown, field_child(a, "metadata", m->key), json_none, "unknown field");
            continue;
        }
        bool kept_zero = f->type == META_LIST && text_eq(f->name, "managedFields");
        bool grace = text_eq(f->name, "deletionGracePeriodSeconds") && json_is(m->value, JSON_INT);
        if (json_is(m->value, JSON_NULL))
            continue;
        if (!check_field(err, f, m->value))
            return false;
        if (is_zero(m->value) && !kept_zero && !grace)
            continue;
        json_put(&b,
            m->key,
            f->type == META_TIME    ? time_value(a, m->value)
            : f->type == META_TEXTS ? without_nulls(a, m->value)
                                    : m->value);
    }
    *ret = json_map_end(&b);
    return true;
}

/* ---- filling in ---- */

const char *meta_now(const struct env *env, struct arena *a)
{
    return time_format(a, env_wall_ms(env));
}

const char *meta_uid(const struct env *env, struct arena *a)
{
    uint64_t x = env->random(env->ctx), y = env->random(env->ctx);
    return arena_printf(a,
        "%08x-%04x-4%03x-%04x-%012llx",
        (unsigned)(x >> 32),
        (unsigned)(x >> 16 & 0xffff),
        (unsigned)(x & 0xfff),
        (unsigned)(0x8000 | (y >> 48 & 0x3fff)),
        (unsigned long long)(y & 0xffffffffffff));
}

#define GENERATED_BYTES 5
#define GENERATED_BASE_MAX (NAME_LABEL_MAX - GENERATED_BYTES)
#define GENERATED_TRIES 8

const char *meta_random_name(const struct env *env, struct arena *a, const char *base)
{
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    char suffix[GENERATED_BYTES + 1] = { 0 };
    for (int i = 0; i < GENERATED_BYTES; i++)
        suffix[i] = alphabet[env_random_below(env, sizeof(alphabet) - 1)];
    return arena_printf(a, "%.*s%s", GENERATED_BASE_MAX, base, suffix);
}

const char *meta_asked_name(struct json object)
{
    const char *name = json_get_text(object, "metadata.name");
    const char *base = json_get_text(object, "metadata.generateName");
    bool made =
        name && base && text_starts(name, base) && strlen(name) == strlen(base) + GENERATED_BYTES;
    return made ? base : name ? name : "";
}

static const char *generate_name(struct api_call *c, const char *ns, const char *base)
{
    const struct store_table *t = store_table(c->server->store, c->kind->table);
    const char *name = "";
    for (int i = 0; i < GENERATED_TRIES; i++) {
        name = meta_random_name(c->server->env, &c->arena, base);
        if (!store_get(t, ns, name))
            break;
    }
    return name;
}

struct json meta_without_system(struct arena *a, struct json object)
{
    static const char *const gone[] = {
        "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "selfLink", "uid"
    };
    struct json meta = meta_of(object);
    for (size_t i = 0; i < lengthof(gone); i++)
        if (json_present(json_member(meta, gone[i])))
            meta = json_with_member(a, meta, gone[i], json_none);
    return json_with_member(a, object, "metadata", meta);
}

struct json meta_for_create(struct api_call *c, const char *ns, struct json object)
{
    struct arena *a = &c->arena;
    const struct env *env = c->server->env;
    struct json meta = meta_of(object);
    const char *base = json_get_text(meta, "generateName");
    struct json_builder b;
    json_builder_init(&b, a);
    json_put_all(&b, meta);
    if (!json_present(json_member(meta, "name")) && base)
        json_put(&b, "name", json_str(generate_name(c, ns, base)));
    json_put(&b, "uid", json_str(meta_uid(env, a)));
    json_put(&b, "creationTimestamp", json_str(meta_now(env, a)));
    meta = json_with_member(a, json_map_end(&b), "namespace", json_str_or_absent(ns));
    if (c->kind->generation)
        meta = json_with_member(a, meta, "generation", json_int(1));
    return json_with_member(a, object, "metadata", meta);
}

struct json meta_for_update(struct arena *a, struct json old, struct json object)
{
    struct json was = meta_of(old), meta = meta_of(object);
    static const char *const kept[] = { "namespace", "creationTimestamp", "generation" };
    static const char *const filled[] = { "uid", "deletionGracePeriodSeconds" };
    for (size_t i = 0; i < lengthof(kept); i++)
        meta = json_with_member(a, meta, kept[i], json_member(was, kept[i]));
    for (size_t i = 0; i < lengthof(filled); i++)
        if (!json_present(json_member(meta, filled[i])))
            meta = json_with_member(a, meta, filled[i], json_member(was, filled[i]));
    if (meta_is_deleting(old))
        meta =
            json_with_member(a, meta, "deletionTimestamp", json_member(was, "deletionTimestamp"));
    meta = json_with_member(a, meta, "selfLink", json_none);
    return json_with_member(a, object, "metadata", meta);
}

bool meta_spec_differs(const struct api_kind *k, struct json old, struct json object)
{
    /* Metadata that controllers copy. */
    static const struct {
        const char *group, *kind, *path;
    } counted_too[] = {
        { "apps", "Deployment", "metadata.annotations" },
        { "discovery.k8s.io", "EndpointSlice", "metadata.labels" },
    };
    for (size_t i = 0; i < lengthof(counted_too); i++)
        if (text_eq(k->resource.group, counted_too[i].group) &&
            text_eq(k->resource.kind, counted_too[i].kind) &&
            !json_equal(json_get(old, counted_too[i].path), json_get(object, counted_too[i].path)))
            return true;
    json_each_member (m, object) {
        bool counted =
            strcmp(m->key, "metadata") != 0 && !(k->has_status && strcmp(m->key, "status") == 0);
        if (counted && !json_equal(m->value, json_member(old, m->key)))
            return true;
    }
    json_each_member (m, old)
        if (strcmp(m->key, "metadata") != 0 && !(k->has_status && strcmp(m->key, "status") == 0) &&
            !json_present(json_member(object, m->key)))
            return true;
    return false;
}

/* ---- validation ---- */

static void check_texts(struct field_errors *e, const char *path, struct json texts, bool labels)
{
    json_each_member (m, texts) {
        /* Annotation keys may have upper-case letters before the slash. */
        char *key = arena_strdup(e->arena, m->key);
        for (char *at = key; !labels && *at; at++)
            *at = (char)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
        check_label_key(e, json_str(m->key), path, key);
        if (labels)
            check_label_value(e, m->value, path);
    }
}

#define ANNOTATIONS_BYTES_MAX ((size_t)256 << 10)

static void check_annotations(struct field_errors *e, struct json annotations)
{
    size_t bytes = 0;
    check_texts(e, "metadata.annotations", annotations, false);
    json_each_member (m, annotations)
        bytes += strlen(m->key) + m->value.count;
    if (bytes > ANNOTATIONS_BYTES_MAX)
        field_error_add(e,
            FIELD_TOO_LONG,
            "metadata.annotations",
            json_none,
            "may not be more than 262144 bytes");
}

static void check_owner(struct field_errors *e, const char *path, struct json owner)
{
    static const struct {
        const char *field, *why;
    } required[] = {
        { "apiVersion", "version must not be empty" },
        { "kind", "must not be empty" },
        { "name", "must not be empty" },
        { "uid", "must not be empty" },
    };
    for (size_t i = 0; i < lengthof(required); i++)
        if (text_empty(json_get_text(owner, required[i].field)))
            field_invalid(
                e, field_child(e->arena, path, required[i].field), json_str(""), required[i].why);
    const char *version = json_get_text(owner, "apiVersion");
    const char *slash = version ? strchr(version, '/') : NULL;
    if (slash && strchr(slash + 1, '/'))
        field_invalid(e,
            field_child(e->arena, path, "apiVersion"),
            json_str(version),
            "version must not be empty");
    if (text_eq(json_get_text(owner, "apiVersion"), "v1") &&
        text_eq(json_get_text(owner, "kind"), "Event"))
        field_invalid(e, path, owner, "/v1, Kind=Event is disallowed from being an owner");
}

static void check_owners(struct field_errors *e, struct json owners)
{
    size_t index = 0;
    const char *controller = NULL;
    json_each (owner, owners) {
        const char *path = "metadata.ownerReferences";
        check_owner(e, path, *owner);
        index++;
        if (!json_get_bool(*owner, "controller", false))
            continue;
        const char *kind = json_get_text(*owner, "kind"), *name = json_get_text(*owner, "name");
        name = arena_printf(e->arena, "%s/%s", kind ? kind : "", name ? name : "");
        if (controller)
            field_invalid(e,
                path,
                owners,
                arena_printf(e->arena,
                    "Only one reference can have Controller set to true. Found \"true\" in "
                    "references for %s and %s",
                    controller,
                    name));
        else
            controller = name;
    }
}

static void check_finalizers(struct field_errors *e, struct json finalizers)
{
    struct error why;
    json_each (f, finalizers)
        if (!name_check(NAME_LABEL_KEY, json_text(*f), &why))
            check_label_key(e, *f, "metadata.finalizers", f->string);
    if (json_list_has(finalizers, "orphan") && json_list_has(finalizers, "foregroundDeletion"))
        field_invalid(e,
            "metadata.finalizers",
            finalizers,
            "finalizer orphan and foregroundDeletion cannot be both set");
}

static void check_known_finalizers(
    struct field_errors *e, const struct api_kind *k, struct json finalizers)
{
    size_t index = 0;
    if (k->custom || k->any_finalizer)
        return;
    json_each (f, finalizers) {
        if (!strchr(f->string, '/') && !text_eq(f->string, "orphan") &&
            !text_eq(f->string, "foregroundDeletion") && !text_eq(f->string, "kubernetes"))
            field_invalid(e,
                field_index(e->arena, "metadata.finalizers", index),
                *f,
                "name is neither a standard finalizer name nor is it fully qualified");
        index++;
    }
}

/* Adds all errors of a name. */
static void check_form(struct field_errors *e, const char *path, enum api_name form,
    const char *name, const char *shown)
{
    static const struct {
        enum name_kind kind;
        size_t max;
    } forms[] = {
        [API_NAME_SUBDOMAIN] = { NAME_DNS1123_SUBDOMAIN, NAME_SUBDOMAIN_MAX },
        [API_NAME_LABEL] = { NAME_DNS1123_LABEL, NAME_LABEL_MAX },
        [API_NAME_LABEL_1035] = { NAME_DNS1035_LABEL, NAME_LABEL_MAX },
    };
    struct error why;
    if (form == API_NAME_PATH) {
        check_segment(e, json_str(shown), path, name);
        return;
    }
    if (form == API_NAME_ADDRESS) {
        check_value(e, json_str(shown), path, &(struct check){ .kind = CHECK_IP });
        return;
    }
    size_t max = forms[form].max;
    if (strlen(name) > max)
        field_invalid(e,
            path,
            json_str(shown),
            arena_printf(e->arena, "must be no more than %zu characters", max));
    if (!name_check(forms[form].kind, check_shortened(e->arena, name, max), &why))
        field_invalid(e, path, json_str(shown), why.text);
}

static void check_base(struct field_errors *e, enum api_name form, const char *base)
{
    size_t length = strlen(base);
    char *like = arena_strdup(e->arena, base);
    if (length && like[length - 1] == '-')
        like[length - 1] = 'a';
    check_form(e, "metadata.generateName", form, like, base);
}

static void check_own_name(struct field_errors *e, const struct api_kind *k, struct json metadata)
{
    const char *base = json_get_text(metadata, "generateName");
    const char *name = json_get_text(metadata, "name");
    if (base)
        check_base(e, k->free_base ? API_NAME_PATH : k->name_form, base);
    if (text_empty(name))
        field_required(e, "metadata.name", "name or generateName is required");
    else
        check_form(e, "metadata.name", k->name_form, name, name);
}

void meta_validate(struct field_errors *errors, const struct api_kind *k, struct json metadata)
{
    check_own_name(errors, k, metadata);
    check_texts(errors, "metadata.labels", json_member(metadata, "labels"), true);
    check_annotations(errors, json_member(metadata, "annotations"));
    check_owners(errors, json_member(metadata, "ownerReferences"));
    check_finalizers(errors, json_member(metadata, "finalizers"));
    check_known_finalizers(errors, k, json_member(metadata, "finalizers"));
}

static void check_managers(struct field_errors *e, struct json managers)
{
    size_t i = 0;
    json_each (entry, managers) {
        const char *path = field_index(e->arena, "metadata.managedFields", i++);
        const char *manager = json_get_text(*entry, "manager");
        struct json subresource = json_member(*entry, "subresource");
        if (manager)
            options_check_manager(e, field_child(e->arena, path, "manager"), manager);
        if (json_is(subresource, JSON_STR) && subresource.count > SUBRESOURCE_BYTES_MAX)
            field_error_add(e,
                FIELD_TOO_LONG,
                field_child(e->arena, path, "subresource"),
                subresource,
                "may not be more than 256 bytes");
    }
}

static void check_same(
    struct field_errors *e, struct json old, struct json metadata, const char *field)
{
    struct json now = json_member(metadata, field);
    if (!json_equal(json_member(old, field), now))
        field_invalid(e,
            field_child(e->arena, "metadata", field),
            json_present(now) ? now : json_null(),
            "field is immutable");
}

/* Finalizers added to a terminating object. */
static void check_new_finalizers(struct field_errors *e, struct json old, struct json metadata)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)1 << 20);
    if (!json_present(json_member(old, "deletionTimestamp")))
        return;
    json_each (f, json_member(metadata, "finalizers"))
        if (!json_list_has(json_member(old, "finalizers"), json_text(*f)))
            buf_printf(&b, "%s%s", b.len ? ", " : "", json_to_text(e->arena, *f));
    if (b.len)
        field_forbidden(e,
            "metadata.finalizers",
            arena_printf(e->arena,
                "no new finalizers can be added if the object is being deleted, found new "
                "finalizers []string{%s}",
                buf_text(&b)));
}

/* Validation of any metadata. */
static void check_as_new(struct field_errors *e, struct json metadata)
{
    check_texts(e, "metadata.labels", json_member(metadata, "labels"), true);
    check_annotations(e, json_member(metadata, "annotations"));
    check_owners(e, json_member(metadata, "ownerReferences"));
    check_managers(e, json_member(metadata, "managedFields"));
    check_finalizers(e, json_member(metadata, "finalizers"));
}

void meta_validate_update(
    struct field_errors *errors, const struct api_kind *k, struct json old, struct json metadata)
{
    static const char *const same[] = { "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds" };
    const char *base = json_get_text(metadata, "generateName");
    if (!text_empty(base) && !text_eq(base, ".") && !text_eq(base, ".."))
        check_base(errors, API_NAME_PATH, base);
    check_as_new(errors, metadata);
    check_new_finalizers(errors, old, metadata);
    for (size_t i = 0; i < lengthof(same); i++)
        check_same(errors, old, metadata, same[i]);
    check_known_finalizers(errors, k, json_member(metadata, "finalizers"));
}

/* ---- embedded objects ---- */

/* Embedded metadata is decoded as a type of its own, so its type name is missing in messages. */
static struct schema embedded_schema(void)
{
    struct schema s = { .table = schema_builtin };
    for (uint32_t i = 0; i < schema_builtin_kind_count; i++)
        if (text_eq(schema_builtin.names + schema_builtin_kinds[i].name, "/v1/Pod"))
            s.root = (uint16_t)schema_builtin_kinds[i].root;
    s.root = schema_member_type(&s, schema_type(&s, s.root), "metadata");
    return s;
}

/* A whole number in any notation is an integer, because it was a float64 in Go. */
static struct json whole_numbers(struct arena *a, struct json metadata)
{
    json_each_member (m, metadata)
        if (json_is(m->value, JSON_REAL) && fabs(m->value.real) < 0x1p63 &&
            m->value.real == (double)(int64_t)m->value.real)
            metadata = json_with_member(a, metadata, m->key, json_int((int64_t)m->value.real));
    return metadata;
}

/* The readable fields, one by one. */
static struct json readable(struct arena *a, const struct schema *s, struct json metadata)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each_member (m, metadata) {
        struct field_errors wrong;
        field_errors_init(&wrong, a);
        decode_object(a, s, json_map(a, { m->key, m->value }), &wrong);
        if (!wrong.count || wrong.items[0].type != FIELD_TYPE_INVALID)
            json_put(&b, m->key, m->value);
    }
    return json_map_end(&b);
}

struct json meta_read_embedded(struct arena *a, struct json metadata, struct field_errors *unknown)
{
    struct schema s = embedded_schema();
    struct field_errors ignored;
    size_t before = unknown->count;
    if (json_is(metadata, JSON_NULL))
        return json_empty_map();
    if (!json_is(metadata, JSON_MAP)) {
        field_error_add(unknown, FIELD_TYPE_INVALID, "", json_none, NULL);
        unknown->items[before].message = arena_printf(a,
            "json: cannot unmarshal %s into Go value of type v1.ObjectMeta",
            json_type_name(metadata));
        return metadata;
    }
    struct json given = whole_numbers(a, metadata), read = decode_object(a, &s, given, unknown);
    for (size_t i = before; i < unknown->count; i++)
        if (unknown->items[i].type == FIELD_TYPE_INVALID) {
            field_errors_init(&ignored, a);
            return decode_object(a, &s, readable(a, &s, given), &ignored);
        }
    return read;
}

static void check_manager_types(struct field_errors *e, struct json managers)
{
    static const struct {
        const char *field, *detail, *allowed[2];
    } rules[] = {
        { "operation", "must be `Apply` or `Update`", { "Apply", "Update" } },
        { "fieldsType", "must be `FieldsV1`", { "FieldsV1", "" } },
    };
    for (uint32_t i = 0; i < managers.count; i++)
        for (size_t r = 0; r < lengthof(rules); r++) {
            const char *text = json_get_text(managers.items[i], rules[r].field);
            text = text ? text : "";
            if (!text_eq(text, rules[r].allowed[0]) && !text_eq(text, rules[r].allowed[1]))
                field_invalid(e,
                    field_child(e->arena,
                        field_index(e->arena, "metadata.managedFields", i),
                        rules[r].field),
                    json_str(text),
                    rules[r].detail);
        }
}

void meta_validate_embedded(struct field_errors *errors, struct json metadata)
{
    const char *base = json_get_text(metadata, "generateName");
    const char *name = json_get_text(metadata, "name");
    struct json ns = json_member(metadata, "namespace");
    if (base && !text_eq(base, ".") && !text_eq(base, ".."))
        check_form(errors, "metadata.generateName", API_NAME_PATH, base, base);
    if (name)
        check_form(errors, "metadata.name", API_NAME_PATH, name, name);
    if (json_present(ns))
        check_form(errors, "metadata.namespace", API_NAME_LABEL, json_text(ns), json_text(ns));
    if (json_get_int(metadata, "generation", 0) < 0)
        field_invalid(errors,
            "metadata.generation",
            json_member(metadata, "generation"),
            "must be greater than or equal to 0");
    check_as_new(errors, metadata);
    check_manager_types(errors, json_member(metadata, "managedFields"));
}
