#include "apiserver/controllers/crd.h"

#include <stdlib.h>
#include <string.h>

#include "apiserver/controllers/gc.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/object.h"
#include "apiserver/custom/crd_check.h"
#include "apiserver/custom/crd_fill.h"
#include "apiserver/custom/crd_shape.h"
#include "apiserver/custom/crd_status.h"
#include "apiserver/custom/custom.h"
#include "apiserver/rules/formats.h"
#include "apiserver/verbs/remove.h"
#include "base/table.h"
#include "merge/apply.h"

#define CRD_TABLE "apiextensions.k8s.io/customresourcedefinitions"

/* Memory that open calls may still use. */
struct retired {
    struct arena arena;
    struct retired *next;
};

/* The state for a stored CRD. It is kept until the server ends, because calls have pointers to
 * kinds. */
struct definition {
    struct table_node node;
    char *name;
    struct arena *arena;     /* for the current kinds; NULL: none */
    struct retired *retired; /* arenas of earlier kinds */
    struct custom *customs;  /* one for each version that ever existed */
    bool due;
};

struct crds {
    struct apiserver *server;
    struct schemas *schemas;
    struct api_kind kind; /* CustomResourceDefinition */
    struct table definitions;
    bool due; /* some CRD is due */
};

/* ---- CRDs ---- */

static bool definition_is(const struct table_node *n, const void *name)
{
    return strcmp(container_of(n, struct definition, node)->name, name) == 0;
}

static struct definition *definition_of(struct crds *c, const char *name)
{
    uint64_t hash = table_hash(&c->definitions, name, strlen(name));
    struct table_node *n = table_find(&c->definitions, hash, definition_is, name);
    if (n)
        return container_of(n, struct definition, node);
    struct definition *d = mem_new_of(struct definition);
    d->name = mem_strdup(name);
    table_add(&c->definitions, &d->node, hash);
    return d;
}

static bool is_in_use(struct crds *c, const struct definition *d)
{
    for (const struct api_call *call = c->server->calls; call; call = call->next)
        for (const struct custom *custom = d->customs; custom; custom = custom->next)
            if (call->kind == &custom->kind)
                return true;
    return false;
}

static void free_retired(struct definition *d)
{
    while (d->retired) {
        struct retired *r = d->retired;
        d->retired = r->next;
        arena_done(&r->arena);
        free(r);
    }
}

static void retire(struct crds *c, struct definition *d)
{
    if (d->arena) {
        struct retired *r = container_of(d->arena, struct retired, arena);
        r->next = d->retired;
        d->retired = r;
        d->arena = NULL;
    }
    if (!is_in_use(c, d))
        free_retired(d);
}

/* Ends its watches. */
static void unregister(struct crds *c, struct custom *custom)
{
    if (!custom->registered)
        return;
    registry_remove(c->server->registry, &custom->kind);
    watch_end_kind(c->server, &custom->kind);
    custom->registered = false;
}

static struct custom *custom_of_version(struct crds *c, struct definition *d, const char *version)
{
    struct custom **at = &d->customs;
    for (; *at; at = &(*at)->next)
        if (text_eq((*at)->version, version))
            return *at;
    struct custom *made = mem_new_of(struct custom);
    made->crds = c;
    made->definition = d->name;
    made->version = mem_strdup(version);
    return *at = made;
}

static bool schemas_differ(struct json versions)
{
    struct json first = json_member(json_item(versions, 0), "schema");
    json_each (version, versions)
        if (!json_equal(json_member(*version, "schema"), first))
            return true;
    return false;
}

/* Replaces the kinds of a CRD according to its current spec. schema_changed: objects may have been
 * stored with another schema. */
static void define(struct crds *c, struct json crd, bool schema_changed)
{
    const char *name = json_get_text(crd, "metadata.name");
    struct definition *d = definition_of(c, name);
    struct json versions = json_get(crd, "spec.versions");
    bool served = crd_status_is(crd, "Established");
    bool ending = json_present(json_get(crd, "metadata.deletionTimestamp"));
    bool converting = schemas_differ(versions);
    struct retired *fresh = mem_new_of(struct retired);
    arena_init(&fresh->arena, ARENA_LIMIT_DEFAULT);
    /* Texts of kinds are moved to the new arena before the old one is freed. */
    json_each (version, versions) {
        struct custom *custom = custom_of_version(c, d, json_get_text(*version, "name"));
        unregister(c, custom);
        custom_init(custom, &fresh->arena, crd, *version);
        custom->kind.behaviour = converting ? &custom_converting_behaviour : &custom_behaviour;
        custom->kind.refill |= schema_changed;
        custom->ending = ending;
        custom->registered = served && json_get_bool(*version, "served", false) &&
                             registry_add(c->server->registry, &custom->kind);
    }
    for (struct custom *custom = d->customs; custom; custom = custom->next) {
        custom->siblings = d->customs;
        if (custom->arena != &fresh->arena)
            unregister(c, custom);
    }
    retire(c, d);
    d->arena = &fresh->arena;
    if (served && c->server->gc)
        gc_doubt(c->server->gc); /* objects may have had owners of an unknown kind */
}

