#include "base/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* ---- the pool ---- */

#define SEEN_COUNT 4096 /* a power of two */
/* A text is shared after this many packs had it in a short time. */
#define SHARED_FROM 16
#define LONG_SHARED_FROM 2
#define LONG_BYTES 64

struct strings_seen {
    uint32_t mark; /* of the text's hash */
    uint16_t pack; /* the last pack that had it */
    uint16_t count;
};

struct strings_entry {
    struct table_node node;
    uint32_t number, uses, length;
    char text[];
};

void strings_init(struct strings *pool, uint64_t seed0, uint64_t seed1)
{
    *pool = (struct strings){ .seen = mem_new(SEEN_COUNT * sizeof(struct strings_seen)) };
    table_init(&pool->table, seed0, seed1);
}

void strings_done(struct strings *pool)
{
    assert(pool->table.count == 0);
    table_done(&pool->table);
    free(pool->entries);
    free(pool->unused);
    free(pool->seen);
    *pool = (struct strings){ 0 };
}

size_t strings_count(const struct strings *pool)
{
    return pool->table.count;
}

static bool entry_is(const struct table_node *n, const void *key)
{
    const struct strings_entry *e = container_of(n, struct strings_entry, node);
    const struct str *s = key;
    return str_eq((struct str){ e->text, e->length }, *s);
}

static uint32_t *append(uint32_t **numbers, uint32_t *count, uint32_t *size)
{
    mem_room(*numbers, *count, *size);
    return &(*numbers)[(*count)++];
}

static uint32_t take_number(struct strings *pool)
{
    if (pool->unused_count)
        return pool->unused[--pool->unused_count];
    mem_room(pool->entries, pool->count, pool->size);
    return pool->count++;
}

static uint32_t add_text(struct strings *pool, struct str s, uint64_t hash)
{
    struct strings_entry *e = mem_new(sizeof(*e) + s.len + 1);
    memcpy(e->text, s.ptr, s.len);
    e->length = (uint32_t)s.len;
    e->uses = 1;
    e->number = take_number(pool);
    pool->entries[e->number] = e;
    pool->bytes += sizeof(*e) + s.len + 1;
    table_add(&pool->table, &e->node, hash);
    return e->number;
}

/* Whether enough packs had this text, which is not in the pool yet. */
static bool is_shared(struct strings *pool, uint64_t hash, size_t length)
{
    struct strings_seen *seen = &pool->seen[hash & (SEEN_COUNT - 1)];
    uint32_t mark = (uint32_t)(hash >> 32) | 1;
    if (seen->mark != mark)
        *seen = (struct strings_seen){ mark, pool->packs, 1 };
    else if (seen->pack != pool->packs)
        *seen = (struct strings_seen){ mark, pool->packs, (uint16_t)(seen->count + 1) };
    return seen->count >= (length > LONG_BYTES ? LONG_SHARED_FROM : SHARED_FROM);
}

/* The number of a text, whose use count is increased. False if the text stays outside of the pool,
 * which may_stay_out allows. */
static bool intern(struct strings *pool, struct str s, bool may_stay_out, uint32_t *ret)
{
    uint64_t hash = table_hash(&pool->table, s.ptr, s.len);
    struct table_node *n = table_find(&pool->table, hash, entry_is, &s);
    if (n) {
        struct strings_entry *e = container_of(n, struct strings_entry, node);
        e->uses++;
        assert(e->uses);
        *ret = e->number;
        return true;
    }
    if (may_stay_out && !is_shared(pool, hash, s.len))
        return false;
    *ret = add_text(pool, s, hash);
    return true;
}

static void release(struct strings *pool, uint32_t number)
{
    struct strings_entry *e = pool->entries[number];
    if (--e->uses)
        return;
    table_remove(&pool->table, &e->node);
    pool->entries[number] = NULL;
    pool->bytes -= sizeof(*e) + e->length + 1;
    *append(&pool->unused, &pool->unused_count, &pool->unused_size) = number;
    free(e);
}

