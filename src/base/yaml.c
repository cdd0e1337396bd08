/* Parses YAML text. The only file that uses libfyaml, and it uses only its stream of events: trees,
 * numbers, merge keys and limits are implemented here. */

#include "base/yaml.h"

#include <libfyaml.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "base/yaml_scalar.h"

/* No manifest has this many; they are searched one by one. */
#define ANCHORS_MAX 1000
/* 3000 blank lines in a row, or 50000 times ten. */
#define BLANK_LINES_COST_MAX ((size_t)4500000)

/* A value and its cost each time an alias repeats it. */
struct node {
    struct json value;
    size_t nodes;
    int height;
};

struct anchor {
    const char *name;
    struct node node;
};

struct reader {
    struct arena *arena;
    struct str text;
    const char *file;
    struct error *err;
    struct fy_diag *diag;
    struct fy_parser *parser;
    struct fy_event *event; /* the current one */
    bool old;               /* YAML 1.1 */
    int column;             /* where the current list or map begins, from 0 */
    size_t nodes;
    uint32_t keys;      /* so far */
    struct twice *last; /* duplicate keys, for YAML 1.1 */
    size_t twice_count;
    size_t anchor_count;
    struct anchor anchors[ANCHORS_MAX];
};

struct twice {
    struct twice *before;
    uint32_t order;
    const char *text;
};

struct place {
    int line, column; /* from 1 */
};

static bool fail_at(struct reader *r, struct place at, const char *format, ...) printf_like(3, 4);
static bool fail_at(struct reader *r, struct place at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(r->arena, format, args);
    va_end(args);
    return fail(r->err, ERR_INVALID, "%s:%d:%d: %s", r->file, at.line, at.column, text);
}

static struct place place_of(struct fy_token *token)
{
    const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
    return mark ? (struct place){ mark->line + 1, mark->column + 1 } : (struct place){ 1, 1 };
}

static struct place here(struct reader *r)
{
    return place_of(fy_event_get_token(r->event));
}

static struct str text_of(struct fy_token *token)
{
    size_t length = 0;
    const char *text = token ? fy_token_get_text(token, &length) : NULL;
    return (struct str){ text ? text : "", text ? length : 0 };
}

static void discard_output(struct fy_diag *diag, void *user, const char *text, size_t length)
{
    (void)diag, (void)user, (void)text, (void)length;
}

static bool fail_syntax(struct reader *r)
{
    void *cursor = NULL;
    struct fy_diag_error *e = fy_diag_errors_iterate(r->diag, &cursor);
    return e ? fail_at(r, (struct place){ e->line, e->column }, "%s", e->msg)
             : fail_at(r, (struct place){ 1, 1 }, "not YAML");
}

static bool next(struct reader *r)
{
    if (r->event)
        fy_parser_event_free(r->parser, take(r->event));
    r->event = fy_parser_parse(r->parser);
    return r->event || fail_syntax(r);
}

/* ---- scalars ---- */

static bool check_text(struct reader *r, struct str s)
{
    if (memchr(s.ptr, '\0', s.len))
        return fail_at(r, here(r), "text holds a NUL character");
    if (!utf8_valid(s))
        return fail_at(r, here(r), "an escape makes text that is not UTF-8");
    return true;
}

/* The line before a position. */
static struct str line_before(struct reader *r, size_t at)
{
    size_t from = at;
    while (from > 0 && !(from < at && r->text.ptr[from - 1] == '\n'))
        from--;
    return (struct str){ r->text.ptr + from, at - from };
}

/* The text of a scalar, checked. All but plain scalars are read from the source text, because
 * libfyaml 0.7 leaks memory with many doubled single quotes, loses characters after some continued
 * lines in double quotes, and miscounts some folded and empty blocks. */
