#include "http/sse.h"

void sse_reader_init(struct sse_reader *r, size_t event_bytes_max)
{
    *r = (struct sse_reader){ .limit = event_bytes_max, .retry_ms = -1 };
    buf_init(&r->line, event_bytes_max);
    buf_init(&r->data, event_bytes_max);
    buf_init(&r->type, event_bytes_max);
    buf_init(&r->id, event_bytes_max);
}

void sse_reader_done(struct sse_reader *r)
{
    buf_done(&r->line);
    buf_done(&r->data);
    buf_done(&r->type);
    buf_done(&r->id);
}

static void give_back(struct buf *b)
{
    if (b->size) {
        size_t limit = b->limit;
        buf_done(b);
        buf_init(b, limit);
    }
}

static void forget_event(struct sse_reader *r)
{
    give_back(&r->data);
    give_back(&r->type);
    r->first = (struct str){ 0 };
    r->data_lines = 0;
    r->retry_ms = -1;
    r->has_id = false;
    r->handed_out = false;
}

static void keep_first(struct sse_reader *r)
{
    if (r->first.ptr)
        buf_add(&r->data, r->first.ptr, r->first.len);
    r->first = (struct str){ 0 };
}

/* in_input: the value stays valid until this call of sse_read() returns. */
static void take_data(struct sse_reader *r, struct str value, bool in_input)
{
    if (!r->data_lines++ && in_input && value.ptr) {
        r->first = value;
        return;
    }
    keep_first(r);
    if (r->data_lines > 1)
        buf_add_char(&r->data, '\n');
    buf_add(&r->data, value.ptr, value.len);
}

static void take_field(struct sse_reader *r, struct str line, bool in_input)
{
    struct str value = line;
    struct str name = str_cut(&value, ':');
    if (value.len && value.ptr[0] == ' ')
        value = (struct str){ value.ptr + 1, value.len - 1 };
    if (str_eq(name, STR("data"))) {
        take_data(r, value, in_input);
    } else if (str_eq(name, STR("event"))) {
        buf_reset(&r->type);
        buf_add(&r->type, value.ptr, value.len);
    } else if (str_eq(name, STR("id"))) {
        if (value.len && memchr(value.ptr, '\0', value.len))
            return;
        buf_reset(&r->id);
        buf_add(&r->id, value.ptr, value.len);
        r->has_id = true;
    } else if (str_eq(name, STR("retry"))) {
        int64_t ms;
        if (value.len && value.ptr[0] >= '0' && value.ptr[0] <= '9' && str_to_int(value, &ms))
            r->retry_ms = ms;
    }
}

/* True if the blank line completes an event. */
static bool take_blank(struct sse_reader *r, struct sse_event *ret)
{
    if (!r->data_lines) {
        forget_event(r);
        return false;
    }
    *ret = (struct sse_event){
        .type = r->type.len ? buf_str(&r->type) : STR("message"),
        .data = r->first.ptr ? r->first : buf_str(&r->data),
        .id = buf_str(&r->id),
        .has_id = r->has_id,
        .retry_ms = r->retry_ms,
    };
    return true;
}

/* Skips a byte order mark at the start, even if it arrives in parts. */
static void skip_bom(struct sse_reader *r, struct str *bytes)
{
    static const char mark[] = "\xef\xbb\xbf";
    while (!r->begun && bytes->len) {
        if (bytes->ptr[0] != mark[r->bom]) {
            if (r->bom)
                buf_add(&r->line, mark, r->bom);
            r->begun = true;
            return;
        }
        *bytes = (struct str){ bytes->ptr + 1, bytes->len - 1 };
        r->begun = ++r->bom == 3;
    }
}

static const char *line_end(struct str bytes)
{
    const char *lf = memchr(bytes.ptr, '\n', bytes.len);
    const char *cr = memchr(bytes.ptr, '\r', lf ? (size_t)(lf - bytes.ptr) : bytes.len);
    return cr ? cr : lf;
}

