#include "apiserver/verbs/write.h"

#include <string.h>

#include "apiserver/access/auth.h"
#include "apiserver/controllers/gc.h"
#include "apiserver/controllers/namespace.h"
#include "apiserver/controllers/quota.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/object.h"
#include "apiserver/core/options.h"
#include "apiserver/custom/custom.h"

struct write write_of_call(struct api_call *c)
{
    return (struct write){
        .call = c,
        .server = c->server,
        .arena = &c->arena,
        .kind = c->kind,
        .ns = c->ns,
        .name = c->name,
    };
}

/* ---- owners ---- */

static const struct api_kind *kind_at(const struct write *w, const char *api_version)
{
    const struct resource *r = &w->kind->resource;
    size_t group = strlen(r->group);
    if (w->kind->custom)
        return custom_kind_at(w->kind, api_version);
    if (!group) /* "/v1" has no group either */
        return registry_find_kind(
            w->server->registry, "", api_version + (*api_version == '/'), r->kind);
    if (strncmp(api_version, r->group, group) != 0 || api_version[group] != '/')
        return NULL;
    return registry_find_kind(w->server->registry, r->group, api_version + group + 1, r->kind);
}

static const struct schema *schema_at(void *ctx, const char *api_version)
{
    const struct api_kind *k = kind_at(ctx, api_version);
    return k ? (k->schema ? k->schema : schema_deduced()) : NULL;
}

/* Custom objects keep fields that the other version does not have. */
static struct json convert_to(
    void *ctx, struct arena *a, struct json object, const char *api_version)
{
    const struct api_kind *k = kind_at(ctx, api_version);
    if (k && !k->custom && k->behaviour && k->behaviour->convert)
        object = k->behaviour->convert(k, a, object, api_version);
    return json_with_member(a, object, "apiVersion", json_str(api_version));
}

struct apply_versions write_versions(struct write *w)
{
    return (struct apply_versions){
        .schema_of = schema_at,
        .convert = convert_to,
        .ctx = w,
        .missing = w->kind->custom ? "request to convert CR to an invalid group/version" : NULL,
        .resets_own = w->kind->custom,
    };
}

const struct fieldset *write_reset_fields(struct write *w, const char *subresource)
{
    const struct api_kind *k = w->kind;
    if (!*subresource && !k->has_status) /* its status is an ordinary field */
        return NULL;
    return apply_reset_fields(
        w->arena, k->resource.group, k->resource.kind, subresource, k->custom);
}

void write_track(struct write *w, const char *manager, const char *subresource, struct json *object)
{
    struct arena *a = w->arena;
    struct error err;
    struct json merged;
    struct apply_versions versions = write_versions(w);
    struct apply_request request = {
        .schema = w->kind->schema ? w->kind->schema : schema_deduced(),
        .api_version = object_api_version(a, w->kind),
        .manager = manager,
        .subresource = subresource,
        .now = meta_now(w->server->env, a),
        .reset = write_reset_fields(w, subresource),
        .versions = &versions,
    };
    /* If the owners cannot be computed, the object is stored without them. */
    struct json owners = { 0 };
    if (apply_update(a, &request, w->old, *object, &merged, &err))
        owners = json_get(merged, "metadata.managedFields");
    *object = json_with(a, *object, "metadata.managedFields", owners);
}

bool write_fill_owners(struct write *w, struct json *object, bool applied)
{
    if (!applied)
        write_track(w, w->call->manager, w->call->subresource, object);
    return true;
}

/* ---- checks ---- */

static struct api_write write_for_behaviour(const struct write *w)
{
    return (struct api_write){
        .server = w->server,
        .kind = w->kind,
        .user = w->call ? w->call->request->user : NULL,
        .arena = w->arena,
        .subresource = w->call ? w->call->subresource : "",
        .old = w->old,
        .now = meta_now(w->server->env, w->arena),
        .dry_run = w->call && w->call->dry_run,
        .call = w->call,
    };
}

/* For kinds without a prepare function: a status can only be written by its own subresource. */
static struct json prepare_plain(struct write *w, struct json object)
{
    struct arena *a = w->arena;
    if (!w->kind->has_status)
        return object;
    if (!text_eq(w->call ? w->call->subresource : "", "status"))
        return json_with_member(a, object, "status", json_member(w->old, "status"));
    struct json meta = meta_of(w->old), given = meta_of(object);
    meta = json_with_member(a, meta, "managedFields", json_member(given, "managedFields"));
    meta = json_with_member(a, meta, "resourceVersion", json_member(given, "resourceVersion"));
    struct json status = json_member(object, "status");
    object = json_with_member(a, w->old, "metadata", meta);
    return json_with_member(a, object, "status", status);
}

static bool fail_refused(struct write *w, const char *name, const struct error *err)
{
    if (err->code == ERR_NONE)
        return false; /* answered already */
    struct api_status status = status_of_error(w->arena, err);
    if (err->code == ERR_FORBIDDEN)
        status.details = json_map(w->arena,
            { "name", json_str_or_absent(name) },
            { "group", json_str_or_absent(w->kind->resource.group) },
            { "kind", json_str(w->kind->resource.plural) });
    return call_fail(w->call, status);
}

