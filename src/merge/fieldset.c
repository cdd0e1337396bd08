/* Sets of field paths: trees with sorted entries, so that every operation is one walk. */

#include "merge/fieldset.h"

#include <stdlib.h>
#include <string.h>

static const struct fieldset empty_set;

const struct fieldset *fieldset_empty(void)
{
    return &empty_set;
}

static const struct fieldset *below_of(const struct fieldset_entry *e)
{
    return e->below ? e->below : &empty_set;
}

/* ---- building ---- */

void fieldset_builder_init(struct fieldset_builder *b, struct arena *a)
{
    *b = (struct fieldset_builder){ .arena = a };
}

void fieldset_add(
    struct fieldset_builder *b, struct path_element e, bool member, const struct fieldset *below)
{
    if (below && !below->count)
        below = NULL;
    if (!member && !below)
        return;
    arena_room(b->arena, b->entries, b->count, b->size);
    b->entries[b->count++] = (struct fieldset_entry){
        .element = e,
        .member = member,
        .below = below,
    };
}

static int compare_entries(const void *left, const void *right)
{
    const struct fieldset_entry *l = left, *r = right;
    return path_element_compare(&l->element, &r->element);
}

static bool is_sorted(const struct fieldset_builder *b)
{
    for (uint32_t i = 1; i < b->count; i++)
        if (compare_entries(&b->entries[i - 1], &b->entries[i]) >= 0)
            return false;
    return true;
}

const struct fieldset *fieldset_end(struct fieldset_builder *b)
{
    if (!b->count)
        return &empty_set;
    if (!is_sorted(b)) {
        qsort(b->entries, b->count, sizeof(*b->entries), compare_entries);
        uint32_t kept = 0;
        for (uint32_t i = 1; i < b->count; i++) {
            struct fieldset_entry *last = &b->entries[kept], *next = &b->entries[i];
            if (compare_entries(last, next) != 0) {
                b->entries[++kept] = *next;
                continue;
            }
            last->member |= next->member;
            if (last->below && next->below)
                last->below = fieldset_union(b->arena, last->below, next->below);
            else if (next->below)
                last->below = next->below;
        }
        b->count = kept + 1;
    }
    struct fieldset *s = arena_new(b->arena, struct fieldset);
    *s = (struct fieldset){ .count = b->count, .entries = b->entries };
    return s;
}

/* ---- two sets ---- */

/* Walks both in order. One of the two entries may be NULL. */
struct zip {
    const struct fieldset *x, *y;
    uint32_t i, j;
};

static bool zip_next(
    struct zip *z, const struct fieldset_entry **ret_x, const struct fieldset_entry **ret_y)
{
    *ret_x = z->i < z->x->count ? &z->x->entries[z->i] : NULL;
    *ret_y = z->j < z->y->count ? &z->y->entries[z->j] : NULL;
    if (*ret_x && *ret_y) {
        int order = path_element_compare(&(*ret_x)->element, &(*ret_y)->element);
        if (order < 0)
            *ret_y = NULL;
        else if (order > 0)
            *ret_x = NULL;
    }
    z->i += *ret_x != NULL;
    z->j += *ret_y != NULL;
    return *ret_x || *ret_y;
}

bool fieldset_equal(const struct fieldset *a, const struct fieldset *b)
{
    if (a == b)
        return true;
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct fieldset_entry *x = &a->entries[i], *y = &b->entries[i];
        if (x->member != y->member || path_element_compare(&x->element, &y->element) != 0 ||
            !fieldset_equal(below_of(x), below_of(y)))
            return false;
    }
    return true;
}

const struct fieldset *fieldset_union(
    struct arena *a, const struct fieldset *x, const struct fieldset *y)
{
    if (!x->count || x == y)
        return y;
    if (!y->count)
        return x;
    struct fieldset_builder b;
    fieldset_builder_init(&b, a);
    struct zip z = { .x = x, .y = y };
    for (const struct fieldset_entry *e, *f; zip_next(&z, &e, &f);) {
        const struct fieldset_entry *any = e ? e : f;
        const struct fieldset *below =
            e && f ? fieldset_union(a, below_of(e), below_of(f)) : any->below;
        fieldset_add(&b, any->element, (e && e->member) || (f && f->member), below);
    }
    return fieldset_end(&b);
}

const struct fieldset *fieldset_intersection(
    struct arena *a, const struct fieldset *x, const struct fieldset *y)
{
    struct fieldset_builder b;
    fieldset_builder_init(&b, a);
    struct zip z = { .x = x, .y = y };
    for (const struct fieldset_entry *e, *f; zip_next(&z, &e, &f);)
        if (e && f)
            fieldset_add(&b,
                e->element,
                e->member && f->member,
                fieldset_intersection(a, below_of(e), below_of(f)));
    return fieldset_end(&b);
}

