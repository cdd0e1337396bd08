#include "cel/regex/program.h"
#include "cel/regex/unicode.h"

/* Adds a range; the ranges stay sorted and disjoint. */
void cel_set_add(struct arena *a, struct cel_set *s, uint32_t first, uint32_t last)
{
    size_t at = 0, end;
    while (at < s->count && s->ranges[at].last + 1 < first)
        at++;
    for (end = at; end < s->count && s->ranges[end].first <= last + 1; end++) {
        if (s->ranges[end].first < first)
            first = s->ranges[end].first;
        if (s->ranges[end].last > last)
            last = s->ranges[end].last;
    }
    if (end == at && s->count == s->size) {
        size_t size = s->size * 2 + 8;
        struct cel_range *ranges = arena_array(a, size, sizeof(*ranges));
        if (s->count)
            memcpy(ranges, s->ranges, s->count * sizeof(*ranges));
        s->ranges = ranges;
        s->size = size;
    }
    /* Replaces the ranges at…end by one; there are none if it touches none. */
    memmove(s->ranges + at + 1, s->ranges + end, (s->count - end) * sizeof(*s->ranges));
    s->count = s->count - (end - at) + 1;
    s->ranges[at] = (struct cel_range){ first, last };
}

void cel_set_add_all(struct arena *a, struct cel_set *s, const struct cel_set *other)
{
    for (size_t i = 0; i < other->count; i++)
        cel_set_add(a, s, other->ranges[i].first, other->ranges[i].last);
}

void cel_set_invert(struct arena *a, struct cel_set *s)
{
    struct cel_set all = { 0 };
    uint32_t next = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->ranges[i].first > next)
            cel_set_add(a, &all, next, s->ranges[i].first - 1);
        next = s->ranges[i].last + 1;
    }
    if (next <= CEL_CHARACTER_MAX)
        cel_set_add(a, &all, next, CEL_CHARACTER_MAX);
    *s = all;
}

static void fold_letters(
    struct arena *a, struct cel_set *s, struct cel_range r, char first, char last)
{
    uint32_t from = r.first > (uint32_t)first ? r.first : (uint32_t)first;
    uint32_t to = r.last < (uint32_t)last ? r.last : (uint32_t)last;
    if (from <= to)
        cel_set_add(a, s, from ^ 0x20, to ^ 0x20);
}

/* ASCII, and the two characters that fold into it: the Kelvin sign and the long s. */
void cel_set_fold(struct arena *a, struct cel_set *s)
{
    static const uint32_t odd[][2] = { { 'k', 0x212a }, { 's', 0x17f } };
    struct cel_set before = *s;
    struct cel_range *copy = arena_array(a, s->count + 1, sizeof(*copy));
    if (s->count)
        memcpy(copy, s->ranges, s->count * sizeof(*copy));
    before.ranges = copy;
    for (size_t i = 0; i < before.count; i++) {
        fold_letters(a, s, before.ranges[i], 'a', 'z');
        fold_letters(a, s, before.ranges[i], 'A', 'Z');
    }
    for (size_t i = 0; i < lengthof(odd); i++)
        if (cel_set_has(s, odd[i][0]) || cel_set_has(&before, odd[i][1])) {
            cel_set_add(a, s, odd[i][0], odd[i][0]);
            cel_set_add(a, s, odd[i][0] ^ 0x20, odd[i][0] ^ 0x20);
            cel_set_add(a, s, odd[i][1], odd[i][1]);
        }
}

bool cel_set_has(const struct cel_set *s, uint32_t c)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c < s->ranges[middle].first)
            high = middle;
        else if (c > s->ranges[middle].last)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

/* ---- classes: pairs of first and last ---- */

static void add_pairs(struct arena *a, struct cel_set *s, const char *pairs, size_t count)
{
    for (size_t i = 0; i + 1 < count; i += 2)
        cel_set_add(a, s, (unsigned char)pairs[i], (unsigned char)pairs[i + 1]);
}

bool cel_set_add_perl(struct arena *a, struct cel_set *s, char letter)
{
    struct cel_set members = { 0 };
    switch (letter | 0x20) {
    case 'd':
        add_pairs(a, &members, "09", 2);
        break;
    case 'w':
        add_pairs(a, &members, "09AZaz__", 8);
        break;
    case 's':
        add_pairs(a, &members, "\t\n\f\r  ", 6);
        break;
    default:
        return false;
    }
    if (!(letter & 0x20))
        cel_set_invert(a, &members);
    cel_set_add_all(a, s, &members);
    return true;
}

static const struct {
    const char *name, *pairs;
    size_t count;
} posix[] = {
    { "alnum", "09AZaz", 6 },
    { "alpha", "AZaz", 4 },
    { "ascii", "\0\x7f", 2 },
    { "blank", "\t\t  ", 4 },
    { "cntrl", "\0\x1f\x7f\x7f", 4 },
    { "digit", "09", 2 },
    { "graph", "!~", 2 },
    { "lower", "az", 2 },
    { "print", " ~", 2 },
    { "punct", "!/:@[`{~", 8 },
    { "space", "\t\r  ", 4 },
    { "upper", "AZ", 2 },
    { "word", "09AZaz__", 8 },
    { "xdigit", "09AFaf", 6 },
};

bool cel_set_add_posix(struct arena *a, struct cel_set *s, struct str name)
{
    bool inverted = name.len && *name.ptr == '^';
    if (inverted)
        name = (struct str){ name.ptr + 1, name.len - 1 };
    for (size_t i = 0; i < lengthof(posix); i++)
        if (str_eq(name, str_of(posix[i].name))) {
            struct cel_set members = { 0 };
            add_pairs(a, &members, posix[i].pairs, posix[i].count);
            if (inverted)
                cel_set_invert(a, &members);
            cel_set_add_all(a, s, &members);
            return true;
        }
    return false;
}

/* Of the run at *run, which moves to the next one. Its digits are lowercase, categories are not. */
static uint32_t read_count(const char **run)
{
    uint32_t count = 0;
    const char *c = *run + 2;
    for (; (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'f'); c++)
        count = count * 16 + (uint32_t)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
    *run = c;
    return count;
}

bool cel_set_add_unicode(struct arena *a, struct cel_set *s, struct str name)
{
    bool found = str_eq(name, STR("Any"));
    if (found)
        cel_set_add(a, s, 0, CEL_CHARACTER_MAX);
    uint32_t first = 0;
    for (const char *run = cel_unicode_runs; *run;) {
        struct str category = { run, 2 };
        uint32_t count = read_count(&run);
        /* "L" is all of "Lu", "Ll", … */
        if (name.len && str_starts(category, name) && !str_eq(category, STR("Cn"))) {
            found = true;
            cel_set_add(a, s, first, first + count - 1);
        }
        first += count;
    }
    return found;
}
