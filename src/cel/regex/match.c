/* Threads walk the text together: each is at an instruction that consumes a character, and all are
 * at the same position. A list of threads is in order of preference and contains no instruction
 * twice, so a step visits each instruction at most once. */

#include "base/utf8.h"
#include "cel/regex/program.h"

struct cel_regex_threads {
    uint32_t count;
    struct thread {
        uint32_t at;  /* an instruction */
        size_t start; /* where its match starts */
    } * list;
    uint32_t *place; /* index of an instruction in the list, valid if the list agrees */
    uint32_t *stack;
};

struct search {
    const struct cel_regex *re;
    struct cel_regex_scratch *scratch;
    struct str text;
    size_t at;
    uint32_t before, after; /* the characters around `at`; NO_CHARACTER at the ends */
};

#define NO_CHARACTER UINT32_MAX

static bool is_word(uint32_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool holds(const struct search *s, enum cel_regex_assert assert)
{
    switch (assert) {
    case CEL_REGEX_TEXT_BEGIN:
        return s->before == NO_CHARACTER;
    case CEL_REGEX_TEXT_END:
        return s->after == NO_CHARACTER;
    case CEL_REGEX_LINE_BEGIN:
        return s->before == NO_CHARACTER || s->before == '\n';
    case CEL_REGEX_LINE_END:
        return s->after == NO_CHARACTER || s->after == '\n';
    case CEL_REGEX_WORD_EDGE:
        return is_word(s->before) != is_word(s->after);
    default:
        return is_word(s->before) == is_word(s->after);
    }
}

/* Follows an instruction to those that consume a character, or match. */
static void add_thread(
    struct search *s, struct cel_regex_threads *ts, uint32_t instruction, size_t start)
{
    uint32_t depth = 0;
    ts->stack[depth++] = instruction;
    while (depth) {
        uint32_t at = ts->stack[--depth], seen = ts->place[at];
        if (seen < ts->count && ts->list[seen].at == at)
            continue;
        s->scratch->steps++;
        ts->place[at] = ts->count;
        ts->list[ts->count++] = (struct thread){ at, start };
        const struct cel_regex_instruction *i = &s->re->program[at];
        if (i->op == CEL_REGEX_SPLIT) {
            ts->stack[depth++] = i->y;
            ts->stack[depth++] = i->x;
        } else if (i->op == CEL_REGEX_JUMP || (i->op == CEL_REGEX_ASSERT && holds(s, i->assert))) {
            ts->stack[depth++] = i->x;
        }
    }
}

static struct cel_regex_threads *threads_new(struct arena *a, uint32_t size)
{
    struct cel_regex_threads *ts = arena_new(a, struct cel_regex_threads);
    ts->list = arena_array(a, size, sizeof(*ts->list));
    ts->place = arena_array(a, size, sizeof(*ts->place));
    ts->stack = arena_array(a, (size_t)size * 2 + 2, sizeof(*ts->stack));
    return ts;
}

static size_t character_at(struct str text, size_t at, uint32_t *ret)
{
    *ret = NO_CHARACTER;
    if (at >= text.len)
        return 0;
    size_t bytes = utf8_first((struct str){ text.ptr + at, text.len - at }, ret);
    if (!bytes)
        *ret = 0xfffd;
    return bytes ? bytes : 1;
}

static uint32_t character_before(struct str text, size_t at)
{
    uint32_t c;
    for (size_t back = 1; back <= 4 && back <= at; back++)
        if (utf8_first((struct str){ text.ptr + at - back, back }, &c) == back)
            return c;
    return at ? 0xfffd : NO_CHARACTER;
}

/* Moves every thread over a character. A match ends all threads of lower preference. */
static bool step(struct search *s, struct cel_regex_threads *now, struct cel_regex_threads *next,
    struct search *after, struct cel_regex_match *ret)
{
    next->count = 0;
    for (uint32_t n = 0; n < now->count; n++) {
        const struct cel_regex_instruction *i = &s->re->program[now->list[n].at];
        if (i->op == CEL_REGEX_MATCH) {
            *ret = (struct cel_regex_match){ now->list[n].start, s->at };
            return true;
        }
        if (i->op == CEL_REGEX_SET && s->after != NO_CHARACTER && cel_set_has(i->set, s->after))
            add_thread(after, next, i->x, now->list[n].start);
    }
    return false;
}

bool cel_regex_search(const struct cel_regex *re, struct arena *a,
    struct cel_regex_scratch *scratch, struct str text, size_t from, struct cel_regex_match *ret)
{
    if (scratch->size < re->count) {
        scratch->size = re->count;
        scratch->now = threads_new(a, re->count);
        scratch->next = threads_new(a, re->count);
    }
    struct cel_regex_threads *now = scratch->now, *next = scratch->next;
    struct search s = { re, scratch, text, from, character_before(text, from), 0 };
    bool found = false;
    now->count = 0;
    for (;;) {
        size_t bytes = character_at(text, s.at, &s.after);
        if (!found)
            add_thread(&s, now, 0, s.at);
        struct search after = { re, scratch, text, s.at + bytes, s.after, 0 };
        character_at(text, after.at, &after.after);
        found = step(&s, now, next, &after, ret) || found;
        scratch->steps += now->count + 1;
        scratch->exhausted = scratch->exhausted || scratch->steps > CEL_REGEX_STEPS_MAX;
        if (!bytes || (found && !next->count) || scratch->exhausted)
            return found;
        struct cel_regex_threads *swap = now;
        now = next;
        next = swap;
        s.at = after.at;
        s.before = s.after;
    }
}