static const struct fieldset *difference(
    struct arena *a, const struct fieldset *x, const struct fieldset *y, bool deep)
{
    if (!x->count || !y->count)
        return x;
    struct fieldset_builder b;
    fieldset_builder_init(&b, a);
    struct zip z = { .x = x, .y = y };
    for (const struct fieldset_entry *e, *f; zip_next(&z, &e, &f);) {
        if (!e || (f && deep && f->member))
            continue;
        const struct fieldset *below = f ? difference(a, below_of(e), below_of(f), deep) : e->below;
        fieldset_add(&b, e->element, e->member && !(f && f->member), below);
    }
    return fieldset_end(&b);
}

const struct fieldset *fieldset_difference(
    struct arena *a, const struct fieldset *x, const struct fieldset *y)
{
    return difference(a, x, y, false);
}

const struct fieldset *fieldset_difference_below(
    struct arena *a, const struct fieldset *x, const struct fieldset *y)
{
    return difference(a, x, y, true);
}

/* ---- one set ---- */

const struct fieldset *fieldset_leaves(struct arena *a, const struct fieldset *s)
{
    struct fieldset_builder b;
    fieldset_builder_init(&b, a);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct fieldset_entry *e = &s->entries[i];
        fieldset_add(&b, e->element, e->member && !e->below, fieldset_leaves(a, below_of(e)));
    }
    return fieldset_end(&b);
}

size_t fieldset_size(const struct fieldset *s)
{
    size_t size = 0;
    for (uint32_t i = 0; i < s->count; i++)
        size += s->entries[i].member + fieldset_size(below_of(&s->entries[i]));
    return size;
}

const struct fieldset_entry *fieldset_entry(const struct fieldset *s, const struct path_element *e)
{
    uint32_t low = 0, high = s->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = path_element_compare(&s->entries[middle].element, e);
        if (order == 0)
            return &s->entries[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool fieldset_has(const struct fieldset *s, const struct field_path *path)
{
    const struct fieldset_entry *e = NULL;
    for (size_t i = 0; i < path->count; i++) {
        e = fieldset_entry(e ? below_of(e) : s, &path->elements[i]);
        if (!e)
            return false;
    }
    return e && e->member;
}

const struct fieldset *fieldset_of_path(struct arena *a, const struct field_path *path)
{
    const struct fieldset *s = NULL;
    for (size_t i = path->count; i-- > 0;) {
        struct fieldset_builder b;
        fieldset_builder_init(&b, a);
        fieldset_add(&b, path->elements[i], !s, s);
        s = fieldset_end(&b);
    }
    return s ? s : &empty_set;
}

const struct fieldset *fieldset_of_texts(struct arena *a, const char *const *texts, size_t count)
{
    const struct fieldset *s = &empty_set;
    for (size_t i = 0; i < count; i++) {
        struct field_path path;
        bool parsed = field_path_parse(a, texts[i], &path, NULL);
        assert(parsed);
        s = fieldset_union(a, s, fieldset_of_path(a, &path));
    }
    return s;
}

struct walk {
    void (*visit)(void *ctx, const struct field_path *path);
    void *ctx;
    struct path_element *elements; /* room for FIELD_PATH_DEPTH_MAX */
};

/* Members first, then the members below: the server's order in conflicts. */
static void walk_members(const struct walk *w, const struct fieldset *s, size_t depth)
{
    assert(depth < FIELD_PATH_DEPTH_MAX);
    for (uint32_t i = 0; i < s->count; i++) {
        w->elements[depth] = s->entries[i].element;
        if (s->entries[i].member)
            w->visit(w->ctx, &(struct field_path){ w->elements, depth + 1 });
    }
    for (uint32_t i = 0; i < s->count; i++) {
        w->elements[depth] = s->entries[i].element;
        if (s->entries[i].below)
            walk_members(w, s->entries[i].below, depth + 1);
    }
}

struct collected {
    struct arena *arena;
    struct field_path *paths;
    size_t count;
};

static void collect(void *ctx, const struct field_path *path)
{
    struct collected *c = ctx;
    struct path_element *copy = arena_array(c->arena, path->count, sizeof(*copy));
    memcpy(copy, path->elements, path->count * sizeof(*copy));
    c->paths[c->count++] = (struct field_path){ .elements = copy, .count = path->count };
}

const struct field_path *fieldset_paths(
    struct arena *a, const struct fieldset *s, size_t *ret_count)
{
    struct collected c = { .arena = a };
    c.paths = arena_array(a, fieldset_size(s), sizeof(*c.paths));
    struct path_element elements[FIELD_PATH_DEPTH_MAX];
    walk_members(&(struct walk){ .visit = collect, .ctx = &c, .elements = elements }, s, 0);
    *ret_count = c.count;
    return c.paths;
}