static void undefine(struct crds *c, const char *name)
{
    struct definition *d = definition_of(c, name);
    for (struct custom *custom = d->customs; custom; custom = custom->next) {
        unregister(c, custom);
        custom->kind.refill = false;
    }
}

struct json crds_schema(
    struct crds *c, struct arena *a, const char *definition, const char *version)
{
    struct json crd;
    struct error err;
    const struct store_object *o =
        store_get(store_table(c->server->store, CRD_TABLE), "", definition);
    if (!o || !json_parse(a, o->text, &crd, &err))
        return json_none;
    struct json found = json_find(json_get(crd, "spec.versions"), "name", version);
    return json_get(found, "schema.openAPIV3Schema");
}

/* ---- processing of written CRDs ---- */

static void set_due(struct crds *c, struct definition *d)
{
    d->due = true;
    c->due = true;
}

void crds_object_gone(struct crds *c, const char *definition)
{
    set_due(c, definition_of(c, definition));
}

static struct json read_crd(struct crds *c, struct arena *a, const char *name)
{
    return apiserver_read(c->server, a, &c->kind, "", name);
}

/* Writes as the server itself, which owns the status. */
static bool store_status(struct crds *c, struct arena *a, struct json old, struct json crd)
{
    const char *name = json_get_text(old, "metadata.name");
    struct write w = {
        .server = c->server,
        .arena = a,
        .kind = &c->kind,
        .ns = "",
        .name = name,
        .before = store_get(store_table(c->server->store, CRD_TABLE), "", name),
        .old = old,
    };
    struct apply_request request = {
        .schema = c->kind.schema,
        .api_version = "apiextensions.k8s.io/v1",
        .manager = "kube-apiserver",
        .subresource = "status",
        .now = meta_now(c->server->env, a),
        .reset = apply_reset_fields(
            a, "apiextensions.k8s.io", "CustomResourceDefinition", "status", false),
    };
    struct error err;
    const struct store_object *stored;
    struct json owned;
    if (json_equal(old, crd))
        return true;
    if (apply_update(a, &request, old, crd, &owned, &err))
        crd = owned;
    store_object_hold(w.before);
    bool fine = write_store(&w, crd, write_is_last(crd), &stored);
    store_object_release(w.before);
    return fine;
}

/* All other CRDs of the group. */
static struct json others_of(struct crds *c, struct arena *a, struct json crd)
{
    struct json_builder b;
    json_builder_init(&b, a);
    const char *group = json_get_text(crd, "spec.group");
    const char *name = json_get_text(crd, "metadata.name");
    struct store_cursor cursor = { 0 };
    const struct store_object *o;
    while ((o = store_next(store_table(c->server->store, CRD_TABLE), &cursor))) {
        cursor.after_ns = o->ns;
        cursor.after_name = o->name;
        if (text_eq(o->name, name) || !text_ends(o->name, group))
            continue;
        struct json other = object_read(&c->kind, a, o);
        if (text_eq(json_get_text(other, "spec.group"), group))
            json_push(&b, other);
    }
    return json_list_end(&b);
}

static void settle_names(struct crds *c, struct arena *a, struct json crd)
{
    const char *now = meta_now(c->server->env, a);
    struct json accepted = crd_status_accept(a, crd, others_of(c, a, crd), now);
    accepted = crd_status_approve(a, accepted, now);
    if (!store_status(c, a, crd, accepted))
        return;
    crd = read_crd(c, a, json_get_text(crd, "metadata.name"));
    store_status(c, a, crd, crd_status_establish(a, crd, now));
}