static bool scalar_text(struct reader *r, struct fy_token *token, struct str *ret)
{
    enum fy_scalar_style style = token ? fy_token_scalar_style(token) : FYSS_PLAIN;
    if (style == FYSS_PLAIN) {
        *ret = text_of(token);
        return check_text(r, *ret);
    }
    size_t start = fy_token_start_mark(token)->input_pos;
    size_t end = fy_token_end_mark(token)->input_pos;
    assert(start <= end && end <= r->text.len);
    struct str between = { r->text.ptr + start, end - start };
    const char *wrong = NULL;
    struct yaml_block block;
    bool folded = style == FYSS_FOLDED;
    if (style == FYSS_SINGLE_QUOTED)
        *ret = yaml_scalar_single_quoted(r->arena, between);
    else if (style == FYSS_DOUBLE_QUOTED)
        wrong = yaml_scalar_double_quoted(r->arena, between, !r->old, ret);
    else if (yaml_scalar_block_header(line_before(r, start), folded, &block))
        *ret = yaml_scalar_block(r->arena, between, &block, (size_t)r->column);
    else
        *ret = between.len ? text_of(token) : STR("");
    return wrong ? fail_at(r, here(r), "%s", wrong) : check_text(r, *ret);
}

static bool read_scalar(struct reader *r, struct json *ret)
{
    struct fy_token *token = r->event->scalar.value, *tag = r->event->scalar.tag;
    struct str s;
    if (!scalar_text(r, token, &s))
        return false;
    const char *wrong = NULL;
    if (tag)
        wrong = yaml_scalar_tagged(r->arena, text_of(tag), s, ret);
    else if (!token || fy_token_scalar_style(token) == FYSS_PLAIN)
        wrong = r->old && yaml_scalar_old(s, ret) ? NULL : yaml_scalar_plain(r->arena, s, ret);
    else
        *ret = json_strn(r->arena, s.ptr, s.len);
    return !wrong || fail_at(r, here(r), "%s", wrong);
}

/* ---- containers ---- */

static bool read_node(struct reader *r, int depth, struct node *ret);

static bool check_container_tag(struct reader *r, struct fy_token *token, struct str expected)
{
    struct str tag = text_of(token);
    return tag.len == 0 || str_eq(tag, STR("!")) || str_eq(tag, expected) ||
           fail_at(r, here(r), "unknown tag %.*s", (int)(tag.len < 80 ? tag.len : 80), tag.ptr);
}

static void add_cost(struct node *parent, const struct node *child)
{
    parent->nodes += child->nodes;
    if (parent->height <= child->height)
        parent->height = child->height + 1;
}

static bool read_list(struct reader *r, int depth, struct node *ret)
{
    struct json_builder b;
    json_builder_init(&b, r->arena);
    int column = here(r).column - 1;
    if (!check_container_tag(r, r->event->sequence_start.tag, STR(YAML_TAG_PREFIX "seq")) ||
        !next(r))
        return false;
    while (r->event->type != FYET_SEQUENCE_END) {
        struct node item;
        r->column = column;
        if (!read_node(r, depth + 1, &item) || !next(r))
            return false;
        json_push(&b, item.value);
        add_cost(ret, &item);
    }
    ret->value = json_list_end(&b);
    return true;
}

struct entry {
    const char *key;
    struct json value;
    struct place at;
    uint32_t rank;  /* 0: written here; otherwise merged in, and the smaller rank wins */
    uint32_t order; /* position at which its value ends in the text */
    bool text;      /* the key is text, not a number or a boolean */
};

struct entries {
    struct entry *items;
    size_t count, size;
    uint32_t merges;
};

static void add_entry(struct reader *r, struct entries *e, struct entry entry)
{
    arena_room(r->arena, e->items, e->count, e->size);
    entry.order = ++r->keys;
    e->items[e->count++] = entry;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    if (order == 0)
        order = (x->rank > y->rank) - (x->rank < y->rank);
    if (order == 0)
        order = (x->at.line > y->at.line) - (x->at.line < y->at.line);
    return order ? order : (x->at.column > y->at.column) - (x->at.column < y->at.column);
}

static void note_twice(struct reader *r, const struct entry *entry)
{
    const char *quote = entry->text ? "\"" : "";
    struct twice *t = arena_array(r->arena, 1, sizeof(*t));
    *t = (struct twice){
        .before = r->last,
        .order = entry->order,
        .text = arena_printf(r->arena,
            "line %d: key %s%s%s already set in map",
            entry->at.line,
            quote,
            entry->key,
            quote),
    };
    r->last = t;
    r->twice_count++;
}

