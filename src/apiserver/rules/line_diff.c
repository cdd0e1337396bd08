#include "apiserver/rules/line_diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"

#define CONTEXT 3
#define LINES_MAX 10000
/* In a text of this many lines, those that are more than one in a hundred are too common to begin a
 * run. */
#define MANY 200

struct text {
    const char **lines;
    size_t count;
};

struct run {
    size_t a, b, count;
};

struct differ {
    struct arena *arena;
    struct text a, b;
    const size_t *sorted;     /* the lines of b in the order of their texts, then places */
    struct run *same;         /* of each line of a: where its equals are in sorted */
    size_t *lengths, *before; /* of runs that end in front of a place of b; of the last line of a */
    struct run *runs;
    size_t run_count;
};

static struct text split(struct arena *a, const char *text)
{
    struct text t = { .count = 1 };
    for (const char *at = text; *at; at++)
        t.count += *at == '\n';
    t.lines = arena_array(a, t.count, sizeof(*t.lines));
    struct str rest = str_of(text);
    for (size_t i = 0; i < t.count; i++)
        t.lines[i] = str_dup(a, str_cut(&rest, '\n'));
    return t;
}

struct place {
    const char *line;
    size_t at;
};

static int compare_places(const void *x, const void *y)
{
    const struct place *p = x, *q = y;
    int order = strcmp(p->line, q->line);
    return order ? order : (p->at > q->at) - (p->at < q->at);
}

/* Where the equals of each line of a stand in b. */
static void find_equals(struct differ *d)
{
    size_t n = d->b.count, common = n >= MANY ? n / 100 + 1 : n;
    struct place *places = arena_array(d->arena, n, sizeof(*places));
    size_t *sorted = arena_array(d->arena, n, sizeof(*sorted));
    for (size_t i = 0; i < n; i++)
        places[i] = (struct place){ d->b.lines[i], i };
    qsort(places, n, sizeof(*places), compare_places);
    for (size_t i = 0; i < n; i++)
        sorted[i] = places[i].at;
    d->sorted = sorted;
    d->same = arena_array(d->arena, d->a.count, sizeof(*d->same));
    for (size_t i = 0; i < d->a.count; i++) {
        size_t low = 0, high = n, end;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (strcmp(places[middle].line, d->a.lines[i]) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        for (end = low; end < n && strcmp(places[end].line, d->a.lines[i]) == 0;)
            end++;
        d->same[i] = (struct run){ .b = low, .count = end - low > common ? 0 : end - low };
    }
}

static void forget(struct differ *d, size_t line, size_t *lengths)
{
    for (size_t e = 0; e < d->same[line].count; e++)
        lengths[d->sorted[d->same[line].b + e] + 1] = 0;
}

/* The longest run of equal lines in both, the first of several, with what is equal around it. */
static struct run find_longest(struct differ *d, size_t a0, size_t a1, size_t b0, size_t b1)
{
    struct run best = { a0, b0, 0 };
    for (size_t i = a0; i < a1; i++) {
        for (size_t e = 0; e < d->same[i].count; e++) {
            size_t j = d->sorted[d->same[i].b + e];
            if (j < b0 || j >= b1)
                continue;
            size_t length = d->before[j] + 1;
            d->lengths[j + 1] = length;
            if (length > best.count)
                best = (struct run){ i + 1 - length, j + 1 - length, length };
        }
        if (i > a0)
            forget(d, i - 1, d->before);
        size_t *other = d->before;
        d->before = d->lengths;
        d->lengths = other;
    }
    if (a1 > a0)
        forget(d, a1 - 1, d->before);
    while (best.a > a0 && best.b > b0 && text_eq(d->a.lines[best.a - 1], d->b.lines[best.b - 1])) {
        best.a--;
        best.b--;
        best.count++;
    }
    while (best.a + best.count < a1 && best.b + best.count < b1 &&
           text_eq(d->a.lines[best.a + best.count], d->b.lines[best.b + best.count]))
        best.count++;
    return best;
}

static void find_runs(struct differ *d, size_t a0, size_t a1, size_t b0, size_t b1)
{
    struct run r = find_longest(d, a0, a1, b0, b1);
    if (!r.count)
        return;
    if (a0 < r.a && b0 < r.b)
        find_runs(d, a0, r.a, b0, r.b);
    struct run *last = d->run_count ? &d->runs[d->run_count - 1] : NULL;
    if (last && last->a + last->count == r.a && last->b + last->count == r.b)
        last->count += r.count;
    else
        d->runs[d->run_count++] = r;
    if (r.a + r.count < a1 && r.b + r.count < b1)
        find_runs(d, r.a + r.count, a1, r.b + r.count, b1);
}

/* ---- printing ---- */

static const char *range_text(struct arena *a, size_t start, size_t end)
{
    if (end - start == 1)
        return arena_printf(a, "%zu", start + 1);
    return arena_printf(a, "%zu,%zu", end == start ? start : start + 1, end - start);
}

static void print_lines(struct buf *out, char mark, const struct text *t, size_t from, size_t to)
{
    for (; from < to; from++)
        buf_printf(out, "%c%s\n", mark, t->lines[from]);
}

/* The changes between runs first and last - 1 and the lines around them: one hunk. */
static void print_hunk(struct differ *d, struct buf *out, size_t first, size_t last)
{
    struct run before = d->runs[first], after = d->runs[last];
    size_t lead = before.count < CONTEXT ? before.count : CONTEXT,
           trail = after.count < CONTEXT ? after.count : CONTEXT;
    size_t a = before.a + before.count, b = before.b + before.count;
    buf_printf(out,
        "@@ -%s +%s @@\n",
        range_text(d->arena, a - lead, after.a + trail),
        range_text(d->arena, b - lead, after.b + trail));
    print_lines(out, ' ', &d->a, a - lead, a);
    for (size_t i = first + 1; i <= last; i++) {
        struct run r = d->runs[i];
        print_lines(out, '-', &d->a, a, r.a);
        print_lines(out, '+', &d->b, b, r.b);
        a = r.a + r.count;
        b = r.b + r.count;
        print_lines(out, ' ', &d->a, r.a, i == last ? r.a + trail : a);
    }
}

const char *line_diff(struct arena *a, const char *old, const char *new)
{
    struct differ d = { .arena = a, .a = split(a, old), .b = split(a, new) };
    if (d.a.count > LINES_MAX || d.b.count > LINES_MAX || text_eq(old, new))
        return "";
    find_equals(&d);
    d.lengths = arena_array(a, d.b.count + 1, sizeof(*d.lengths));
    d.before = arena_array(a, d.b.count + 1, sizeof(*d.before));
    d.runs = arena_array(a, d.a.count + 3, sizeof(*d.runs));
    d.run_count = 1; /* the first begins where the texts do, if empty; the last ends there */
    find_runs(&d, 0, d.a.count, 0, d.b.count);
    struct run last = d.runs[d.run_count - 1];
    if (last.a + last.count < d.a.count || last.b + last.count < d.b.count)
        d.runs[d.run_count++] = (struct run){ d.a.count, d.b.count, 0 };
    cleanup(buf_done) struct buf out = BUF_INIT((size_t)16 << 20);
    for (size_t first = 0, i = 1; i < d.run_count; i++)
        if (d.runs[i].count > 2 * CONTEXT || i + 1 == d.run_count) {
            print_hunk(&d, &out, first, i);
            first = i;
        }
    return arena_strdup(a, buf_text(&out));
}
