#include "base/yaml_place.h"

#include <libfyaml.h>

struct walk {
    struct fy_parser *parser;
    struct fy_event *event; /* the current one; NULL at the end */
    int line;
};

static void next(struct walk *w)
{
    if (w->event)
        fy_parser_event_free(w->parser, w->event);
    w->event = fy_parser_parse(w->parser);
}

static struct fy_token *token_of(const struct fy_event *e)
{
    return e->type == FYET_SCALAR           ? e->scalar.value
           : e->type == FYET_MAPPING_START  ? e->mapping_start.mapping_start
           : e->type == FYET_SEQUENCE_START ? e->sequence_start.sequence_start
                                            : NULL;
}

static void note_line(struct walk *w)
{
    struct fy_token *token = token_of(w->event);
    const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
    if (mark)
        w->line = mark->line + 1;
}

/* The rest of the path after this key; NULL: the path leads elsewhere. */
static const char *behind(const char *path, struct str key)
{
    bool bracket = *path == '[';
    const char *at = path + (bracket || *path == '.');
    if (key.len == 0 || strncmp(at, key.ptr, key.len) != 0)
        return NULL;
    at += key.len;
    if (bracket)
        return *at == ']' ? at + 1 : NULL;
    return *at == '\0' || *at == '.' || *at == '[' ? at : NULL;
}

static const char *step_into(struct walk *w, const char *path, struct str key)
{
    const char *rest = path && *path ? behind(path, key) : NULL;
    if (rest)
        note_line(w);
    return rest;
}

/* The node of the current event; its last event is current afterwards. path NULL: the path leads
 * elsewhere. The text was parsed before, so its depth is limited. */
static void walk(struct walk *w, const char *path)
{
    enum fy_event_type type = w->event->type;
    bool map = type == FYET_MAPPING_START;
    if (!map && type != FYET_SEQUENCE_START)
        return;
    next(w);
    for (size_t i = 0; w->event; i++, next(w)) {
        if (w->event->type == (map ? FYET_MAPPING_END : FYET_SEQUENCE_END))
            return;
        char index[24];
        struct str key = { index, (size_t)snprintf(index, sizeof(index), "%zu", i) };
        if (map)
            key = w->event->type == FYET_SCALAR && w->event->scalar.value
                      ? (struct str){ fy_token_get_text0(w->event->scalar.value), 0 }
                      : (struct str){ 0 };
        if (map && key.ptr)
            key.len = strlen(key.ptr);
        const char *rest = step_into(w, path, key);
        if (map)
            next(w);
        if (!w->event)
            return;
        walk(w, rest);
    }
}

static bool is_nothing(const struct fy_event *e)
{
    size_t length = 0;
    if (e->type != FYET_SCALAR || e->scalar.tag)
        return false;
    return !e->scalar.value || (fy_token_scalar_style(e->scalar.value) == FYSS_PLAIN &&
                                   (fy_token_get_text(e->scalar.value, &length), length == 0));
}

int yaml_line_of(struct str text, size_t document, const char *path)
{
    struct fy_parse_cfg options = {
        .flags = FYPCF_QUIET | FYPCF_DISABLE_DEPTH_LIMIT | FYPCF_DEFAULT_VERSION_1_2,
    };
    struct walk w = { .parser = fy_parser_create(&options) };
    if (!w.parser || fy_parser_set_string(w.parser, text.ptr, text.len) != 0) {
        fy_parser_destroy(w.parser);
        return 0;
    }
    for (next(&w); w.event && w.event->type != FYET_STREAM_END; next(&w)) {
        if (w.event->type != FYET_DOCUMENT_START)
            continue;
        next(&w);
        if (!w.event)
            break;
        bool counts = !is_nothing(w.event), wanted = counts && document == 0;
        if (wanted)
            note_line(&w);
        walk(&w, wanted ? path : NULL);
        if (wanted || !w.event)
            break;
        document -= counts;
    }
    if (w.event)
        fy_parser_event_free(w.parser, w.event);
    fy_parser_destroy(w.parser);
    return w.line;
}