/* ---- the blob ----
 *
 * A value is a number, seven bits per byte, low bits first. Its lowest three bits are the type, the
 * rest is the number described below. */

enum what {
    CONSTANT, /* one of the constants below */
    INTEGER,  /* the number, sign in the lowest bit */
    WIDE,     /* 0; eight bytes of an integer follow */
    REAL,     /* 0; eight bytes of a double follow */
    SHARED,   /* text: its number in the pool */
    OWN,      /* text: its length; bytes and a NUL follow */
    LIST,     /* count; values follow */
    MAP,      /* count; unless 0, the number of its keys, see put_keys(); values follow */
};
enum constant { IS_ABSENT, IS_NULL, IS_FALSE, IS_TRUE };

struct pack {
    struct strings *pool;
    uint32_t bytes;
    uint8_t blob[];
};

static void put_number(struct buf *b, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        buf_add_char(b, (char)(n | 0x80));
    buf_add_char(b, (char)n);
}

static void put(struct buf *b, enum what what, uint64_t n)
{
    put_number(b, n << 3 | what);
}

/* The keys of a map are one text of the pool, with a NUL after each: the same few sets of keys
 * occur again and again. No value equals such a text, because values contain no NUL. */
static void put_keys(struct buf *b, struct strings *pool, struct json map)
{
    char small[512];
    size_t bytes = 0;
    json_each_member (m, map)
        bytes += strlen(m->key) + 1;
    char *keys = bytes <= sizeof(small) ? small : mem_new(bytes), *at = keys;
    json_each_member (m, map)
        at = stpcpy(at, m->key) + 1;
    uint32_t number = 0;
    bool ok = intern(pool, (struct str){ keys, bytes }, false, &number);
    assert(ok);
    if (keys != small)
        free(keys);
    put_number(b, number);
}

static void put_value(struct buf *b, struct strings *pool, struct json v)
{
    uint32_t number;
    uint64_t folded;
    switch ((enum json_type)v.type) {
    case JSON_ABSENT:
        put(b, CONSTANT, IS_ABSENT);
        break;
    case JSON_NULL:
        put(b, CONSTANT, IS_NULL);
        break;
    case JSON_BOOL:
        put(b, CONSTANT, v.boolean ? IS_TRUE : IS_FALSE);
        break;
    case JSON_INT:
        folded = (uint64_t)v.integer << 1 ^ (uint64_t)(v.integer >> 63);
        put(b, folded >> 60 ? WIDE : INTEGER, folded >> 60 ? 0 : folded);
        if (folded >> 60)
            buf_add(b, &v.integer, sizeof(v.integer));
        break;
    case JSON_REAL:
        put(b, REAL, 0);
        buf_add(b, &v.real, sizeof(v.real));
        break;
    case JSON_STR:
        if (intern(pool, (struct str){ v.string, v.count }, true, &number)) {
            put(b, SHARED, number);
        } else {
            put(b, OWN, v.count);
            buf_add(b, v.string, v.count);
            buf_add_char(b, '\0');
        }
        break;
    case JSON_LIST:
        put(b, LIST, v.count);
        json_each (item, v)
            put_value(b, pool, *item);
        break;
    case JSON_MAP:
        put(b, MAP, v.count);
        if (v.count)
            put_keys(b, pool, v);
        json_each_member (m, v)
            put_value(b, pool, m->value);
        break;
    }
}

struct pack *pack_new(struct strings *pool, struct json v)
{
    cleanup(buf_done) struct buf b = BUF_INIT(UINT32_MAX);
    pool->packs++;
    put_value(&b, pool, v);
    assert(!buf_overflowed(&b));
    struct pack *p = mem_new(sizeof(*p) + b.len);
    p->pool = pool;
    p->bytes = (uint32_t)b.len;
    memcpy(p->blob, b.ptr, b.len);
    return p;
}