static bool end_map(struct reader *r, struct entries *e, struct json *ret)
{
    struct json_builder b;
    json_builder_init(&b, r->arena);
    if (e->count)
        qsort(e->items, e->count, sizeof(*e->items), compare_entries);
    const struct entry *last = NULL;
    for (size_t i = 0; i < e->count; i++) {
        const struct entry *entry = &e->items[i];
        bool again = last && strcmp(last->key, entry->key) == 0;
        if (again && entry->rank == 0 && r->old) {
            note_twice(r, entry);
            json_put(&b, entry->key, entry->value);
        } else if (again && entry->rank == 0)
            return fail_at(r,
                entry->at,
                "the key \"%.100s\" is there twice; first in line %d",
                entry->key,
                last->at.line);
        if (!again)
            json_put(&b, entry->key, entry->value);
        if (!again)
            last = entry;
    }
    *ret = json_map_end(&b);
    return true;
}

/* The value of <<: a map, or a list of maps, in which earlier maps win. */
static bool merge(struct reader *r, struct entries *e, struct json value, struct place at)
{
    if (json_is(value, JSON_LIST)) {
        json_each (item, value) {
            if (json_is(*item, JSON_LIST))
                return fail_at(r, at, "<< takes a map or a list of maps");
            if (!merge(r, e, *item, at))
                return false;
        }
        return true;
    }
    if (!json_is(value, JSON_MAP))
        return fail_at(r, at, "<< takes a map or a list of maps");
    uint32_t rank = ++e->merges;
    /* Merged members count as values of this map, too. */
    if ((r->nodes += value.count) > YAML_NODES_MAX)
        return fail_at(r, at, "more than %d values with all aliases", YAML_NODES_MAX);
    json_each_member (m, value)
        add_entry(r, e, (struct entry){ .key = m->key, .value = m->value, .at = at, .rank = rank });
    return true;
}

static bool find_anchor(struct reader *r, struct str name, struct anchor **ret)
{
    for (size_t i = r->anchor_count; i-- > 0;) {
        if (str_eq(str_of(r->anchors[i].name), name)) {
            *ret = &r->anchors[i];
            return true;
        }
    }
    return false;
}

static bool fail_alias(struct reader *r, struct str name)
{
    return fail_at(r,
        here(r),
        "there is no anchor &%.*s before this",
        (int)(name.len < 80 ? name.len : 80),
        name.ptr);
}

static bool read_key(struct reader *r, const char **ret, bool *ret_merge, bool *ret_text)
{
    *ret_merge = false;
    *ret_text = true;
    if (r->event->type == FYET_ALIAS) {
        struct anchor *anchor;
        struct str name = text_of(r->event->alias.anchor);
        if (!find_anchor(r, name, &anchor))
            return fail_alias(r, name);
        *ret = json_text(anchor->node.value);
        return *ret || fail_at(r, here(r), "a key must be text");
    }
    if (r->event->type != FYET_SCALAR)
        return fail_at(r, here(r), "a key must be text, not a list or a map");
    struct fy_token *token = r->event->scalar.value;
    struct str s;
    if (!scalar_text(r, token, &s))
        return false;
    bool plain = !r->event->scalar.tag && fy_token_scalar_style(token) == FYSS_PLAIN;
    struct json v;
    *ret_merge = plain && str_eq(s, STR("<<"));
    /* in YAML 1.1, `y: 1` is the key "true" */
    bool old = plain && r->old && yaml_scalar_old(s, &v);
    *ret = old ? json_to_text(r->arena, v) : str_dup(r->arena, s);
    *ret_text = !old && (!plain || yaml_scalar_plain(r->arena, s, &v) || json_is(v, JSON_STR));
    return true;
}

static bool remember_anchor(struct reader *r, struct str name, const struct node *node);

