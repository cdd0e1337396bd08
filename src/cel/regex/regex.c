/* Parses a pattern into a tree, and compiles the tree to a program. */

#include "cel/regex/regex.h"

#include "base/utf8.h"
#include "cel/regex/program.h"

enum kind {
    EMPTY,
    SET,
    ASSERTION,
    SEQUENCE,  /* left right */
    ALTERNATE, /* left | right */
    REPEAT,    /* left{min,max} */
};

struct tree {
    enum kind kind;
    struct tree *left, *right;
    struct cel_set set;
    enum cel_regex_assert assert;
    int min, max; /* max -1: unlimited */
    bool lazy;
};

enum { FOLD = 1, MULTI_LINE = 2, DOT_ALL = 4, UNGREEDY = 8 };

struct reader {
    struct arena *arena;
    struct str pattern;
    size_t at;
    int flags, depth;
    const char *trouble;
};

static struct tree *read_alternatives(struct reader *r);

static struct tree *refuse(struct reader *r, const char *what, size_t from, size_t to)
{
    if (!r->trouble)
        r->trouble = arena_printf(r->arena,
            "error parsing regexp: %s: `%.*s`",
            what,
            (int)(to - from),
            r->pattern.ptr + from);
    return NULL;
}

static struct tree *tree_new(
    struct reader *r, enum kind kind, struct tree *left, struct tree *right)
{
    struct tree *t = arena_new(r->arena, struct tree);
    *t = (struct tree){ .kind = kind, .left = left, .right = right };
    return t;
}

static bool at_end(const struct reader *r)
{
    return r->at >= r->pattern.len;
}

static char peek(const struct reader *r, size_t distance)
{
    return r->at + distance < r->pattern.len ? r->pattern.ptr[r->at + distance] : '\0';
}

static bool accept(struct reader *r, const char *text)
{
    struct str rest = { r->pattern.ptr + r->at, r->pattern.len - r->at };
    if (!str_starts(rest, str_of(text)))
        return false;
    r->at += strlen(text);
    return true;
}

static uint32_t next_character(struct reader *r)
{
    uint32_t c = 0;
    struct str rest = { r->pattern.ptr + r->at, r->pattern.len - r->at };
    size_t bytes = utf8_first(rest, &c);
    r->at += bytes;
    return c;
}

/* ---- escapes ---- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

static bool read_hex(struct reader *r, size_t start, uint32_t *ret)
{
    uint32_t value = 0;
    bool braces = accept(r, "{");
    size_t digits = 0;
    for (; hex_digit(peek(r, 0)) >= 0 && (braces ? value <= CEL_CHARACTER_MAX : digits < 2);
         digits++, r->at++)
        value = value << 4 | (uint32_t)hex_digit(peek(r, 0));
    bool fine = digits && value <= CEL_CHARACTER_MAX && (braces ? accept(r, "}") : digits == 2);
    if (!fine)
        refuse(r, "invalid escape sequence", start, r->at < r->pattern.len ? r->at + 1 : r->at);
    *ret = value;
    return fine;
}

/* A character after a backslash, which is at start. */
static bool read_escape(struct reader *r, size_t start, uint32_t *ret)
{
    static const char letters[] = "afnrtv", meant[] = "\a\f\n\r\t\v";
    if (at_end(r)) {
        refuse(r, "trailing backslash at end of expression", r->at, r->at);
        return false;
    }
    char c = peek(r, 0);
    const char *letter = strchr(letters, c);
    bool octal = c == '0' || (c >= '1' && c <= '7' && peek(r, 1) >= '0' && peek(r, 1) <= '7');
    *ret = next_character(r);
    if (letter && c) {
        *ret = (uint32_t)meant[letter - letters];
    } else if (octal) {
        *ret = (uint32_t)(c - '0');
        for (int i = 1; i < 3 && peek(r, 0) >= '0' && peek(r, 0) <= '7'; i++)
            *ret = *ret * 8 + (uint32_t)(r->pattern.ptr[r->at++] - '0');
    } else if (c == 'x') {
        return read_hex(r, start, ret);
    } else if (*ret >= 0x80 || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
               c == '_') {
        refuse(r, "invalid escape sequence", start, r->at);
        return false;
    }
    return true;
}