static bool check_limits(struct sse_reader *r)
{
    size_t bytes = r->data.len + r->first.len + r->type.len;
    r->failed = r->failed || bytes > r->limit || buf_overflowed(&r->line) ||
                buf_overflowed(&r->data) || buf_overflowed(&r->type) || buf_overflowed(&r->id);
    return !r->failed;
}

static bool take_line(struct sse_reader *r, struct str piece, struct sse_event *ret)
{
    bool in_input = !r->line.len;
    if (!in_input)
        buf_add(&r->line, piece.ptr, piece.len);
    struct str line = in_input ? piece : buf_str(&r->line);
    if (line.len > r->limit || buf_overflowed(&r->line)) {
        r->failed = true;
        return false;
    }
    bool whole = !line.len && take_blank(r, ret);
    if (line.len && line.ptr[0] != ':')
        take_field(r, line, in_input);
    if (!in_input)
        give_back(&r->line);
    return whole;
}

bool sse_read(struct sse_reader *r, struct str *bytes, struct sse_event *ret)
{
    if (r->failed)
        return false;
    if (r->handed_out)
        forget_event(r);
    skip_bom(r, bytes);
    while (bytes->len) {
        if (r->after_cr && bytes->ptr[0] == '\n') {
            *bytes = (struct str){ bytes->ptr + 1, bytes->len - 1 };
            r->after_cr = false;
            continue;
        }
        r->after_cr = false;
        const char *end = line_end(*bytes);
        if (!end) {
            buf_add(&r->line, bytes->ptr, bytes->len);
            *bytes = (struct str){ bytes->ptr + bytes->len, 0 };
            break;
        }
        struct str piece = { bytes->ptr, (size_t)(end - bytes->ptr) };
        r->after_cr = *end == '\r';
        *bytes = (struct str){ end + 1, bytes->len - piece.len - 1 };
        bool whole = take_line(r, piece, ret);
        if (!check_limits(r))
            return false;
        if (whole) {
            r->handed_out = true;
            return true;
        }
    }
    keep_first(r);
    check_limits(r);
    return false;
}

bool sse_inside_event(const struct sse_reader *r)
{
    return r->line.len || (r->data_lines && !r->handed_out) || (!r->begun && r->bom);
}

static void write_field(struct buf *to, const char *name, struct str value)
{
    buf_printf(to, "%s: ", name);
    for (size_t i = 0; i < value.len; i++)
        if (value.ptr[i] != '\n' && value.ptr[i] != '\r' && value.ptr[i] != '\0')
            buf_add_char(to, value.ptr[i]);
    buf_add_char(to, '\n');
}

void sse_write(struct buf *to, const struct sse_event *event)
{
    if (event->type.len && !str_eq(event->type, STR("message")))
        write_field(to, "event", event->type);
    if (event->has_id || event->id.len)
        write_field(to, "id", event->id);
    if (event->retry_ms > 0)
        buf_printf(to, "retry: %lld\n", (long long)event->retry_ms);
    struct str rest = event->data;
    do {
        const char *end = rest.len ? line_end(rest) : NULL;
        size_t len = end ? (size_t)(end - rest.ptr) : rest.len;
        buf_add_text(to, "data: ");
        buf_add(to, rest.ptr, len);
        buf_add_char(to, '\n');
        if (!end)
            break;
        len += *end == '\r' && len + 1 < rest.len && end[1] == '\n' ? 2 : 1;
        rest = (struct str){ rest.ptr + len, rest.len - len };
    } while (true);
    buf_add_char(to, '\n');
}

void sse_write_comment(struct buf *to, struct str text)
{
    buf_add_char(to, ':');
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '\n' && text.ptr[i] != '\r')
            buf_add_char(to, text.ptr[i]);
    buf_add_text(to, "\n\n");
}
