#include "engine/order.h"

#include "base/resource.h"
#include "engine/cache.h"
#include "engine/kind.h"
#include "tests/test.h"

static const char *const keep[] = { "metadata.creationTimestamp", "status.phase", NULL };
static const struct kind_watch pods = { .resource = &RESOURCE_POD, .keep = keep };

/* Created in this minute. */
static struct json pod(const char *name, int version, int minute, const char *phase)
{
    struct arena *a = test_arena();
    return json_fields(a,
        { "metadata.name", json_str(name) },
        { "metadata.namespace", json_str("ns") },
        { "metadata.uid", json_strf(a, "uid-%s", name) },
        { "metadata.resourceVersion", json_strf(a, "%d", version) },
        { "metadata.creationTimestamp", json_strf(a, "2026-01-01T00:%02d:00Z", minute) },
        { "status.phase", json_str(phase) });
}

/* Names of those whose place changed, in order. */
static void note(void *ctx, const struct cache_entry *entry)
{
    char *moved = ctx;
    moved[strlen(moved)] = entry->name[0];
}

struct bench {
    struct cache cache;
    struct cache_resource *r;
    int version;
    char moved[64];
};

static void bench_init(struct bench *b)
{
    *b = (struct bench){ 0 };
    cache_init(&b->cache, "leeboard", NULL, 1, 2);
    b->cache.moved = note;
    b->cache.moved_ctx = b->moved;
    b->r = cache_watch(&b->cache, &pods);
}

static void put(struct bench *b, const char *name, int minute, const char *phase)
{
    struct cache_entry *entry;
    memset(b->moved, 0, sizeof(b->moved));
    cache_put(b->r, pod(name, ++b->version, minute, phase), CACHE_FROM_WATCH, &entry);
}

static int64_t position(const struct bench *b, const char *name)
{
    const struct order *o = order_get(b->r, "status.phase", "Waiting");
    return order_position(o, cache_find(b->r, "ns", name));
}

TEST(a_place_in_a_queue_is_by_age_then_name_and_those_behind_a_change_are_told)
{
    struct bench b;
    bench_init(&b);
    put(&b, "b", 1, "Waiting");
    put(&b, "a", 2, "Waiting");
    put(&b, "c", 2, "Waiting");
    put(&b, "x", 0, "Running");
    check_int(position(&b, "b"), 1);
    check_int(position(&b, "a"), 2);
    check_int(position(&b, "c"), 3);
    put(&b, "d", 3, "Waiting"); /* behind all: nobody moves */
    check_text(b.moved, "");
    put(&b, "x", 0, "Waiting");
    check_text(b.moved, "bacd");
    check_int(position(&b, "c"), 4);
    put(&b, "a", 2, "Running");
    check_text(b.moved, "cd");
    check_int(position(&b, "a"), 3); /* where it would stand */
    put(&b, "c", 2, "Waiting");      /* says nothing new */
    check_text(b.moved, "");
    memset(b.moved, 0, sizeof(b.moved));
    cache_delete(b.r, cache_find(b.r, "ns", "x"));
    check_text(b.moved, "bcd");
    check_int(position(&b, "d"), 3);
    cache_done(&b.cache);
}

TEST(a_queue_of_many_is_as_it_was_counted_one_by_one)
{
    struct bench b;
    bench_init(&b);
    uint64_t chance = 7;
    char name[8];
    check_int(order_position(order_get(b.r, "status.phase", "Waiting"), NULL), 1);
    for (int i = 0; i < 2000; i++) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        int which = (int)(chance >> 33) % 100;
        bool waits = chance >> 62 & 1;
        snprintf(name, sizeof(name), "p%02d", which);
        put(&b, name, which % 7, waits ? "Waiting" : "Running");
    }
    size_t count, before = 0;
    struct cache_entry **all = cache_list(test_arena(), b.r, NULL, NULL, &count);
    check_int(count, 100);
    for (size_t i = 0; i < count; i++) {
        before = 0;
        for (size_t j = 0; j < count; j++) {
            struct json other = cache_read(test_arena(), all[j]);
            struct json mine = cache_read(test_arena(), all[i]);
            int by = json_compare(json_get(other, "metadata.creationTimestamp"),
                json_get(mine, "metadata.creationTimestamp"));
            by = by ? by : strcmp(all[j]->name, all[i]->name);
            before += by < 0 && text_eq(json_get_text(other, "status.phase"), "Waiting");
        }
        check_int(position(&b, all[i]->name), (int64_t)before + 1);
    }
    cache_done(&b.cache);
}