static bool delete_one(
    struct crds *c, struct arena *a, const struct api_kind *k, const struct store_object *o)
{
    struct write w = {
        .server = c->server,
        .arena = a,
        .kind = k,
        .ns = arena_strdup(a, o->ns),
        .name = arena_strdup(a, o->name),
        .before = o,
        .old = object_read(k, a, o),
    };
    struct delete_options options = { .propagation = PROPAGATION_BACKGROUND };
    struct json object;
    const struct store_object *stored;
    bool gone = false;
    if (meta_is_deleting(w.old))
        return false;
    store_object_hold(o);
    bool fine = delete_object(&w, &options, &object, &stored, &gone);
    store_object_release(o);
    return fine && gone;
}

/* The limit per turn, so that other requests are served, too. */
#define DELETES_MAX 256

/* Watchers get the deletion of each object before the kind is removed: if objects were deleted in
 * this turn, the CRD waits for the next turn. */
enum emptied { EMPTIED, EMPTIED_NOW, WAITING };

static enum emptied empty(struct crds *c, struct definition *d, struct arena *a)
{
    const struct custom *custom = d->customs;
    while (custom && custom->arena != d->arena) /* for a version that is gone, with its texts */
        custom = custom->next;
    if (!custom)
        return EMPTIED;
    struct store_table *t = store_table(c->server->store, custom->kind.table);
    struct store_cursor cursor = { 0 };
    const struct store_object *o;
    size_t deleted = 0;
    while (deleted < DELETES_MAX && (o = store_next(t, &cursor))) {
        cursor.after_ns = arena_strdup(a, o->ns);
        cursor.after_name = arena_strdup(a, o->name);
        deleted += delete_one(c, a, &custom->kind, o);
    }
    return deleted ? EMPTIED_NOW : store_table_count(t) ? WAITING : EMPTIED;
}

static void end(struct crds *c, struct definition *d, struct arena *a, struct json crd)
{
    const char *now = meta_now(c->server->env, a);
    enum emptied state = empty(c, d, a);
    struct json marked = crd_status_with(a,
        crd,
        "Terminating",
        true,
        "InstanceDeletionInProgress",
        "CustomResource deletion is in progress",
        now);
    if (state == EMPTIED_NOW)
        set_due(c, d);
    if (state != EMPTIED) {
        store_status(c, a, crd, marked);
        return;
    }
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (f, json_get(crd, "metadata.finalizers"))
        if (!text_eq(json_text(*f), CRD_FINALIZER))
            json_push(&b, *f);
    struct json left = json_or_absent(json_list_end(&b));
    store_status(c, a, crd, json_with(a, crd, "metadata.finalizers", left));
}

static void settle(struct crds *c, struct definition *d)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json crd = read_crd(c, &a, d->name);
    d->due = false;
    if (!json_present(crd))
        return;
    if (!json_present(json_get(crd, "metadata.deletionTimestamp")))
        settle_names(c, &a, crd);
    else if (json_list_has(json_get(crd, "metadata.finalizers"), CRD_FINALIZER))
        end(c, d, &a, crd);
}

static bool is_unsettled(struct json crd)
{
    return !crd_status_is(crd, "Established") ||
           json_present(json_get(crd, "metadata.deletionTimestamp"));
}

void crds_doubt(struct crds *c)
{
    for (struct table_cursor t = table_first(&c->definitions); t.node; table_next(&t)) {
        struct definition *d = container_of(t.node, struct definition, node);
        cleanup(arena_done) struct arena a = ARENA_INIT;
        if (is_unsettled(read_crd(c, &a, d->name)))
            set_due(c, d);
    }
}

static bool is_pending(const void *ctx)
{
    const struct crds *c = ctx;
    return c->due;
}

static void run(void *ctx)
{
    struct crds *c = ctx;
    if (!c->due)
        return;
    c->due = false;
    struct definition *due[64];
    size_t count = 0;
    for (struct table_cursor t = table_first(&c->definitions); t.node; table_next(&t)) {
        struct definition *d = container_of(t.node, struct definition, node);
        if (d->due && count < lengthof(due))
            due[count++] = d;
        else
            c->due |= d->due;
    }
    for (size_t i = 0; i < count; i++)
        settle(c, due[i]);
}

/* ---- the kind CustomResourceDefinition ---- */

static struct crds *crds_of(const struct api_kind *k)
{
    return k->ctx;
}