static bool read_map(struct reader *r, int depth, struct node *ret)
{
    struct entries e = { 0 };
    int column = here(r).column - 1;
    if (!check_container_tag(r, r->event->mapping_start.tag, STR(YAML_TAG_PREFIX "map")) ||
        !next(r))
        return false;
    while (r->event->type != FYET_MAPPING_END) {
        struct entry entry = { .at = here(r) };
        bool is_merge;
        r->column = column;
        if (!read_key(r, &entry.key, &is_merge, &entry.text))
            return false;
        struct node key = { .value = json_str(entry.key), .nodes = 1 };
        if (r->event->type == FYET_SCALAR && r->event->scalar.anchor &&
            !remember_anchor(r, text_of(r->event->scalar.anchor), &key))
            return false;
        struct node value;
        if (!next(r) || !read_node(r, depth + 1, &value))
            return false;
        entry.value = value.value;
        add_cost(ret, &value);
        if (is_merge && !merge(r, &e, entry.value, entry.at))
            return false;
        if (!is_merge)
            add_entry(r, &e, entry);
        if (!next(r))
            return false;
    }
    return end_map(r, &e, &ret->value);
}

/* ---- nodes ---- */

static bool remember_anchor(struct reader *r, struct str name, const struct node *node)
{
    struct anchor *anchor;
    if (!find_anchor(r, name, &anchor)) {
        if (r->anchor_count == ANCHORS_MAX)
            return fail_at(r, here(r), "more than %d anchors", ANCHORS_MAX);
        anchor = &r->anchors[r->anchor_count++];
        anchor->name = str_dup(r->arena, name);
    }
    anchor->node = *node;
    return true;
}

static bool read_alias(struct reader *r, int depth, struct node *ret)
{
    struct str name = text_of(r->event->alias.anchor);
    struct anchor *anchor;
    if (!find_anchor(r, name, &anchor))
        return fail_alias(r, name);
    *ret = anchor->node;
    if ((r->nodes += ret->nodes) > YAML_NODES_MAX)
        return fail_at(r, here(r), "more than %d values with all aliases", YAML_NODES_MAX);
    if (depth + ret->height > JSON_DEPTH_MAX)
        return fail_at(r, here(r), "nested deeper than %d levels", JSON_DEPTH_MAX);
    return true;
}

static struct fy_token *event_anchor(const struct fy_event *e)
{
    return e->type == FYET_SCALAR          ? e->scalar.anchor
           : e->type == FYET_MAPPING_START ? e->mapping_start.anchor
                                           : e->sequence_start.anchor;
}

/* Reads the node that begins with the current event; its last event is current afterwards. */
static bool read_node(struct reader *r, int depth, struct node *ret)
{
    *ret = (struct node){ .nodes = 1 };
    if (r->event->type == FYET_ALIAS)
        return read_alias(r, depth, ret);
    if (depth > JSON_DEPTH_MAX)
        return fail_at(r, here(r), "nested deeper than %d levels", JSON_DEPTH_MAX);
    if (++r->nodes > YAML_NODES_MAX)
        return fail_at(r, here(r), "more than %d values with all aliases", YAML_NODES_MAX);
    struct fy_token *token = event_anchor(r->event);
    struct str anchor = { 0 };
    if (token)
        anchor = str_of(str_dup(r->arena, text_of(token)));
    bool ok = r->event->type == FYET_SCALAR           ? read_scalar(r, &ret->value)
              : r->event->type == FYET_SEQUENCE_START ? read_list(r, depth, ret)
                                                      : read_map(r, depth, ret);
    return ok && (!anchor.ptr || remember_anchor(r, anchor, ret));
}

/* A document without a value. */
static bool is_nothing(const struct fy_event *e)
{
    struct fy_token *token = e->type == FYET_SCALAR ? e->scalar.value : NULL;
    return e->type == FYET_SCALAR && !e->scalar.tag &&
           (!token || (fy_token_scalar_style(token) == FYSS_PLAIN && text_of(token).len == 0));
}

static bool read_stream(struct reader *r, struct json_builder *documents)
{
    if (!next(r)) /* the stream's start */
        return false;
    while (true) {
        if (!next(r))
            return false;
        if (r->event->type == FYET_STREAM_END)
            return true;
        r->anchor_count = 0;
        if (r->event->type != FYET_DOCUMENT_START || !next(r))
            return fail_syntax(r);
        bool empty = is_nothing(r->event);
        struct node root;
        if (!read_node(r, 0, &root))
            return false;
        if (!empty)
            json_push(documents, root.value);
        if (!next(r)) /* the document's end */
            return false;
    }
}

