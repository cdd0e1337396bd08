#include "router/form_scan.h"

enum state {
    F_DATA,   /* in a part, or before the first one */
    F_BORDER, /* after a boundary: the rest of its line */
    F_HEAD,
    F_OVER, /* after the last boundary, or after a syntax error */
};

/* A parameter of a header's value: `name="value"` or `name=value`; .ptr NULL: missing. */
static struct str parameter(struct str header, const char *name)
{
    size_t length = strlen(name);
    while (header.ptr) {
        struct str item = str_trim(str_cut(&header, ';'));
        if (item.len <= length || item.ptr[length] != '=' ||
            !str_eq_nocase((struct str){ item.ptr, length }, str_of(name)))
            continue;
        struct str value = { item.ptr + length + 1, item.len - length - 1 };
        if (value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"')
            value = (struct str){ value.ptr + 1, value.len - 2 };
        return value;
    }
    return (struct str){ 0 };
}

bool form_scan_init(struct form_scan *s, struct str content_type)
{
    *s = (struct form_scan){ 0 };
    struct str boundary = parameter(content_type, "boundary");
    struct str type = str_trim(str_cut(&content_type, ';'));
    if (!str_eq_nocase(type, STR("multipart/form-data")) || boundary.len == 0 ||
        boundary.len > FORM_BOUNDARY_MAX || memchr(boundary.ptr, '\r', boundary.len))
        return false;
    memcpy(s->mark, "\r\n--", 4);
    memcpy(s->mark + 4, boundary.ptr, boundary.len);
    s->mark_len = (uint32_t)boundary.len + 4;
    s->matched = 2; /* the first boundary needs no line end before it */
    return true;
}

static void keep(struct form_scan *s, const char *bytes, uint32_t count)
{
    if (!s->wanted)
        return;
    if (count > FORM_MODEL_MAX - s->model_len) {
        s->cut = true;
        count = FORM_MODEL_MAX - s->model_len;
    }
    memcpy(s->model + s->model_len, bytes, count);
    s->model_len += count;
}

static void end_part(struct form_scan *s)
{
    if (s->wanted) {
        s->found = true;
        s->model[s->model_len] = '\0';
        s->end = s->at + 1 - s->mark_len;
    }
    s->wanted = false;
    s->matched = s->dashes = 0;
    s->state = F_BORDER;
}

/* The mark has its only \r at the start, so after a mismatch at most this byte can start a new
 * match. */
static void data_byte(struct form_scan *s, char c)
{
    if (c != s->mark[s->matched]) {
        keep(s, s->mark, s->matched);
        s->matched = 0;
        if (c != s->mark[0]) {
            keep(s, &c, 1);
            return;
        }
    }
    if (++s->matched == s->mark_len)
        end_part(s);
}

static void border_byte(struct form_scan *s, char c)
{
    if (c == '-' && ++s->dashes == 2)
        s->state = F_OVER;
    if (c != '\n')
        return;
    s->state = F_HEAD;
    s->head_len = 0;
}

static bool is_field(const struct form_scan *s)
{
    struct str head = { s->head, s->head_len };
    while (head.ptr) {
        struct str line = str_trim(str_cut(&head, '\n'));
        struct str name = str_cut(&line, ':');
        if (line.ptr && str_eq_nocase(name, STR("content-disposition")))
            return str_eq(parameter(line, "name"), STR("model"));
    }
    return false;
}

static void head_byte(struct form_scan *s, char c)
{
    if (s->head_len == FORM_HEAD_MAX) {
        s->state = F_OVER;
        return;
    }
    s->head[s->head_len++] = c;
    bool blank = (s->head_len == 2 && memcmp(s->head, "\r\n", 2) == 0) ||
                 (s->head_len >= 4 && memcmp(s->head + s->head_len - 4, "\r\n\r\n", 4) == 0);
    if (!blank)
        return;
    s->state = F_DATA;
    s->wanted = is_field(s);
    if (!s->wanted)
        return;
    s->twice = s->twice || s->found;
    s->model_len = 0;
    s->start = s->at + 1;
}

void form_scan(struct form_scan *s, struct str bytes)
{
    for (size_t i = 0; i < bytes.len && s->state != F_OVER; i++, s->at++) {
        if (s->state == F_DATA && !s->matched && !s->wanted) { /* most of an upload */
            const char *next = memchr(bytes.ptr + i, '\r', bytes.len - i);
            size_t skipped = next ? (size_t)(next - bytes.ptr) - i : bytes.len - i;
            i += skipped;
            s->at += (int64_t)skipped;
            if (i == bytes.len)
                return;
        }
        switch ((enum state)s->state) {
        case F_DATA:
            data_byte(s, bytes.ptr[i]);
            break;
        case F_BORDER:
            border_byte(s, bytes.ptr[i]);
            break;
        case F_HEAD:
            head_byte(s, bytes.ptr[i]);
            break;
        case F_OVER:
            break;
        }
    }
}
