#include "apiserver/verbs/remove.h"

#include "apiserver/controllers/crd.h"
#include "apiserver/controllers/namespace.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "base/time.h"

/* Kinds with contents. The real server checks their preconditions elsewhere, with other
 * messages. */
static bool has_own_delete(const struct api_kind *k)
{
    return (!*k->resource.group && text_eq(k->resource.plural, "namespaces")) ||
           text_eq(k->resource.plural, "customresourcedefinitions");
}

static bool fail_precondition(
    struct write *w, const char *what, const char *asked, const char *have, const char *why)
{
    if (!w->call)
        return false;
    struct api_kind like = *w->kind;
    if (has_own_delete(w->kind))
        return call_fail(w->call,
            status_conflict(w->arena,
                w->kind,
                w->name,
                arena_printf(w->arena,
                    "Precondition failed: %s in precondition: %s, %s in object meta: %s",
                    what,
                    asked,
                    what,
                    have)));
    like.resource.plural = w->kind->resource.kind; /* here the server's message has the kind */
    return call_fail(w->call,
        status_conflict(w->arena,
            &like,
            w->name,
            arena_printf(w->arena,
                "the %s in the precondition (%s) does not match the %s in record (%s). The object "
                "might have been %s",
                what,
                asked,
                what,
                have,
                why)));
}

bool delete_check_preconditions(struct write *w, const struct delete_options *o)
{
    const char *uid = json_get_text(w->old, "metadata.uid");
    const char *version = json_get_text(w->old, "metadata.resourceVersion");
    if (o->uid && !text_eq(o->uid, uid))
        return fail_precondition(w, "UID", o->uid, uid, "deleted and then recreated");
    if (o->version && !text_eq(o->version, version))
        return fail_precondition(w, "ResourceVersion", o->version, version, "modified");
    return true;
}

/* The garbage collector's two finalizers select how dependents are treated; a DELETE sets them. */
static struct json finalizers_for(struct write *w, const struct delete_options *o)
{
    struct json old = json_get(w->old, "metadata.finalizers");
    struct json_builder b;
    json_builder_init(&b, w->arena);
    bool orphan = o->propagation == PROPAGATION_ORPHAN;
    bool foreground = o->propagation == PROPAGATION_FOREGROUND;
    if (o->propagation == PROPAGATION_DEFAULT) {
        orphan = json_list_has(old, "orphan");
        foreground = !orphan && json_list_has(old, "foregroundDeletion");
    }
    json_each (f, old)
        if (!text_eq(f->string, "orphan") && !text_eq(f->string, "foregroundDeletion"))
            json_push(&b, *f);
    if (orphan)
        json_push(&b, json_str("orphan"));
    if (foreground)
        json_push(&b, json_str("foregroundDeletion"));
    return json_or_absent(json_list_end(&b));
}

/* Only pods that run on a node have a grace period. */
static int64_t grace_of(const struct write *w, const struct delete_options *o)
{
    if (!text_eq(w->kind->resource.kind, "Pod") || *w->kind->resource.group)
        return 0;
    const char *phase = json_get_text(w->old, "status.phase");
    if (text_empty(json_get_text(w->old, "spec.nodeName")) || text_eq(phase, "Succeeded") ||
        text_eq(phase, "Failed"))
        return 0;
    return o->grace_s >= 0 ? o->grace_s
                           : json_get_int(w->old, "spec.terminationGracePeriodSeconds", 30);
}

/* Marks an object as terminating; finalizers must be removed first. */
static struct json mark(struct write *w, struct json finalizers, int64_t grace_s)
{
    struct arena *a = w->arena;
    struct json meta = json_with_member(a, meta_of(w->old), "finalizers", finalizers);
    int64_t generation = json_get_int(meta, "generation", 0);
    int64_t left = json_get_int(meta, "deletionGracePeriodSeconds", INT64_MAX);
    if (!meta_is_deleting(w->old) || grace_s < left) {
        const char *when = time_format(a, env_wall_ms(w->server->env) + grace_s * 1000);
        if (!meta_is_deleting(w->old) && generation > 0)
            meta = json_with_member(a, meta, "generation", json_int(generation + 1));
        meta = json_with_member(a, meta, "deletionTimestamp", json_str(when));
        meta = json_with_member(a, meta, "deletionGracePeriodSeconds", json_int(grace_s));
    }
    return json_with_member(a, w->old, "metadata", meta);
}

bool delete_object(struct write *w, const struct delete_options *o, struct json *object,
    const struct store_object **ret, bool *ret_gone)
{
    if (!delete_check_preconditions(w, o))
        return false;
    struct json finalizers = finalizers_for(w, o);
    int64_t grace_s = grace_of(w, o);
    bool ns = text_eq(w->kind->resource.plural, "namespaces") && !*w->kind->resource.group;
    *ret_gone = !finalizers.count && grace_s == 0 && !ns;
    if (crds_is_kind(w->kind)) {
        *ret_gone = false;
        *object = crds_mark(w->arena, w->old, meta_now(w->server->env, w->arena));
        return write_store(w, *object, false, ret);
    }
    if (ns)
        return namespace_delete(w, finalizers, object, ret, ret_gone);
    bool pod = api_kind_is_core(w->kind, "Pod");
    *object = *ret_gone && !pod ? w->old : mark(w, finalizers, grace_s);
    /* A Pod is first marked and then deleted, and watchers see both. */
    if (pod && *ret_gone && !(w->call && w->call->dry_run)) {
        if (!write_store(w, *object, false, ret) || !write_read_old(w))
            return false;
        *object = w->old;
    }
    return write_store(w, *object, *ret_gone, ret);
}