static bool prepare(struct write *w, struct json *object)
{
    struct error err = { 0 };
    const struct api_behaviour *b = w->kind->behaviour;
    struct api_write for_kind = write_for_behaviour(w);
    if (!b || !b->prepare) {
        *object = prepare_plain(w, *object);
        return true;
    }
    return b->prepare(&for_kind, object, &err) || fail_refused(w, meta_asked_name(*object), &err);
}

static bool validate(struct write *w, struct json object, struct field_errors *errors)
{
    const struct api_behaviour *b = w->kind->behaviour;
    struct api_write for_kind = write_for_behaviour(w);
    if (b && b->validate)
        b->validate(&for_kind, object, errors);
    const char *name = json_get_text(object, "metadata.name");
    struct api_answer answer;
    if (!errors->count && !w->server->options.allow_all && w->server->auth &&
        !auth_check_escalation(w->server->auth, &for_kind, object, &answer)) {
        call_answer(w->call, &answer);
        return false;
    }
    /* Errors refer to the stored form: an Event is in the core group, whatever version was sent. */
    const char *stored = w->kind->storage_version;
    bool core = !w->kind->custom && stored && !strchr(stored, '/');
    if (errors->count)
        return call_fail(w->call,
            status_invalid(w->arena,
                core ? "" : w->kind->resource.group,
                w->kind->resource.kind,
                name ? name : "",
                errors));
    if (b && b->warn && w->call) /* also if the write is refused later */
        b->warn(&for_kind, object);
    struct error err = { 0 };
    if (b && b->admit && !b->admit(&for_kind, object, &err))
        return fail_refused(w, meta_asked_name(object), &err);
    return quota_admit(&for_kind, object, &err) || fail_refused(w, name, &err);
}

/* For an object without a name. */
static const char *name_or_base(struct json object)
{
    const char *base = json_get_text(object, "metadata.generateName");
    return text_empty(base) ? "Unknown" : base;
}

bool write_check_namespace(struct write *w)
{
    struct api_call *c = w->call;
    const char *ns = w->ns;
    if (!*ns)
        return true;
    const struct api_kind *k = registry_find(w->server->registry, "", "v1", "namespaces");
    if (!k)
        return true;
    const struct store_object *o = store_get(store_table(w->server->store, k->table), "", ns);
    if (!o)
        return call_fail(c, status_not_found(w->arena, k, ns));
    if (!namespace_is_ending(w->server, o))
        return true;
    struct api_status status = status_forbidden(w->arena,
        w->kind,
        text_empty(w->name) ? name_or_base(w->call->given) : w->name,
        arena_printf(w->arena,
            "unable to create new content in namespace %s because it is being terminated",
            ns));
    struct json cause = json_map(w->arena,
        { "reason", json_str("NamespaceTerminating") },
        { "message", json_strf(w->arena, "namespace %s is being terminated", ns) },
        { "field", json_str("metadata.namespace") });
    status.details =
        json_with_member(w->arena, status.details, "causes", json_list(w->arena, cause));
    return call_fail(c, status);
}

/* Users cannot grant rights that they do not have. */
static bool check_rights(struct write *w, struct json object)
{
    const struct api_write write = write_for_behaviour(w);
    struct api_answer answer;
    if (!w->call || auth_check_escalation(w->server->auth, &write, object, &answer))
        return true;
    call_answer(w->call, &answer);
    return false;
}

/* An applied null is kept until the object is stored; where null is not allowed, readers see no
 * value. A write of the status does not change other stored parts, even invalid ones. */
static bool drop_nulls(struct write *w, struct json *object)
{
    const struct api_behaviour *b = w->kind->behaviour;
    if (!w->kind->custom || !w->call || !w->call->applies || !b || !b->prune)
        return true;
    struct json kept = b->prune(w->kind, w->arena, *object, NULL);
    if (!*w->call->subresource)
        *object = kept;
    else if (text_eq(w->call->subresource, "status"))
        *object = json_with_member(w->arena, *object, "status", json_member(kept, "status"));
    return true;
}

bool write_check_create(struct write *w, struct json *object)
{
    struct field_errors errors;
    field_errors_init(&errors, w->arena);
    errors.given = w->call ? w->call->given : errors.given;
    *object = meta_for_create(w->call, w->ns, *object);
    w->name = json_get_text(*object, "metadata.name");
    if (!check_rights(w, *object) || !prepare(w, object))
        return false;
    w->name = json_get_text(*object, "metadata.name");
    meta_validate(&errors, w->kind, meta_of(*object));
    if (!validate(w, *object, &errors))
        return false;
    /* Invalid numbers are ignored, and nothing is checked if nothing is stored. */
    uint64_t version = 0;
    if (options_parse_version(json_get_text(*object, "metadata.resourceVersion"), &version) &&
        version && !w->call->dry_run)
        return call_fail(w->call,
            (struct api_status){ 500,
                "",
                "resourceVersion should not be set on objects to be created",
                .details = { 0 } });
    if (store_get(store_table(w->server->store, w->kind->table), w->ns, w->name))
        return call_fail(w->call, status_exists(w->arena, w->kind, w->name));
    return drop_nulls(w, object);
}

