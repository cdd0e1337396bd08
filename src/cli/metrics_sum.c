#include "cli/metrics_sum.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/table.h"

#define BYTES_MAX ((size_t)256 << 20)

struct sample {
    struct table_node node;
    struct str name; /* with its labels */
    double value;
    bool least;
    struct sample *next;
};

struct family {
    struct str help, type; /* complete lines */
    struct sample *first, *last;
    struct family *next;
};

struct metrics_sum {
    struct arena arena;
    struct table samples;
    struct family *first, *last;
};

struct metrics_sum *metrics_sum_new(void)
{
    struct metrics_sum *s = mem_new_of(struct metrics_sum);
    arena_init(&s->arena, BYTES_MAX);
    table_init(&s->samples, 0, 0); /* no client chooses these names to force collisions */
    return s;
}

static struct str kept(struct metrics_sum *s, struct str text)
{
    return str_of(str_dup(&s->arena, text));
}

static struct family *family_of(struct metrics_sum *s, struct str help)
{
    for (struct family *f = s->first; f; f = f->next)
        if (str_eq(f->help, help))
            return f;
    struct family *f = arena_new(&s->arena, struct family);
    f->help = kept(s, help);
    if (s->last)
        s->last->next = f;
    else
        s->first = f;
    s->last = f;
    return f;
}

static bool is_named(const struct table_node *n, const void *key)
{
    return str_eq(container_of(n, struct sample, node)->name, *(const struct str *)key);
}

static void add_sample(struct metrics_sum *s, struct family *f, struct str line)
{
    size_t space = line.len;
    while (space > 0 && line.ptr[space - 1] != ' ')
        space--;
    if (!f || space < 2)
        return;
    struct str name = { line.ptr, space - 1 };
    double value = strtod(line.ptr + space, NULL); /* stops at the end of the line */
    uint64_t hash = table_hash(&s->samples, name.ptr, name.len);
    struct table_node *n = table_find(&s->samples, hash, is_named, &name);
    if (n) {
        struct sample *same = container_of(n, struct sample, node);
        if (!same->least)
            same->value += value;
        else if (value < same->value)
            same->value = value;
        return;
    }
    struct sample *made = arena_new(&s->arena, struct sample);
    *made = (struct sample){ .name = kept(s, name),
        .value = value,
        .least = str_starts(name, STR("leeboard_watched_resource_version")) };
    table_add(&s->samples, &made->node, hash);
    if (f->last)
        f->last->next = made;
    else
        f->first = made;
    f->last = made;
}

void metrics_sum_add(struct metrics_sum *s, struct str text)
{
    struct family *f = NULL;
    while (text.ptr) {
        struct str line = str_cut(&text, '\n');
        if (str_starts(line, STR("# HELP ")))
            f = family_of(s, line);
        else if (str_starts(line, STR("# TYPE ")) && f && !f->type.len)
            f->type = kept(s, line);
        else if (line.len && line.ptr[0] != '#')
            add_sample(s, f, line);
    }
}

void metrics_sum_print(const struct metrics_sum *s, struct buf *to)
{
    for (const struct family *f = s->first; f; f = f->next) {
        buf_printf(to, "%s\n%s\n", f->help.ptr, f->type.ptr);
        for (const struct sample *one = f->first; one; one = one->next)
            buf_printf(to, "%s %.15g\n", one->name.ptr, one->value);
    }
}

void metrics_sum_free(struct metrics_sum *s)
{
    table_done(&s->samples);
    arena_done(&s->arena);
    free(s);
}