static uint64_t get_number(const uint8_t **at)
{
    uint64_t n = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        n |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return n;
    }
}

static void release_value(struct strings *pool, const uint8_t **at)
{
    uint64_t head = get_number(at), n = head >> 3;
    enum what what = head & 7;
    if (what == SHARED)
        release(pool, (uint32_t)n);
    *at += what == OWN ? n + 1 : what == WIDE || what == REAL ? 8 : 0;
    if (what == MAP && n)
        release(pool, (uint32_t)get_number(at));
    for (uint64_t i = 0; (what == LIST || what == MAP) && i < n; i++)
        release_value(pool, at);
}

void pack_free(struct strings *pool, struct pack *p)
{
    if (!p)
        return;
    assert(p->pool == pool);
    const uint8_t *at = p->blob;
    release_value(pool, &at);
    assert(at == p->blob + p->bytes);
    free(p);
}

struct source {
    struct arena *arena;
    const struct strings *pool;
    const uint8_t *at;
};

static struct json get_value(struct source *s);

static struct json get_list(struct source *s, uint32_t count)
{
    struct json *items = arena_array(s->arena, count, sizeof(*items));
    for (uint32_t i = 0; i < count; i++)
        items[i] = get_value(s);
    return (struct json){ .type = JSON_LIST, .count = count, .items = items };
}

static struct json get_map(struct source *s, uint32_t count)
{
    struct json_member *members = arena_array(s->arena, count, sizeof(*members));
    const char *key = count ? s->pool->entries[get_number(&s->at)]->text : NULL;
    for (uint32_t i = 0; i < count; i++, key += strlen(key) + 1) {
        members[i].key = key;
        members[i].value = get_value(s);
    }
    return (struct json){ .type = JSON_MAP, .count = count, .members = members };
}

static struct json get_constant(uint64_t n)
{
    return n == IS_ABSENT ? json_none : n == IS_NULL ? json_null() : json_bool(n == IS_TRUE);
}

static struct json get_value(struct source *s)
{
    uint64_t head = get_number(&s->at), n = head >> 3;
    struct json v = { 0 };
    switch ((enum what)(head & 7)) {
    case CONSTANT:
        return get_constant(n);
    case INTEGER:
        return json_int((int64_t)(n >> 1) ^ -(int64_t)(n & 1));
    case WIDE:
        v.type = JSON_INT;
        memcpy(&v.integer, s->at, sizeof(v.integer));
        s->at += sizeof(v.integer);
        return v;
    case REAL:
        v.type = JSON_REAL;
        memcpy(&v.real, s->at, sizeof(v.real));
        s->at += sizeof(v.real);
        return v;
    case SHARED:
        v = (struct json){ .type = JSON_STR, .count = s->pool->entries[n]->length };
        v.string = s->pool->entries[n]->text;
        return v;
    case OWN:
        v = (struct json){ .type = JSON_STR, .count = (uint32_t)n, .string = (const char *)s->at };
        s->at += n + 1;
        return v;
    case LIST:
        return get_list(s, (uint32_t)n);
    case MAP:
        return get_map(s, (uint32_t)n);
    }
    assert(!"three bits have no more values");
}

struct json pack_read(struct arena *a, const struct pack *p)
{
    struct source s = { a, p->pool, p->blob };
    return get_value(&s);
}

size_t pack_bytes(const struct pack *p)
{
    return sizeof(*p) + p->bytes;
}

bool pack_equal(const struct pack *a, const struct pack *b)
{
    if (a->bytes == b->bytes && memcmp(a->blob, b->blob, a->bytes) == 0)
        return true;
    /* The same text may be in the pool for one pack and in the blob for the other. */
    cleanup(arena_done) struct arena arena = ARENA_INIT;
    return json_equal(pack_read(&arena, a), pack_read(&arena, b));
}