bool write_check_update(struct write *w, struct json *object)
{
    struct arena *a = w->arena;
    struct field_errors errors;
    field_errors_init(&errors, a);
    errors.given = w->call->given;
    *object = meta_for_update(a, w->old, *object);
    if (!check_rights(w, *object) || !prepare(w, object))
        return false;
    bool status = text_eq(w->call->subresource, "status");
    if (w->kind->generation && !status && meta_spec_differs(w->kind, w->old, *object)) {
        int64_t generation = json_get_int(w->old, "metadata.generation", 0);
        *object = json_with(a, *object, "metadata.generation", json_int(generation + 1));
    }
    meta_validate_update(&errors, w->kind, meta_of(w->old), meta_of(*object));
    return validate(w, *object, &errors) && drop_nulls(w, object);
}

/* ---- storing ---- */

static struct json with_version(struct arena *a, struct json object, struct json version)
{
    struct json meta = json_with_member(a, meta_of(object), "resourceVersion", version);
    return json_with_member(a, object, "metadata", meta);
}

bool write_is_last(struct json object)
{
    struct json meta = meta_of(object);
    return json_present(json_member(meta, "deletionTimestamp")) &&
           json_member(meta, "finalizers").count == 0 &&
           json_get_int(meta, "deletionGracePeriodSeconds", 0) == 0 &&
           json_get(object, "spec.finalizers").count == 0;
}

/* Unchanged parts keep their stored form, which a conversion to another version would change. */
static struct json to_storage(const struct write *w, struct json object)
{
    const struct api_behaviour *b = w->kind->behaviour;
    struct json stored, fresh = object_to_storage(w->kind, w->arena, object);
    struct error err;
    if (w->kind->custom || !w->kind->has_status || !w->before || !b || !b->convert ||
        !json_parse(w->arena, w->before->text, &stored, &err))
        return fresh;
    bool status = w->call && text_eq(w->call->subresource, "status");
    struct json from = status ? fresh : stored, to = status ? stored : fresh;
    to = json_with_member(w->arena, to, "status", json_member(from, "status"));
    return json_with_member(w->arena, to, "metadata", json_member(fresh, "metadata"));
}

/* Objects in several versions are compared in their stored form: a change of a field that only
 * another version has is not a change. An object stored under an older schema is written again;
 * this is how objects are migrated to another storage version. */
static bool is_as_stored(const struct write *w, struct json object)
{
    struct json stored;
    struct error err;
    const struct api_behaviour *b = w->kind->behaviour;
    if (!w->kind->custom && !(b && b->convert))
        return json_equal(w->old, object);
    return json_parse(w->arena, w->before->text, &stored, &err) &&
           json_equal(stored, to_storage(w, object));
}

bool write_store(struct write *w, struct json object, bool gone, const struct store_object **ret)
{
    struct apiserver *s = w->server;
    struct arena *a = w->arena;
    struct error err;
    budget_seal(a->budget);
    *ret = w->before;
    if (w->before && !gone) {
        struct json version = json_get(w->old, "metadata.resourceVersion");
        object = with_version(a, object, version);
        object = managers_keep_times(a, w->old, object);
        if (is_as_stored(w, object))
            return true;
    }
    if (w->call && w->call->dry_run) {
        *ret = NULL;
        return true;
    }
    object = with_version(
        a, object, json_strf(a, "%llu", (unsigned long long)store_next_version(s->store)));
    buf_reset(&s->scratch);
    object_print(&s->scratch, to_storage(w, object));
    *ret = store_write(s->store,
        store_table(s->store, w->kind->table),
        w->ns,
        w->name,
        buf_str(&s->scratch),
        gone,
        &err);
    if (!*ret)
        return w->call ? call_fail(w->call, status_of_error(a, &err)) : false;
    const struct api_behaviour *b = w->kind->behaviour;
    struct json now = gone ? json_none : object;
    if (b && b->written)
        b->written(s, w->kind, w->old, now);
    struct json before = json_if(w->before, w->old);
    gc_written(s->gc, w->kind, before, now);
    quota_written(s, w->kind, before, now, w->call != NULL);
    return true;
}

/* The result of a dry run looks as if it had been stored: fields that the storage version does not
 * have are lost. */
static struct json through_storage(const struct write *w, struct json object)
{
    const struct api_behaviour *b = w->kind->behaviour;
    return w->kind->custom && b && b->convert
               ? object_to_kind(w->kind, w->arena, object_to_storage(w->kind, w->arena, object))
               : object;
}

void write_answer(
    struct write *w, int status, struct json object, const struct store_object *stored)
{
    if (stored)
        call_object(w->call, status, stored);
    else
        call_value(w->call, status, through_storage(w, object));
}
