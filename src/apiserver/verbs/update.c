/* PUT for an object or its status. */

#include <string.h>

#include "apiserver/core/body.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/object.h"
#include "apiserver/core/options.h"
#include "apiserver/verbs/write.h"

bool update_check_own_name(struct api_call *c, struct json object)
{
    const char *name = json_get_text(object, "metadata.name");
    if (text_empty(name))
        return call_fail_bad(c,
            "the name of the object (%s based on URL) was undeterminable: name must be provided",
            c->name);
    if (!text_eq(name, c->name))
        return call_fail_bad(c,
            "the name of the object (%s) does not match the name on the URL (%s)",
            name,
            c->name);
    return true;
}

bool update_check_name(struct api_call *c, struct json object)
{
    const char *ns = json_get_text(object, "metadata.namespace");
    if (*c->ns && !text_empty(ns) && !text_eq(ns, c->ns))
        return call_fail_bad(c,
            "the namespace of the provided object does not match the namespace sent on the "
            "request");
    return update_check_own_name(c, object);
}

bool write_check_uid(struct write *w, const char *uid)
{
    struct arena *a = w->arena;
    const char *old_uid = json_get_text(w->old, "metadata.uid");
    if (text_empty(uid) || text_eq(uid, old_uid))
        return true;
    return call_fail(w->call,
        status_conflict(a,
            w->kind,
            w->name,
            arena_printf(a,
                "StorageError: invalid object, Code: 4, Key: %s/%s%s%s/%s, "
                "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                "precondition: %s, UID in object meta: %s",
                w->call->dry_run ? "" : "/registry",
                w->kind->custom ? w->kind->table : w->kind->resource.plural,
                *w->ns ? "/" : "",
                w->ns,
                w->name,
                uid,
                old_uid)));
}

/* The uid and version that the client sent, if any. */
static bool check_preconditions(struct write *w, struct json object)
{
    struct api_call *c = w->call;
    struct arena *a = w->arena;
    const char *uid = json_get_text(object, "metadata.uid");
    const char *version = json_get_text(object, "metadata.resourceVersion");
    if (!w->patches && !write_check_uid(w, uid))
        return false;
    uint64_t number = 0, old = 0;
    if (!options_parse_version(version, &number))
        return call_fail(
            c, (struct api_status){ 500, "", options_number_error(a, version), .details = { 0 } });
    if (!number) {
        if (w->kind->unconditional)
            return true;
        struct field_errors errors;
        field_errors_init(&errors, a);
        field_invalid(
            &errors, "metadata.resourceVersion", json_int(0), "must be specified for an update");
        return call_fail(c,
            status_invalid(a, w->kind->resource.group, w->kind->resource.plural, w->name, &errors));
    }
    if (!options_parse_version(json_get_text(w->old, "metadata.resourceVersion"), &old) ||
        number != old)
        return call_fail(c, status_conflict(a, w->kind, w->name, WRITE_MODIFIED));
    return true;
}

bool update_object(struct write *w, struct json object, bool applied)
{
    const struct api_behaviour *b = w->kind->behaviour;
    const struct store_object *stored;
    if (!check_preconditions(w, object))
        return false;
    if (b && b->fill && !w->same)
        object = b->fill(w->kind, w->arena, object);
    if (!write_fill_owners(w, &object, applied) || !write_check_update(w, &object))
        return false;
    bool last = meta_is_deleting(w->old) && write_is_last(object);
    /* The update that releases a terminating object is not stored: the deleted state is the old
     * one. */
    if (!write_store(w, last ? w->old : object, last, &stored))
        return false;
    struct json version = json_get(w->old, "metadata.resourceVersion");
    object = json_with(w->arena, object, "metadata.resourceVersion", version);
    write_answer(w, 200, object, last ? NULL : stored);
    return true;
}

bool write_read_old(struct write *w)
{
    w->before = store_get(store_table(w->server->store, w->kind->table), w->ns, w->name);
    if (w->before)
        w->old = object_read(w->kind, w->arena, w->before);
    return w->before != NULL;
}

void rest_update(struct api_call *c)
{
    struct json object;
    if (!options_read_write(c, "UpdateOptions", false) || !body_check_media(c))
        return;
    if (text_eq(c->subresource, "scale")) {
        rest_update_scale(c);
        return;
    }
    if (!body_decode(c, &object) || !update_check_name(c, object))
        return;
    struct write w = write_of_call(c);
    bool there = write_read_old(&w);
    if (there && !call_check_version(c, w.before, true))
        return;
    if (there)
        update_object(&w, object, false);
    else if (c->kind->creates_on_put && !*c->subresource)
        create_object(
            &w, json_with(&c->arena, object, "metadata.resourceVersion", json_none), false);
    else
        call_fail(c, status_not_found(&c->arena, c->kind, c->name));
}
