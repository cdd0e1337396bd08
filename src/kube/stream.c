#include "kube/stream.h"

#include "base/arena.h"

/* The members around the items are a few hundred bytes. */
#define ENVELOPE_BYTES_MAX ((size_t)1 << 20)

/* Adds as much as fits within the limit. */
static void keep(struct buf *b, struct str s, bool *cut)
{
    size_t room = b->limit - b->len;
    *cut |= s.len > room;
    buf_add(b, s.ptr, s.len < room ? s.len : room);
}

/* Delivers an object that ends with `rest`, whose beginning may be in `part`. */
static bool hand_over(struct buf *part, bool *cut, struct str rest, struct stream_target to)
{
    bool more;
    if (part->len || *cut) {
        keep(part, rest, cut);
        more = to.piece(to.ctx, buf_str(part), *cut);
    } else {
        *cut = rest.len > part->limit;
        more = to.piece(to.ctx, *cut ? (struct str){ rest.ptr, part->limit } : rest, *cut);
    }
    buf_reset(part);
    *cut = false;
    return more;
}

void stream_lines_init(struct stream_lines *l, size_t line_bytes_max)
{
    *l = (struct stream_lines){ 0 };
    buf_init(&l->part, line_bytes_max);
}

void stream_lines_done(struct stream_lines *l)
{
    buf_done(&l->part);
}

void stream_lines_reset(struct stream_lines *l)
{
    buf_reset(&l->part);
    l->cut = false;
}

void stream_lines_feed(struct stream_lines *l, struct str chunk, struct stream_target to)
{
    while (chunk.len) {
        const char *end = memchr(chunk.ptr, '\n', chunk.len);
        if (!end) {
            keep(&l->part, chunk, &l->cut);
            return;
        }
        struct str line = { chunk.ptr, (size_t)(end - chunk.ptr) };
        chunk = (struct str){ end + 1, chunk.len - line.len - 1 };
        bool blank = !l->cut && !str_trim(buf_str(&l->part)).len && !str_trim(line).len;
        if (blank)
            stream_lines_reset(l);
        else if (!hand_over(&l->part, &l->cut, line, to))
            return;
    }
}

void stream_items_init(struct stream_items *s, size_t item_bytes_max)
{
    *s = (struct stream_items){ 0 };
    buf_init(&s->part, item_bytes_max);
    buf_init(&s->envelope, ENVELOPE_BYTES_MAX);
}

void stream_items_done(struct stream_items *s)
{
    buf_done(&s->part);
    buf_done(&s->envelope);
}

void stream_items_reset(struct stream_items *s)
{
    struct buf part = s->part, envelope = s->envelope;
    *s = (struct stream_items){ .part = part, .envelope = envelope };
    buf_reset(&s->part);
    buf_reset(&s->envelope);
}

/* Handles a character of a string, without the quotes. */
static void string_step(struct stream_items *s, char c)
{
    if (s->escaped) {
        s->escaped = false;
    } else if (c == '\\') {
        s->escaped = true;
    } else if (c == '"') {
        s->in_string = false;
        return;
    }
    if (s->depth == 1) {
        if (s->key_len < sizeof(s->key))
            s->key[s->key_len] = c;
        s->key_len++;
    }
}

static bool key_is_items(const struct stream_items *s)
{
    return s->key_len == 5 && memcmp(s->key, "items", 5) == 0;
}

enum part_of { ENVELOPE, ITEM, BETWEEN };

/* The part to which this character belongs. Depth 2 inside the array is between items. */
static enum part_of items_step(struct stream_items *s, char c, bool *ret_item_ends)
{
    enum part_of here = !s->in_items ? ENVELOPE : s->depth > 2 ? ITEM : BETWEEN;
    *ret_item_ends = false;
    if (s->in_string) {
        string_step(s, c);
    } else if (c == '"') {
        s->in_string = true;
        s->key_len = 0;
    } else if (c == '{' || c == '[') {
        if (here == BETWEEN)
            here = ITEM;
        else if (s->depth == 1 && c == '[' && key_is_items(s))
            s->in_items = true;
        s->depth++;
    } else if (c == '}' || c == ']') {
        s->depth -= s->depth > 0;
        *ret_item_ends = here == ITEM && s->depth == 2;
        if (here == BETWEEN) {
            s->in_items = false;
            here = ENVELOPE;
        }
    }
    return here;
}

