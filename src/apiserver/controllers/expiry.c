#include "apiserver/controllers/expiry.h"

#include "apiserver/controllers/undone.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/object.h"
#include "apiserver/verbs/remove.h"
#include "base/time.h"

#define LIFE_MS ((int64_t)60 * 60 * 1000)
#define LOOK_MS ((int64_t)10 * 60 * 1000)
/* The limit per turn, so that other requests are served, too. */
#define DELETES_MAX 256

struct expiry {
    struct apiserver *server;
    struct timer look;
};

/* The time of its last occurrence, from its own fields. */
static int64_t said_ms(struct json event)
{
    static const char *const times[] = { "metadata.creationTimestamp",
        "eventTime",
        "lastTimestamp",
        "deprecatedLastTimestamp",
        "series.lastObservedTime" };
    int64_t last_ms = 0, ms;
    for (size_t i = 0; i < lengthof(times); i++) {
        const char *text = json_get_text(event, times[i]);
        if (text && time_parse(text, &ms) && ms > last_ms)
            last_ms = ms;
    }
    return last_ms;
}

static bool remove_event(
    struct apiserver *s, struct arena *a, const struct api_kind *k, const struct store_object *o)
{
    struct write w = {
        .server = s,
        .arena = a,
        .kind = k,
        .ns = o->ns,
        .name = o->name,
        .before = o,
        .old = object_read(k, a, o),
    };
    if (said_ms(w.old) + LIFE_MS > env_wall_ms(s->env))
        return false;
    struct delete_options options = { .propagation = PROPAGATION_BACKGROUND, .grace_s = 0 };
    struct json object;
    const struct store_object *stored;
    bool gone = false;
    store_object_hold(o);
    bool done = delete_object(&w, &options, &object, &stored, &gone) && gone;
    store_object_release(o);
    return done;
}

static size_t remove_old(struct apiserver *s)
{
    const struct api_kind *k = registry_find(s->registry, "", "v1", "events");
    cleanup(arena_done) struct arena place = ARENA_INIT;
    struct store_cursor cursor = { 0 };
    const struct store_object *o;
    size_t done = 0;
    struct store_table *t = k ? store_table(s->store, k->table) : NULL;
    while (t && done < DELETES_MAX && (o = store_next(t, &cursor))) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        cursor.after_ns = arena_strdup(&place, o->ns);
        cursor.after_name = arena_strdup(&place, o->name);
        done += remove_event(s, &a, k, o);
    }
    return done;
}

static void look(void *ctx)
{
    struct expiry *x = ctx;
    struct apiserver *s = x->server;
    size_t done = undone_rests(s->undone) ? 0 : remove_old(s);
    if (done)
        server_wake(s);
    timer_set(s->env, &x->look, done == DELETES_MAX ? 0 : LOOK_MS);
}

struct expiry *expiry_new(struct apiserver *s)
{
    struct expiry *x = mem_new_of(struct expiry);
    x->server = s;
    timer_init(&x->look, look, x);
    timer_set(s->env, &x->look, LOOK_MS);
    return x;
}

void expiry_free(struct expiry *x)
{
    if (!x)
        return;
    timer_stop(x->server->env, &x->look);
    free(x);
}