/* \d, \pL, \p{Greek}, \P{^L}: true if there is one; adds its characters to the set. */
static bool read_class_escape(struct reader *r, struct cel_set *set)
{
    size_t start = r->at;
    if (peek(r, 0) != '\\')
        return false;
    char c = peek(r, 1);
    if (c && cel_set_add_perl(r->arena, set, c)) {
        r->at += 2;
        return true;
    }
    if ((c | 0x20) != 'p')
        return false;
    struct cel_set members = { 0 };
    bool inverted = c == 'P';
    r->at += 2;
    size_t from = r->at;
    struct str name = { r->pattern.ptr + from, 0 };
    if (accept(r, "{")) {
        while (!at_end(r) && peek(r, 0) != '}')
            r->at++;
        name = (struct str){ r->pattern.ptr + from + 1, r->at - from - 1 };
        if (!accept(r, "}")) {
            refuse(r, "invalid character class range", start, r->pattern.len);
            return true;
        }
    } else {
        next_character(r);
        name.len = r->at - from;
    }
    if (name.len && *name.ptr == '^') {
        inverted = !inverted;
        name = (struct str){ name.ptr + 1, name.len - 1 };
    }
    if (!cel_set_add_unicode(r->arena, &members, name))
        refuse(r, "invalid character class range", start, r->at);
    if (inverted)
        cel_set_invert(r->arena, &members);
    cel_set_add_all(r->arena, set, &members);
    return true;
}

/* ---- [classes] ---- */

static bool read_class_character(struct reader *r, size_t open, uint32_t *ret)
{
    size_t start = r->at;
    if (at_end(r)) {
        refuse(r, "missing closing ]", open, r->pattern.len);
        return false;
    }
    if (accept(r, "\\"))
        return read_escape(r, start, ret);
    *ret = next_character(r);
    return true;
}

static bool read_class_item(struct reader *r, size_t open, struct cel_set *set)
{
    size_t start = r->at;
    uint32_t first, last;
    if (accept(r, "[:")) {
        const char *end = memmem(r->pattern.ptr + r->at, r->pattern.len - r->at, ":]", 2);
        size_t length = end ? (size_t)(end - r->pattern.ptr) - r->at : 0;
        if (end &&
            cel_set_add_posix(r->arena, set, (struct str){ r->pattern.ptr + r->at, length })) {
            r->at += length + 2;
            return true;
        }
        if (end) {
            refuse(r, "invalid character class range", start, r->at + length + 2);
            return false;
        }
        r->at = start;
    }
    if (read_class_escape(r, set))
        return !r->trouble;
    if (!read_class_character(r, open, &first))
        return false;
    last = first;
    if (peek(r, 0) == '-' && peek(r, 1) && peek(r, 1) != ']') {
        r->at++;
        if (!read_class_character(r, open, &last))
            return false;
        if (last < first) {
            refuse(r, "invalid character class range", start, r->at);
            return false;
        }
    }
    cel_set_add(r->arena, set, first, last);
    return true;
}

static struct tree *read_class(struct reader *r)
{
    struct tree *t = tree_new(r, SET, NULL, NULL);
    size_t open = r->at++;
    bool inverted = accept(r, "^"), first = true;
    for (; first || peek(r, 0) != ']'; first = false)
        if (!read_class_item(r, open, &t->set))
            return NULL;
    r->at++;
    if (r->flags & FOLD)
        cel_set_fold(r->arena, &t->set);
    if (inverted)
        cel_set_invert(r->arena, &t->set);
    return t;
}

/* ---- operands of repetition ---- */

static struct tree *one_character(struct reader *r, uint32_t c)
{
    struct tree *t = tree_new(r, SET, NULL, NULL);
    cel_set_add(r->arena, &t->set, c, c);
    if (r->flags & FOLD)
        cel_set_fold(r->arena, &t->set);
    return t;
}

static struct tree *assertion(struct reader *r, enum cel_regex_assert assert)
{
    struct tree *t = tree_new(r, ASSERTION, NULL, NULL);
    t->assert = assert;
    return t;
}

