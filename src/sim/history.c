#include "sim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

#define LINES_MAX 20000
#define LINE_BYTES 400

struct line {
    int64_t at_ms;
    char actor[16];
    char text[LINE_BYTES];
};

struct sim_history {
    struct sim *sim;
    size_t added;
    struct line lines[LINES_MAX];
};

struct sim_history *sim_history_new(struct sim *s)
{
    struct sim_history *h = mem_new_of(struct sim_history);
    h->sim = s;
    return h;
}

void sim_history_free(struct sim_history *h)
{
    free(h);
}

static void print_line(const struct line *l)
{
    printf("%8.3f  %-12s %s\n", (double)l->at_ms / 1000, l->actor, l->text);
}

void sim_history_add(struct sim_history *h, const char *actor, const char *format, ...)
{
    struct line *l = &h->lines[h->added++ % LINES_MAX];
    l->at_ms = h->sim->now_ms;
    snprintf(l->actor, sizeof(l->actor), "%s", actor);
    va_list args;
    va_start(args, format);
    vsnprintf(l->text, sizeof(l->text), format, args);
    va_end(args);
    if (h->sim->options.trace)
        print_line(l);
}

#define FIELDS_MAX 4

/* Compares one level deeper where both are maps; a list counts as one field. */
static void add_fields(
    struct buf *b, size_t *count, const char *path, struct json before, struct json after)
{
    static const char *const dull[] = {
        "metadata.managedFields", "metadata.resourceVersion", "metadata.generation", NULL
    };
    for (size_t i = 0; dull[i]; i++)
        if (text_eq(path, dull[i]))
            return;
    if (json_is(before, JSON_MAP) && json_is(after, JSON_MAP)) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        json_each_member (m, before)
            add_fields(b,
                count,
                arena_printf(&a, "%s%s%s", path, *path ? "." : "", m->key),
                m->value,
                json_member(after, m->key));
        json_each_member (m, after)
            if (!json_present(json_member(before, m->key)))
                add_fields(b,
                    count,
                    arena_printf(&a, "%s%s%s", path, *path ? "." : "", m->key),
                    json_none,
                    m->value);
        return;
    }
    if (json_equal(before, after) || ++*count > FIELDS_MAX)
        return;
    buf_printf(b,
        "%s%s%s",
        b->len ? ", " : "",
        !json_present(before)  ? "+"
        : !json_present(after) ? "-"
                               : "",
        path);
}

const char *sim_history_fields(struct arena *a, struct json before, struct json after)
{
    struct buf b = BUF_INIT(LINE_BYTES);
    size_t count = 0;
    add_fields(&b, &count, "", before, after);
    const char *text = arena_printf(a, "%s%s", buf_text(&b), count > FIELDS_MAX ? ", …" : "");
    buf_done(&b);
    return text;
}

bool sim_history_skips(const char *path)
{
    return path && strstr(path, "/leases");
}

/* About the object, its children, and faults that affected it. */
static bool is_about(const struct line *l, const char *name)
{
    return !*name || strstr(l->text, name) || (l->text[0] == '~');
}

void sim_history_print(const struct sim_history *h, const char *about, size_t lines)
{
    size_t kept = h->added < LINES_MAX ? h->added : LINES_MAX, from = h->added;
    while (lines && from > h->added - kept)
        lines -= is_about(&h->lines[--from % LINES_MAX], about);
    printf("%8s  %-12s %s\n", "seconds", "who", "what changed; then the request -> answer");
    for (size_t i = from; i < h->added; i++)
        if (is_about(&h->lines[i % LINES_MAX], about))
            print_line(&h->lines[i % LINES_MAX]);
}
