#include "kube/events.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/names.h"
#include "base/resource.h"
#include "base/time.h"
#include "base/timer.h"
#include "base/utf8.h"
#include "kube/client.h"

/* The same limits as in client-go. */
#define ENTRIES_MAX 1000
#define OBJECTS_MAX 500
#define BURST 25
#define REFILL_MS (5 * 60000)
#define SERIES_REFRESH_MS (30 * 60000)
#define SERIES_END_MS (6 * 60000)
#define TRIES_MAX 12
#define RETRY_MS 10000
#define NOTE_BYTES_MAX 1024
#define WORD_BYTES_MAX 128
#define OBJECT_NAME_BYTES_MAX 230

/* Equal keys mean equal events. Two hashes instead of the text, because the table is large. Two
 * texts whose hashes both collide would be counted as one event. */
struct key {
    uint64_t a, b;
};

/* One event and its repetitions. Small, because after a busy minute there are many. */
struct entry {
    struct key key;
    char *ns, *name; /* of the Event: "object.0123456789abcdef" */
    char *body;      /* JSON text without metadata and series */
    bool posted;
    unsigned tries;
    int64_t retry_at_ms;
    int64_t count, count_written;
    int64_t last_ms, last_wall_ms;
    int64_t written_at_ms;
    uint64_t sequence;
};

/* How many events an object may still have. */
struct allowance {
    uint64_t hash;
    int64_t used_at_ms;
    int64_t tokens;
    int64_t refilled_at_ms;
};

struct event_recorder {
    struct kube_client *client;
    const struct env *env;
    struct arena own;
    const char *controller, *instance;
    struct entry *entries[ENTRIES_MAX];
    size_t entry_count;
    struct allowance objects[OBJECTS_MAX];
    size_t object_count;
    struct timer timer;
    struct kube_op *op;
    struct entry *writing;
    int64_t count_sent;
    uint64_t sequence;
    struct event_recorder_stats stats;
};

static void step(struct event_recorder *r);