static struct tree *read_backslash(struct reader *r)
{
    static const struct {
        char letter;
        enum cel_regex_assert assert;
    } assertions[] = { { 'A', CEL_REGEX_TEXT_BEGIN },
        { 'z', CEL_REGEX_TEXT_END },
        { 'b', CEL_REGEX_WORD_EDGE },
        { 'B', CEL_REGEX_NO_WORD_EDGE } };
    size_t start = r->at;
    struct tree *t = tree_new(r, SET, NULL, NULL);
    uint32_t c;
    if (read_class_escape(r, &t->set)) {
        if (r->flags & FOLD)
            cel_set_fold(r->arena, &t->set);
        return r->trouble ? NULL : t;
    }
    for (size_t i = 0; i < lengthof(assertions); i++)
        if (peek(r, 1) == assertions[i].letter) {
            r->at += 2;
            return assertion(r, assertions[i].assert);
        }
    r->at++;
    return read_escape(r, start, &c) ? one_character(r, c) : NULL;
}

/* \Q…\E: everything in between is literal. */
static struct tree *read_literal_run(struct reader *r)
{
    struct tree *first = tree_new(r, EMPTY, NULL, NULL), **last = &first;
    r->at += 2;
    for (; !at_end(r) && !accept(r, "\\E"); last = &(*last)->right)
        *last = tree_new(
            r, SEQUENCE, one_character(r, next_character(r)), tree_new(r, EMPTY, NULL, NULL));
    return first;
}

/* After "(?": flags, up to ":" or ")". */
static bool read_flags(struct reader *r, size_t open, bool *ret_group)
{
    static const char letters[] = "imsU";
    int flags = r->flags;
    bool negative = false, any = false;
    for (; !at_end(r); r->at++) {
        char c = peek(r, 0);
        const char *letter = c ? strchr(letters, c) : NULL;
        if (letter) {
            int bit = 1 << (letter - letters);
            flags = negative ? flags & ~bit : flags | bit;
            any = true;
        } else if (c == '-' && !negative) {
            negative = true;
            any = false;
        } else if (c == ':' || c == ')') {
            if (negative && !any)
                break;
            *ret_group = c == ':';
            r->at++;
            r->flags = flags;
            return true;
        } else {
            break;
        }
    }
    bool short_of = at_end(r);
    refuse(r,
        short_of ? "missing closing )" : "invalid or unsupported Perl syntax",
        short_of ? 0 : open,
        short_of ? r->pattern.len : r->at + 1);
    return false;
}

static bool read_group_name(struct reader *r, size_t open)
{
    size_t from = r->at;
    while (!at_end(r) && peek(r, 0) != '>')
        r->at++;
    bool fine = r->at > from && !at_end(r);
    for (size_t i = from; i < r->at; i++) {
        char c = r->pattern.ptr[i];
        fine = fine &&
               ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_');
    }
    if (!fine)
        refuse(r, "invalid named capture", open, at_end(r) ? r->at : r->at + 1);
    r->at++;
    return fine;
}

static struct tree *read_group(struct reader *r)
{
    size_t open = r->at++;
    int flags = r->flags;
    bool is_group = true;
    if (r->depth >= CEL_REGEX_DEPTH_MAX)
        return refuse(r, "expression nests too deeply", 0, r->pattern.len);
    if (accept(r, "?P<") || accept(r, "?<")) {
        if (!read_group_name(r, open))
            return NULL;
    } else if (accept(r, "?") && !read_flags(r, open, &is_group)) {
        return NULL;
    }
    if (!is_group) /* flags for the rest */
        return tree_new(r, EMPTY, NULL, NULL);
    r->depth++;
    struct tree *t = read_alternatives(r);
    r->depth--;
    r->flags = flags;
    if (t && !accept(r, ")"))
        return refuse(r, "missing closing )", 0, r->pattern.len);
    return t;
}

static struct tree *read_dot(struct reader *r)
{
    struct tree *t = tree_new(r, SET, NULL, NULL);
    r->at++;
    if (!(r->flags & DOT_ALL))
        cel_set_add(r->arena, &t->set, '\n', '\n');
    cel_set_invert(r->arena, &t->set);
    return t;
}