void stream_items_feed(struct stream_items *s, struct str chunk, struct stream_target to)
{
    bool ends = false, cut = false;
    enum part_of run = BETWEEN;
    size_t start = 0; /* of a run of characters that belong to the same part */
    for (size_t i = 0; i <= chunk.len; i++) {
        bool over = i == chunk.len;
        enum part_of here = over ? BETWEEN : items_step(s, chunk.ptr[i], &ends);
        struct str before = { chunk.ptr + start, i - start };
        if (here != run || over) {
            if (run == ENVELOPE)
                keep(&s->envelope, before, &cut);
            else if (run == ITEM)
                keep(&s->part, before, &s->cut);
            start = i;
            run = here;
        }
        if (over || !ends)
            continue;
        struct str rest = { chunk.ptr + start, i + 1 - start };
        start = i + 1;
        run = BETWEEN;
        if (!hand_over(&s->part, &s->cut, rest, to))
            return;
    }
}

/* ---- identity ---- */

/* A scan of JSON text by its structure only. `keys` is the path of the current position. */
struct walk {
    struct str keys[4];
    unsigned objects; /* bit d: the container at depth d is an object */
    int64_t depth;
    bool want_key;
};

#define WALK_DEPTH 3

static void take_value(struct arena *a, const struct walk *w, struct str value, bool is_event,
    struct stream_identity *id)
{
    const struct {
        const char *key;
        const char **into;
    } wanted[] = {
        { "namespace", &id->ns },
        { "name", &id->name },
        { "uid", &id->uid },
        { "resourceVersion", &id->version },
    };
    if (is_event && w->depth == 1 && str_eq(w->keys[1], STR("type")))
        id->event = str_dup(a, value);
    int below = is_event ? 3 : 2;
    if (w->depth != below || !str_eq(w->keys[below - 1], STR("metadata")) ||
        (is_event && !str_eq(w->keys[1], STR("object"))))
        return;
    for (size_t i = 0; i < lengthof(wanted); i++)
        if (str_eq(w->keys[below], str_of(wanted[i].key)))
            *wanted[i].into = str_dup(a, value);
}

static size_t string_end(struct str text, size_t i)
{
    for (; i < text.len && text.ptr[i] != '"'; i++)
        if (text.ptr[i] == '\\')
            i++;
    return i < text.len ? i : text.len;
}

/* Skips values nested too deep to matter, which are most of an object. */
static size_t walk_over(struct walk *w, struct str text, size_t i)
{
    static const int8_t steps[256] = { ['{'] = 1, ['['] = 1, ['}'] = -1, [']'] = -1 };
    for (; i < text.len && w->depth > WALK_DEPTH; i++)
        if (text.ptr[i] == '"')
            i = string_end(text, i + 1);
        else
            w->depth += steps[(uint8_t)text.ptr[i]];
    return i;
}

struct stream_identity stream_identify(struct arena *a, struct str text, bool is_event)
{
    struct stream_identity id = { 0 };
    struct walk w = { 0 };
    for (size_t i = 0; (i = walk_over(&w, text, i)) < text.len; i++) {
        char c = text.ptr[i];
        bool near = w.depth >= 1;
        if (c == '"') {
            size_t end = string_end(text, ++i);
            struct str s = { text.ptr + i, end - i };
            i = end;
            if (end == text.len || !near)
                continue;
            if (w.want_key)
                w.keys[w.depth] = s;
            else if (w.objects & 1u << w.depth)
                take_value(a, &w, s, is_event, &id);
            if (id.ns && id.name && id.uid && id.version && (id.event || !is_event))
                break;
        } else if (c == '{' || c == '[') {
            w.depth++;
            if (w.depth <= WALK_DEPTH) {
                w.objects &= ~(1u << w.depth);
                w.objects |= (c == '{') * (1u << w.depth);
                w.keys[w.depth] = (struct str){ 0 };
            }
            w.want_key = c == '{';
        } else if (c == '}' || c == ']') {
            w.depth -= w.depth > 0;
        } else if (c == ',') {
            w.want_key = near && w.objects & 1u << w.depth;
        } else if (c == ':') {
            w.want_key = false;
        }
    }
    return id;
}

struct str stream_flatten(struct arena *a, struct str text, int64_t depth_max)
{
    char *out = arena_alloc(a, text.len);
    size_t length = 0;
    int64_t depth = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        size_t start = i;
        if (c == '"')
            i = string_end(text, i + 1);
        depth -= c == '}' || c == ']';
        size_t end = i < text.len ? i + 1 : text.len;
        if (depth <= depth_max) {
            memcpy(out + length, text.ptr + start, end - start);
            length += end - start;
        }
        depth += c == '{' || c == '[';
    }
    return (struct str){ out, length };
}