static uint64_t hash_of(const char *text, uint64_t hash)
{
    for (; *text; text++) /* FNV-1a */
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static struct key key_of(const char *text)
{
    return (struct key){ hash_of(text, 0xcbf29ce484222325u), hash_of(text, 0x9e3779b97f4a7c15u) };
}

/* Truncates to bytes_max, between characters. Invalid UTF-8 (a file name in a message may contain
 * anything) becomes a question mark. */
static const char *cut(struct arena *a, const char *text, size_t bytes_max)
{
    cleanup(buf_done) struct buf b = BUF_INIT(bytes_max);
    uint32_t character;
    for (struct str rest = str_of(text); rest.len && !buf_overflowed(&b);) {
        size_t length = utf8_first(rest, &character);
        buf_add(&b, length ? rest.ptr : "?", length ? length : 1);
        rest.ptr += length ? length : 1;
        rest.len -= length ? length : 1;
    }
    return arena_strndup(a, b.ptr, b.len);
}

static struct json reference(struct arena *a, struct json object, const char *field)
{
    struct json metadata = json_get(object, "metadata");
    if (!json_present(object))
        return object;
    return json_map(a,
        { "apiVersion", json_get(object, "apiVersion") },
        { "kind", json_get(object, "kind") },
        { "namespace", json_get(metadata, "namespace") },
        { "name", json_get(metadata, "name") },
        { "uid", json_get(metadata, "uid") },
        { "resourceVersion", json_get(metadata, "resourceVersion") },
        { "fieldPath", json_str(field) });
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* ---- the table ---- */

static void entry_free(struct event_recorder *r, size_t at)
{
    struct entry *e = r->entries[at];
    r->entries[at] = r->entries[--r->entry_count];
    free(e->ns);
    free(e->name);
    free(e->body);
    free(e);
}

static void entry_drop(struct event_recorder *r, struct entry *e)
{
    for (size_t i = 0; i < r->entry_count; i++)
        if (r->entries[i] == e) {
            entry_free(r, i);
            return;
        }
}

static bool has_news(const struct entry *e)
{
    return e->count != e->count_written;
}

/* The time at which it is written or dropped. */
static int64_t due_ms(const struct entry *e)
{
    int64_t end_ms = e->last_ms + SERIES_END_MS, refresh_ms = e->written_at_ms + SERIES_REFRESH_MS;
    int64_t due;
    if (!has_news(e))
        return end_ms;
    if (!e->posted || e->count_written < 2)
        due = 0;
    else
        due = end_ms < refresh_ms ? end_ms : refresh_ms;
    return due > e->retry_at_ms ? due : e->retry_at_ms;
}

/* Makes room by dropping the written entry that was silent for the longest time. */
static bool make_room(struct event_recorder *r)
{
    if (r->entry_count < ENTRIES_MAX)
        return true;
    size_t oldest = ENTRIES_MAX;
    for (size_t i = 0; i < r->entry_count; i++) {
        struct entry *e = r->entries[i];
        if (has_news(e) || e == r->writing)
            continue;
        if (oldest == ENTRIES_MAX || e->last_ms < r->entries[oldest]->last_ms)
            oldest = i;
    }
    if (oldest == ENTRIES_MAX)
        return false;
    entry_free(r, oldest);
    return true;
}

static struct entry *find(struct event_recorder *r, struct key key)
{
    for (size_t i = 0; i < r->entry_count; i++)
        if (r->entries[i]->key.a == key.a && r->entries[i]->key.b == key.b)
            return r->entries[i];
    return NULL;
}

static bool may_speak(struct event_recorder *r, const char *object)
{
    int64_t now_ms = env_mono_ms(r->env);
    uint64_t hash = key_of(object).a;
    struct allowance *found = NULL, *oldest = r->objects;
    for (struct allowance *o = r->objects; o < r->objects + r->object_count; o++) {
        if (o->hash == hash)
            found = o;
        if (o->used_at_ms < oldest->used_at_ms)
            oldest = o;
    }
    if (!found) {
        found = r->object_count < OBJECTS_MAX ? &r->objects[r->object_count++] : oldest;
        *found = (struct allowance){ hash, now_ms, BURST, now_ms };
    }
    int64_t refills = (now_ms - found->refilled_at_ms) / REFILL_MS;
    found->refilled_at_ms += refills * REFILL_MS;
    found->tokens = found->tokens + refills < BURST ? found->tokens + refills : BURST;
    found->used_at_ms = now_ms;
    if (!found->tokens)
        return false;
    found->tokens--;
    return true;
}

/* ---- writing ---- */

/* The object's name, followed by nanoseconds as in client-go: kubectl sorts events by name. The
 * last six digits are a counter and random digits. */
static const char *new_name(struct event_recorder *r, struct arena *a, const char *object)
{
    const char *base = cut(a, object, OBJECT_NAME_BYTES_MAX);
    uint64_t behind = r->sequence % 1000 * 1000 + r->env->random(r->env->ctx) % 1000;
    return arena_printf(a,
        "%s.%016llx",
        name_is_dns1123_subdomain(base) ? base : "object",
        (unsigned long long)((uint64_t)env_wall_ms(r->env) * 1000000 + behind));
}

static struct json series(struct arena *a, const struct entry *e)
{
    if (e->count < 2)
        return json_none;
    return json_map(a,
        { "count", json_int(e->count) },
        { "lastObservedTime", json_str(time_format_micro(a, e->last_wall_ms * 1000)) });
}

static void on_written(void *ctx, const struct kube_reply *reply)
{
    struct event_recorder *r = ctx;
    struct entry *e = take(r->writing);
    enum error_code code = reply->error.code;
    r->op = NULL;
    if (code == ERR_EXISTS)
        code = ERR_NONE; /* an earlier try whose response was lost */
    if (!code) {
        r->stats.written++;
        e->posted = true;
        e->tries = 0;
        e->count_written = r->count_sent;
        e->written_at_ms = env_mono_ms(r->env);
    } else if (code == ERR_NOT_FOUND && e->posted) {
        /* Events expire after an hour: continue the series in a new one. */
        e->posted = false;
    } else if ((error_is_transient(code) || code == ERR_UNAUTHORIZED) && ++e->tries < TRIES_MAX) {
        e->retry_at_ms = env_mono_ms(r->env) + RETRY_MS;
    } else {
        r->stats.failed++;
        entry_drop(r, e);
    }
    step(r);
}

static void write_entry(struct event_recorder *r, struct entry *e)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct kube_then then = { on_written, r };
    struct kube_write how = { .field_manager = r->controller };
    struct kube_target what = { &RESOURCE_EVENT, e->ns };
    r->writing = e;
    r->count_sent = e->count;
    if (e->posted) {
        what.name = e->name;
        struct json patch = json_map(&a, { "series", series(&a, e) });
        r->op = kube_patch(r->client, what, KUBE_PATCH_MERGE, patch, how, then);
        return;
    }
    struct json body;
    bool ours = json_parse(&a, str_of(e->body), &body, NULL);
    assert(ours);
    body = json_overlay(&a,
        body,
        json_fields(&a,
            { "metadata.name", json_str(e->name) },
            { "metadata.namespace", json_str(e->ns) },
            { "series", series(&a, e) }));
    r->op = kube_create(r->client, what, body, how, then);
}

/* Writes due events, oldest first, one at a time; drops expired ones; sets the timer. */
static void step(struct event_recorder *r)
{
    int64_t now_ms = env_mono_ms(r->env), next_ms = INT64_MAX;
    struct entry *first = NULL;
    if (r->op)
        return;
    for (size_t i = 0; i < r->entry_count;) {
        struct entry *e = r->entries[i];
        int64_t due = due_ms(e);
        if (due <= now_ms && !has_news(e)) {
            entry_free(r, i);
            continue;
        }
        if (due <= now_ms && (!first || e->sequence < first->sequence))
            first = e;
        next_ms = due < next_ms ? due : next_ms;
        i++;
    }
    if (first)
        write_entry(r, first);
    else if (next_ms != INT64_MAX)
        timer_set(r->env, &r->timer, next_ms - now_ms);
    else
        timer_stop(r->env, &r->timer);
}

static void on_timer(void *ctx)
{
    step(ctx);
}

/* ---- recording ---- */

static struct entry *entry_new(
    struct event_recorder *r, const struct event *event, struct key key, struct arena *a)
{
    struct entry *e = mem_new_of(struct entry);
    const char *ns = json_get_text(event->regarding, "metadata.namespace");
    const char *name = json_get_text(event->regarding, "metadata.name");
    struct json body = json_map(a,
        { "apiVersion", json_str("events.k8s.io/v1") },
        { "kind", json_str("Event") },
        { "eventTime", json_str(time_format_micro(a, env_wall_ms(r->env) * 1000)) },
        { "reportingController", json_str(r->controller) },
        { "reportingInstance", json_str(r->instance) },
        { "type", json_str(event->warning ? "Warning" : "Normal") },
        { "reason", json_str(cut(a, event->reason, WORD_BYTES_MAX)) },
        { "action", json_str(cut(a, event->action, WORD_BYTES_MAX)) },
        { "note", json_str(cut(a, or_empty(event->note), NOTE_BYTES_MAX)) },
        { "regarding", reference(a, event->regarding, event->field) },
        { "related", reference(a, event->related, NULL) });
    e->key = key;
    e->body = mem_strdup(json_to_text(a, body));
    /* Validation requires events about cluster-scoped objects to be there. */
    e->ns = mem_strdup(text_empty(ns) ? "default" : ns);
    e->sequence = ++r->sequence;
    e->name = mem_strdup(new_name(r, a, or_empty(name)));
    r->entries[r->entry_count++] = e;
    return e;
}

static const char *object_key(struct arena *a, struct json object)
{
    return arena_printf(a,
        "%s|%s|%s|%s",
        or_empty(json_get_text(object, "kind")),
        or_empty(json_get_text(object, "metadata.namespace")),
        or_empty(json_get_text(object, "metadata.name")),
        or_empty(json_get_text(object, "metadata.uid")));
}

void event_record(struct event_recorder *r, const struct event *event)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    assert(!text_empty(event->reason) && !text_empty(event->action));
    const char *object = object_key(&a, event->regarding);
    const char *text = arena_printf(&a,
        "%d|%s|%s|%s|%s|%s|%s",
        event->warning,
        event->reason,
        event->action,
        object,
        object_key(&a, event->related),
        or_empty(event->field),
        or_empty(event->note));
    struct key key = key_of(text);
    r->stats.recorded++;
    struct entry *e = find(r, key);
    if (!e && !may_speak(r, object)) {
        r->stats.spam++;
        return;
    }
    if (!e && !make_room(r)) {
        r->stats.overflow++;
        return;
    }
    if (!e)
        e = entry_new(r, event, key, &a);
    e->count++;
    e->last_ms = env_mono_ms(r->env);
    e->last_wall_ms = env_wall_ms(r->env);
    /* Never inside the caller's own work. */
    if (!r->op)
        timer_set(r->env, &r->timer, 0);
}

struct event_recorder *event_recorder_new(
    struct kube_client *client, const struct env *env, const struct event_recorder_options *options)
{
    struct event_recorder *r = mem_new_of(struct event_recorder);
    r->client = client;
    r->env = env;
    arena_init(&r->own, ARENA_LIMIT_DEFAULT);
    r->controller = arena_strdup(&r->own, options->controller);
    r->instance = cut(&r->own, options->instance, WORD_BYTES_MAX);
    assert(!text_empty(r->controller) && !text_empty(r->instance));
    timer_init(&r->timer, on_timer, r);
    return r;
}

void event_recorder_free(struct event_recorder *r)
{
    if (!r)
        return;
    if (r->op)
        kube_op_cancel(r->client, r->op);
    timer_stop(r->env, &r->timer);
    while (r->entry_count)
        entry_free(r, r->entry_count - 1);
    arena_done(&r->own);
    free(r);
}

struct event_recorder_stats event_recorder_stats(const struct event_recorder *r)
{
    return r->stats;
}

size_t event_recorder_pending(const struct event_recorder *r)
{
    size_t pending = 0;
    for (size_t i = 0; i < r->entry_count; i++)
        pending += !r->entries[i]->posted || r->entries[i] == r->writing;
    return pending;
}
