#include "kinds/workloads/job.h"

/* Makes room for another range at an index. */
static struct job_range *insert(struct job_indexes *set, size_t at)
{
    arena_room(set->arena, set->items, set->count, set->size);
    memmove(&set->items[at + 1], &set->items[at], (set->count - at) * sizeof(*set->items));
    set->count++;
    return &set->items[at];
}

static void add_range(struct job_indexes *set, int64_t first, int64_t last)
{
    size_t at = 0;
    while (at < set->count && set->items[at].last + 1 < first)
        at++;
    if (at == set->count || set->items[at].first > last + 1) {
        *insert(set, at) = (struct job_range){ first, last };
        return;
    }
    struct job_range *r = &set->items[at];
    r->first = first < r->first ? first : r->first;
    r->last = last > r->last ? last : r->last;
    size_t swallowed = 0;
    while (at + 1 + swallowed < set->count && r[1 + swallowed].first <= r->last + 1) {
        r->last = r[1 + swallowed].last > r->last ? r[1 + swallowed].last : r->last;
        swallowed++;
    }
    set->count -= swallowed;
    memmove(r + 1, r + 1 + swallowed, (set->count - at - 1) * sizeof(*r));
}

struct job_indexes job_indexes_parse(struct arena *a, const char *text, int64_t below)
{
    struct job_indexes set = { .arena = a };
    struct str rest = str_of(text);
    while (rest.ptr && rest.len) {
        struct str last_text = str_cut(&rest, ','), first_text = str_cut(&last_text, '-');
        int64_t first, last;
        if (!str_to_int(first_text, &first) || first < 0)
            continue;
        if (!last_text.ptr || !str_to_int(last_text, &last))
            last = first;
        last = last < below ? last : below - 1;
        if (first <= last)
            add_range(&set, first, last);
    }
    return set;
}

void job_indexes_add(struct job_indexes *set, int64_t index)
{
    add_range(set, index, index);
}

int64_t job_indexes_next_free(const struct job_indexes *set, int64_t index)
{
    for (size_t i = 0; i < set->count; i++)
        if (index >= set->items[i].first && index <= set->items[i].last)
            return set->items[i].last + 1;
    return index;
}

bool job_indexes_has(const struct job_indexes *set, int64_t index)
{
    return job_indexes_next_free(set, index) != index;
}

int64_t job_indexes_total(const struct job_indexes *set)
{
    int64_t total = 0;
    for (size_t i = 0; i < set->count; i++)
        total += set->items[i].last - set->items[i].first + 1;
    return total;
}

const char *job_indexes_text(const struct job_indexes *set)
{
    const char *text = "";
    for (size_t i = 0; i < set->count; i++) {
        int64_t first = set->items[i].first, last = set->items[i].last;
        const char *comma = i ? "," : "";
        if (first == last)
            text = arena_printf(set->arena, "%s%s%lld", text, comma, (long long)first);
        else
            text = arena_printf(set->arena,
                "%s%s%lld%s%lld",
                text,
                comma,
                (long long)first,
                last == first + 1 ? "," : "-",
                (long long)last);
    }
    return text;
}