static struct json prune(
    const struct api_kind *k, struct arena *a, struct json object, struct field_errors *unknown)
{
    struct error err;
    (void)k;
    if (!crd_shape_check(a, object, &err))
        field_error_add(unknown, FIELD_TYPE_INVALID, "", json_none, err.text);
    return crd_shape_prune(a, object, unknown);
}

static struct json fill(const struct api_kind *k, struct arena *a, struct json object)
{
    (void)k;
    return crd_fill(a, object);
}

static bool prepare(const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    *object = crd_prepare(w->arena, *object, w->old, text_eq(w->subresource, "status"));
    return true;
}

/* Warns about unknown formats in a schema, except those that existed before. */
static void warn_of_formats(const struct api_write *w, struct json schema, struct json old)
{
    struct json format = json_member(schema, "format");
    const char *type = json_text(json_member(schema, "type"));
    if (json_is(format, JSON_STR) && !format_of(format.string, type) &&
        !json_equal(json_member(old, "format"), format))
        call_warn(w->call, arena_printf(w->arena, "unrecognized format \"%s\"", format.string));
    json_each_member (m, json_member(schema, "properties"))
        warn_of_formats(w, m->value, json_member(json_member(old, "properties"), m->key));
    static const char *const below[] = {
        "items", "additionalProperties", "not", "allOf", "anyOf", "oneOf"
    };
    for (size_t i = 0; i < lengthof(below); i++) {
        struct json part = json_member(schema, below[i]), before = json_member(old, below[i]);
        if (json_is(part, JSON_MAP))
            warn_of_formats(w, part, before);
        for (uint32_t j = 0; json_is(part, JSON_LIST) && j < part.count; j++)
            warn_of_formats(w, part.items[j], json_item(before, j));
    }
}

static void validate(const struct api_write *w, struct json object, struct field_errors *errors)
{
    if (text_eq(w->subresource, "status"))
        return; /* a storage migrator writes the status; a change of the spec is checked */
    crd_check(w->arena, object, w->old, errors);
    struct json before = json_get(w->old, "spec.versions");
    if (!w->call || errors->count)
        return;
    if (!json_present(w->old) &&
        text_eq(json_get_text(object, "spec.conversion.strategy"), "Webhook"))
        call_warn(w->call,
            "this server calls no webhooks: objects are served in the version they are stored in");
    json_each (version, json_get(object, "spec.versions")) {
        const char *name = json_get_text(*version, "name");
        warn_of_formats(w,
            json_get(*version, "schema.openAPIV3Schema"),
            json_get(json_find(before, "name", name), "schema.openAPIV3Schema"));
    }
}

/* CRDs that wait for a name may get it now. */
static void wake_waiting(struct crds *c, const char *group)
{
    for (struct table_cursor t = table_first(&c->definitions); t.node; table_next(&t)) {
        struct definition *d = container_of(t.node, struct definition, node);
        bool served = false;
        for (const struct custom *custom = d->customs; custom; custom = custom->next)
            served |= custom->registered;
        if (!served && group && text_ends(d->name, group))
            set_due(c, d);
    }
}

static void written(
    struct apiserver *server, const struct api_kind *k, struct json old, struct json object)
{
    (void)server;
    struct crds *c = crds_of(k);
    struct json versions = json_get(object, "spec.versions");
    if (!json_present(object)) {
        undefine(c, json_get_text(old, "metadata.name"));
        wake_waiting(c, json_get_text(old, "spec.group"));
        return;
    }
    struct definition *d = definition_of(c, json_get_text(object, "metadata.name"));
    bool other_versions = !json_equal(json_get(old, "spec.versions"), versions);
    bool other_names = !json_equal(json_get(old, "spec.names"), json_get(object, "spec.names"));
    bool accepted = crd_status_is(object, "Established");
    bool ends = json_present(json_get(object, "metadata.deletionTimestamp"));
    struct json names = json_get(object, "status.acceptedNames");
    if (!json_equal(json_member(old, "spec"), json_member(object, "spec")) ||
        !json_equal(json_get(old, "status.acceptedNames"), names) ||
        crd_status_is(old, "Established") != accepted)
        define(c, object, json_present(old) && other_versions);
    for (struct custom *custom = d->customs; custom; custom = custom->next)
        custom->ending = ends;
    if (other_names || !accepted || ends)
        set_due(c, d);
    if (other_names && json_present(old))
        wake_waiting(c, json_get_text(object, "spec.group"));
}