static struct tree *read_atom(struct reader *r)
{
    switch (peek(r, 0)) {
    case '(':
        return read_group(r);
    case '[':
        return read_class(r);
    case '.':
        return read_dot(r);
    case '^':
        r->at++;
        return assertion(r, r->flags & MULTI_LINE ? CEL_REGEX_LINE_BEGIN : CEL_REGEX_TEXT_BEGIN);
    case '$':
        r->at++;
        return assertion(r, r->flags & MULTI_LINE ? CEL_REGEX_LINE_END : CEL_REGEX_TEXT_END);
    case '\\':
        return peek(r, 1) == 'Q' ? read_literal_run(r) : read_backslash(r);
    default:
        return one_character(r, next_character(r));
    }
}

/* ---- repetition ---- */

static bool read_count(struct reader *r, int *ret)
{
    size_t from = r->at;
    *ret = 0;
    for (; peek(r, 0) >= '0' && peek(r, 0) <= '9'; r->at++)
        if (*ret <= CEL_REGEX_REPEAT_MAX)
            *ret = *ret * 10 + peek(r, 0) - '0';
    return r->at > from && !(r->at - from > 1 && r->pattern.ptr[from] == '0');
}

/* {n}, {n,}, {n,m}; anything else is literal. */
static bool read_braces(struct reader *r, int *min, int *max)
{
    size_t start = r->at++;
    bool fine = read_count(r, min);
    *max = *min;
    if (fine && accept(r, ","))
        fine = peek(r, 0) == '}' ? (*max = -1, true) : read_count(r, max);
    if (fine && accept(r, "}"))
        return true;
    r->at = start;
    return false;
}

static bool read_repetition(struct reader *r, int *min, int *max)
{
    *min = 0;
    *max = -1;
    switch (peek(r, 0)) {
    case '*':
        break;
    case '+':
        *min = 1;
        break;
    case '?':
        *max = 1;
        break;
    case '{':
        return read_braces(r, min, max);
    default:
        return false;
    }
    r->at++;
    return true;
}

static struct tree *read_repeated(struct reader *r)
{
    size_t start = r->at, before = 0;
    int min, max;
    if (read_repetition(r, &min, &max))
        return refuse(r, "missing argument to repetition operator", start, r->at);
    struct tree *t = read_atom(r);
    for (bool again = false; t; again = true) {
        size_t from = r->at;
        if (!read_repetition(r, &min, &max))
            return t;
        if (min > CEL_REGEX_REPEAT_MAX || max > CEL_REGEX_REPEAT_MAX || (max >= 0 && max < min))
            return refuse(r, "invalid repeat count", from, r->at);
        bool lazy = accept(r, "?");
        if (again)
            return refuse(r, "invalid nested repetition operator", before, r->at);
        t = tree_new(r, REPEAT, t, NULL);
        t->min = min;
        t->max = max;
        t->lazy = lazy != ((r->flags & UNGREEDY) != 0);
        before = from;
    }
    return NULL;
}

static struct tree *read_sequence(struct reader *r)
{
    struct tree *first = NULL, **last = &first;
    while (!at_end(r) && peek(r, 0) != '|' && peek(r, 0) != ')') {
        struct tree *t = read_repeated(r);
        if (!t)
            return NULL;
        /* Linked to the right, so that write_tree() can walk it without recursion. */
        *last = tree_new(r, SEQUENCE, t, tree_new(r, EMPTY, NULL, NULL));
        last = &(*last)->right;
    }
    return first ? first : tree_new(r, EMPTY, NULL, NULL);
}

static struct tree *read_alternatives(struct reader *r)
{
    struct tree *first = read_sequence(r), **last = &first;
    while (*last && accept(r, "|")) {
        struct tree *other = read_sequence(r);
        if (!other)
            return NULL;
        *last = tree_new(r, ALTERNATE, *last, other);
        last = &(*last)->right;
    }
    return first;
}

/* ---- the program ---- */

struct writer {
    struct arena *arena;
    struct cel_regex_instruction *program;
    uint32_t count, size;
    bool too_large;
};