/* libfyaml stops silently at bytes that YAML does not allow, and takes quadratic time for blank
 * lines in a row. */
static bool check_bytes(struct reader *r)
{
    struct place at = { 1, 1 };
    size_t blank_lines = 0, cost = 0;
    bool blank = true;
    for (struct str rest = r->text; rest.len;) {
        uint32_t c;
        size_t length = utf8_first(rest, &c);
        if (length == 0)
            return fail_at(r, at, "not UTF-8");
        if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f)
            return fail_at(r, at, "a control character (0x%02x)", (unsigned)c);
        blank = blank && (c == ' ' || c == '\t' || c == '\r' || c == '\n');
        at.column++;
        if (c == '\n' || c == '\r') {
            blank_lines = blank ? blank_lines + 1 : 0;
            if ((cost += blank_lines) > BLANK_LINES_COST_MAX)
                return fail_at(r, at, "too many blank lines in a row");
            blank = true;
        }
        if (c == '\n')
            at = (struct place){ at.line + 1, 1 };
        rest = (struct str){ rest.ptr + length, rest.len - length };
    }
    return true;
}

static bool read_all(struct reader *r, struct json_builder *documents)
{
    struct fy_diag_cfg quiet;
    fy_diag_cfg_default(&quiet);
    quiet.fp = NULL;
    quiet.output_fn = discard_output;
    r->diag = fy_diag_create(&quiet);
    assert(r->diag);
    fy_diag_set_collect_errors(r->diag, true);
    struct fy_parse_cfg options = {
        .flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_DISABLE_DEPTH_LIMIT |
                 FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE,
        .diag = r->diag,
    };
    r->parser = fy_parser_create(&options);
    assert(r->parser);
    bool ok = fy_parser_set_string(r->parser, r->text.ptr, r->text.len) == 0
                  ? read_stream(r, documents)
                  : fail_syntax(r);
    if (r->event)
        fy_parser_event_free(r->parser, take(r->event));
    fy_parser_destroy(r->parser);
    fy_diag_destroy(r->diag);
    return ok;
}

static int compare_twice(const void *a, const void *b)
{
    const struct twice *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

/* Sorted by position in the text: a map ends after its members. */
static struct json list_twice(struct reader *r)
{
    struct json_builder list;
    json_builder_init(&list, r->arena);
    struct twice *all = arena_array(r->arena, r->twice_count, sizeof(*all));
    size_t count = 0;
    for (struct twice *t = r->last; t; t = t->before)
        all[count++] = *t;
    if (count)
        qsort(all, count, sizeof(*all), compare_twice);
    for (size_t i = 0; i < count; i++)
        json_push(&list, json_str(all[i].text));
    return json_list_end(&list);
}

static void reader_free(struct reader **r)
{
    free(*r);
}

/* ret_twice: NULL for YAML 1.2. */
static bool parse_all(struct arena *a, struct str text, const char *file, struct json *ret_list,
    struct json *ret_twice, struct error *err)
{
    if (text.len > YAML_BYTES_MAX)
        return fail(err, ERR_TOO_LARGE, "%s: more than %zu bytes", file, YAML_BYTES_MAX);
    struct json_builder documents;
    json_builder_init(&documents, a);
    cleanup(reader_free) struct reader *r = mem_new_of(struct reader);
    *r = (struct reader){ .arena = a, .text = text, .file = file, .err = err, .old = ret_twice };
    bool ok = check_bytes(r) && (text.len == 0 || read_all(r, &documents));
    if (ok)
        *ret_list = json_list_end(&documents);
    if (ok && ret_twice)
        *ret_twice = list_twice(r);
    return ok;
}

bool yaml_parse_all(
    struct arena *a, struct str text, const char *file, struct json *ret_list, struct error *err)
{
    return parse_all(a, text, file, ret_list, NULL, err);
}

bool yaml_parse_old(struct arena *a, struct str text, const char *file, struct json *ret_list,
    struct json *ret_twice, struct error *err)
{
    return parse_all(a, text, file, ret_list, ret_twice, err);
}
