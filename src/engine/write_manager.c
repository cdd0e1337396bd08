/* Writes that must first read an object's managed fields, which the cache does not keep: taking
 * over from a predecessor, and giving way to a manager that keeps writing the same field. */

#include "engine/write.h"

#include "engine/adopt.h"
#include "merge/merge.h"

/* A contested child is retried after this time. */
#define WRITE_CONTESTED_MS ((int64_t)10 * 60 * 1000)

static void adopt_seen(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    struct engine *e = write_engine(w);
    const char *subresource = w->resource->subresource;
    if (reply->error.code != ERR_NONE ||
        !adopt_wanted(reply->body, e->cache.predecessors, subresource)) {
        run_decide(w->run, RUN_CONFLICT);
        write_end(w);
        return;
    }
    if (!write_allowed(w->run)) {
        write_end(w);
        return;
    }
    w->run->pending--; /* the read is finished, … */
    struct json patch = adopt_patch(
        reply->arena, reply->body, e->cache.predecessors, subresource, e->options.manager);
    write_sent(w, /* … and the patch begins */
        kube_patch(e->options.client,
            write_target(w),
            KUBE_PATCH_JSON,
            patch,
            (struct kube_write){ .field_manager = e->options.manager },
            (struct kube_then){ write_answered, w }));
}

/* Needs the managedFields of all managers, which the cache does not keep. */
void write_adopt(struct write *w)
{
    w->adopting = true;
    write_begin(w,
        kube_get(
            write_engine(w)->options.client, write_target(w), (struct kube_then){ adopt_seen, w }));
    w->run->pending++;
}

static void give_way(struct write *w, const char *reason, const char *message)
{
    struct engine *e = write_engine(w);
    struct memo *m = memo_get(w->run->key, w->resource->resource, w->name);
    const struct view_trouble contested = { TROUBLE_CONTESTED, message, .reason = reason };
    memo_trouble(m, &contested, write_hash(w), env_mono_ms(e->env) + WRITE_CONTESTED_MS);
    e->counts.contested++;
    run_decide(w->run, RUN_AGAIN);
}

static void contest_seen(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    struct engine *e = write_engine(w);
    struct arena *a = &w->run->arena;
    if (reply->error.code == ERR_NONE) {
        struct merge_owned owned;
        merge_owned(a, w->resource->schema, reply->body, e->options.manager, "", &owned);
        struct merge_differences d = merge_difference(a, w->resource->schema, &owned, w->body);
        const char *path = d.count ? d.items[0].text : "a field";
        struct merge_managers who = { 0 };
        if (d.count)
            who = merge_field_managers(a, reply->body, &d.items[0].path);
        const char *other = "somebody";
        for (size_t i = 0; i < who.count; i++)
            if (!text_eq(who.items[i].name, e->options.manager))
                other = who.items[i].name;
        give_way(w,
            "FieldTaken",
            arena_printf(a,
                "%s keeps changing %s of %s %s; Leeboard stopped writing it for now: let one of "
                "the two manage this field",
                other,
                path,
                w->resource->resource->kind,
                w->name));
    } else {
        run_decide(w->run, RUN_CONFLICT); /* retry, because no other event would */
    }
    write_end(w);
}

void write_contest(struct write *w)
{
    if (!cache_find(w->resource, w->ns, w->name)) {
        give_way(w,
            "ChildDeleted",
            arena_printf(&w->run->arena,
                "%s %s is deleted again and again; Leeboard stopped creating it for now: find the "
                "program that deletes it, and stop it",
                w->resource->resource->kind,
                w->name));
        return;
    }
    write_begin(w,
        kube_get(write_engine(w)->options.client,
            write_target(w),
            (struct kube_then){ contest_seen, w }));
    w->run->pending++;
}