static uint32_t emit(struct writer *w, struct cel_regex_instruction i)
{
    if (w->count >= CEL_REGEX_PROGRAM_MAX) {
        w->too_large = true;
        return 0;
    }
    if (w->count == w->size) {
        uint32_t size = w->size * 2 + 16;
        struct cel_regex_instruction *program = arena_array(w->arena, size, sizeof(*program));
        if (w->count)
            memcpy(program, w->program, w->count * sizeof(*program));
        w->program = program;
        w->size = size;
    }
    w->program[w->count] = i;
    return w->count++;
}

static void write_tree(struct writer *w, const struct tree *t);

/* A choice between the next instruction and a target that is not known yet; returns its number. */
static uint32_t emit_split(struct writer *w, bool lazy)
{
    uint32_t at = emit(w, (struct cel_regex_instruction){ .op = CEL_REGEX_SPLIT });
    if (!w->too_large)
        *(lazy ? &w->program[at].y : &w->program[at].x) = at + 1;
    return at;
}

static void set_exit(struct writer *w, uint32_t split, bool lazy)
{
    if (!w->too_large)
        *(lazy ? &w->program[split].x : &w->program[split].y) = w->count;
}

static void write_repeat(struct writer *w, const struct tree *t)
{
    uint32_t *exits = NULL;
    int optional = t->max < 0 ? 0 : t->max - t->min;
    for (int i = 0; i < t->min && !w->too_large; i++)
        write_tree(w, t->left);
    if (t->max < 0) {
        uint32_t split = emit_split(w, t->lazy);
        write_tree(w, t->left);
        emit(w, (struct cel_regex_instruction){ .op = CEL_REGEX_JUMP, .x = split });
        set_exit(w, split, t->lazy);
        return;
    }
    exits = arena_array(w->arena, (size_t)optional + 1, sizeof(*exits));
    for (int i = 0; i < optional && !w->too_large; i++) {
        exits[i] = emit_split(w, t->lazy);
        write_tree(w, t->left);
    }
    for (int i = 0; i < optional && !w->too_large; i++)
        set_exit(w, exits[i], t->lazy);
}

static void write_alternates(struct writer *w, const struct tree *t)
{
    size_t count = 0;
    for (const struct tree *other = t; other->kind == ALTERNATE; other = other->right)
        count++;
    uint32_t *jumps = arena_array(w->arena, count, sizeof(*jumps));
    for (size_t i = 0; i < count && !w->too_large; i++, t = t->right) {
        uint32_t split = emit_split(w, false);
        write_tree(w, t->left);
        jumps[i] = emit(w, (struct cel_regex_instruction){ .op = CEL_REGEX_JUMP });
        set_exit(w, split, false);
    }
    if (!w->too_large)
        write_tree(w, t);
    for (size_t i = 0; i < count && !w->too_large; i++)
        w->program[jumps[i]].x = w->count;
}

static void write_tree(struct writer *w, const struct tree *t)
{
    for (; t->kind == SEQUENCE && !w->too_large; t = t->right)
        write_tree(w, t->left);
    switch (t->kind) {
    case SET:
        emit(w,
            (struct cel_regex_instruction){
                .op = CEL_REGEX_SET, .x = w->count + 1, .set = &t->set });
        break;
    case ASSERTION:
        emit(w,
            (struct cel_regex_instruction){
                .op = CEL_REGEX_ASSERT, .x = w->count + 1, .assert = t->assert });
        break;
    case ALTERNATE:
        write_alternates(w, t);
        break;
    case REPEAT:
        write_repeat(w, t);
        break;
    default:
        break;
    }
}

const char *cel_regex_compile(struct arena *a, struct str pattern, const struct cel_regex **ret)
{
    struct reader r = { .arena = a, .pattern = pattern };
    if (!utf8_valid(pattern))
        return "error parsing regexp: invalid UTF-8";
    const struct tree *t = read_alternatives(&r);
    if (t && !at_end(&r))
        refuse(&r, "unexpected )", 0, pattern.len);
    if (r.trouble)
        return r.trouble;
    struct writer w = { .arena = a };
    write_tree(&w, t);
    emit(&w, (struct cel_regex_instruction){ .op = CEL_REGEX_MATCH });
    if (w.too_large)
        return "error parsing regexp: expression too large";
    struct cel_regex *re = arena_new(a, struct cel_regex);
    *re = (struct cel_regex){ w.program, w.count };
    *ret = re;
    return NULL;
}