static struct json cells(
    const struct api_kind *k, struct arena *a, struct json object, int64_t wall_ms)
{
    (void)k, (void)wall_ms;
    return json_list(
        a, json_get(object, "metadata.name"), json_get(object, "metadata.creationTimestamp"));
}

static const struct api_behaviour behaviour = {
    .prune = prune,
    .fill = fill,
    .prepare = prepare,
    .validate = validate,
    .written = written,
    .cells = cells,
};

bool crds_is_kind(const struct api_kind *k)
{
    return k->behaviour == &behaviour;
}

struct json crds_mark(struct arena *a, struct json crd, const char *now)
{
    struct json_builder b;
    json_builder_init(&b, a);
    struct json finalizers = json_get(crd, "metadata.finalizers");
    json_push_all(&b, finalizers);
    if (!json_list_has(finalizers, CRD_FINALIZER))
        json_push(&b, json_str(CRD_FINALIZER));
    crd = json_with(a, crd, "metadata.finalizers", json_list_end(&b));
    if (json_present(json_get(crd, "metadata.deletionTimestamp")))
        return crd;
    crd = json_with(a, crd, "metadata.deletionTimestamp", json_str(now));
    return crd_status_with(a,
        crd,
        "Terminating",
        true,
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        now);
}

static const struct api_column columns[] = {
    { "Name",
        "string",
        "name",
        "Name must be unique within a namespace. Is required when creating resources, although "
        "some resources may allow a client to request the generation of an appropriate name "
        "automatically. Name is primarily intended for creation idempotence and configuration "
        "definition. Cannot be updated. More info: "
        "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
        NULL,
        0 },
    { "Created At",
        "date",
        "",
        "CreationTimestamp is a timestamp representing the server time when this object was "
        "created. It is not guaranteed to be set in happens-before order across separate "
        "operations. Clients may not set this value. It is represented in RFC3339 form and is in "
        "UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
        "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
        "#metadata",
        NULL,
        0 },
};

static const char *const short_names[] = { "crd", "crds", NULL };
static const char *const categories[] = { "api-extensions", NULL };

static void define_stored(struct crds *c)
{
    struct store_cursor cursor = { 0 };
    const struct store_object *o;
    while ((o = store_next(store_table(c->server->store, CRD_TABLE), &cursor))) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        cursor.after_ns = o->ns;
        cursor.after_name = o->name;
        struct json crd = object_read(&c->kind, &a, o);
        /* An updated CRD has objects that were stored with another schema. */
        define(c, crd, json_get_int(crd, "metadata.generation", 1) > 1);
        if (is_unsettled(crd))
            set_due(c, definition_of(c, o->name));
    }
}

struct crds *crds_new(struct apiserver *s)
{
    struct crds *c = mem_new_of(struct crds);
    c->server = s;
    c->schemas = schemas_new();
    table_init(&c->definitions, s->env->random(s->env->ctx), s->env->random(s->env->ctx));
    c->kind = (struct api_kind){
        .resource = RESOURCE_CRD,
        .singular = "customresourcedefinition",
        .list_kind = "CustomResourceDefinitionList",
        .short_names = short_names,
        .categories = categories,
        .verbs = API_ALL_VERBS,
        .has_status = true,
        .generation = true,
        .table = CRD_TABLE,
        .storage_version = "apiextensions.k8s.io/v1",
        .schema = schema_of(c->schemas, "apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        .columns = columns,
        .column_count = lengthof(columns),
        .behaviour = &behaviour,
        .ctx = c,
        .group_priority = 16700,
        .version_priority = 15,
    };
    bool added = registry_add(s->registry, &c->kind);
    assert(added);
    define_stored(c);
    server_add_hook(s, &(struct server_hook){ c, is_pending, .after_flush = run });
    return c;
}

void crds_free(struct crds *c)
{
    if (!c)
        return;
    for (struct table_cursor t = table_first(&c->definitions); t.node; table_next(&t)) {
        struct definition *d = container_of(t.node, struct definition, node);
        table_remove(&c->definitions, t.node);
        if (d->arena) {
            struct retired *r = container_of(d->arena, struct retired, arena);
            arena_done(&r->arena);
            free(r);
        }
        free_retired(d);
        while (d->customs) {
            struct custom *custom = d->customs;
            d->customs = custom->next;
            free(custom->version);
            free(custom);
        }
        free(d->name);
        free(d);
    }
    table_done(&c->definitions);
    schemas_free(c->schemas);
    free(c);
}
