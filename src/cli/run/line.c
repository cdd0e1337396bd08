#include "cli/run/line.h"

#include <stdlib.h>

#include "base/str.h"
#include "base/utf8.h"

#define TEXT_BYTES_MAX ((size_t)1 << 20)
#define HISTORY_MAX 1000
#define SEQUENCE_MAX 16
#define CTRL(letter) ((letter)&0x1f)
#define DELETE 0x7f

enum state { GROUND, ESCAPE, SEQUENCE, SHIFTED };

struct line {
    const char *prompt;
    struct line_look look;
    struct buf text;
    size_t at; /* of the cursor, in bytes */
    char *history[HISTORY_MAX];
    size_t count, shown; /* shown == count: the new line */
    char *draft;
    enum state state;
    char part[SEQUENCE_MAX]; /* of an incomplete character or sequence */
    size_t part_length;
    bool pasting, changed;
    int row; /* of the cursor, relative to the first visible row */
};

struct line *line_new(const char *prompt)
{
    struct line *l = mem_new_of(struct line);
    l->prompt = prompt;
    buf_init(&l->text, TEXT_BYTES_MAX);
    return l;
}

void line_free(struct line *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->count; i++)
        free(l->history[i]);
    free(l->draft);
    buf_done(&l->text);
    free(l);
}

const char *line_text(const struct line *l)
{
    return buf_text(&l->text);
}

/* ---- characters ---- */

static struct str rest_of(const struct line *l, size_t at)
{
    return (struct str){ buf_text(&l->text) + at, l->text.len - at };
}

/* Bytes of the character at that offset. */
static size_t length_at(const struct line *l, size_t at)
{
    uint32_t c;
    size_t length = utf8_first(rest_of(l, at), &c);
    return length ? length : 1;
}

static size_t before(const struct line *l, size_t at)
{
    const char *text = buf_text(&l->text);
    do
        at--;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80);
    return at;
}

/* Cells of a character: none for combining characters, two for wide East Asian characters and
 * emoji. */
static int cells_of(uint32_t c)
{
    static const struct {
        uint32_t first, last;
        int cells;
    } ranges[] = {
        { 0x300, 0x36f, 0 },
        { 0x1100, 0x115f, 2 },
        { 0x200b, 0x200f, 0 },
        { 0x20d0, 0x20ff, 0 },
        { 0x2e80, 0x303e, 2 },
        { 0x3041, 0xa4cf, 2 },
        { 0xac00, 0xd7a3, 2 },
        { 0xf900, 0xfaff, 2 },
        { 0xfe00, 0xfe0f, 0 },
        { 0xfe30, 0xfe6f, 2 },
        { 0xff00, 0xff60, 2 },
        { 0xffe0, 0xffe6, 2 },
        { 0x1f300, 0x1f64f, 2 },
        { 0x1f680, 0x1f6ff, 2 },
        { 0x1f900, 0x1faff, 2 },
        { 0x20000, 0x3fffd, 2 },
    };
    for (size_t i = 0; i < lengthof(ranges); i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return ranges[i].cells;
    return 1;
}

/* ---- drawing ---- */

struct spot {
    int row, column;
};

struct walk {
    const struct line *line;
    size_t at;
    struct spot spot; /* position of the character */
};

static struct walk walk_begin(const struct line *l)
{
    return (struct walk){ .line = l, .spot = { 0, (int)strlen(l->prompt) } };
}

/* The rows to draw: from first, before end; NULL: none. */
struct view {
    struct buf *to;
    int first, end;
};

static bool is_seen(const struct walk *w, const struct view *v)
{
    return v && w->spot.row >= v->first && w->spot.row < v->end;
}

static void to_next_row(struct walk *w, int column, const struct view *v)
{
    bool below = is_seen(w, v);
    w->spot = (struct spot){ w->spot.row + 1, column };
    if (is_seen(w, v))
        buf_printf(v->to, "%s%*s", below ? "\r\n" : "", column, "");
}

/* Advances by one character. A full row is followed by the next character at once, so that the
 * cursor is never after the last cell, where terminals differ. */
static void walk_on(struct walk *w, const struct view *v)
{
    const struct line *l = w->line;
    uint32_t c = 0;
    size_t length = utf8_first(rest_of(l, w->at), &c);
    struct str bytes = { buf_text(&l->text) + w->at, length };
    w->at += length ? length : 1;
    if (c == '\n') {
        to_next_row(w, (int)strlen(l->prompt), v);
        return;
    }
    bool shown = length && utf8_printable(c);
    int cells = shown ? cells_of(c) : 1;
    if (w->spot.column + cells > l->look.width)
        to_next_row(w, 0, v);
    if (is_seen(w, v))
        buf_add(v->to, shown ? bytes.ptr : " ", shown ? bytes.len : 1);
    w->spot.column += cells;
    if (w->spot.column >= l->look.width)
        to_next_row(w, 0, v);
}

static struct spot spot_of(const struct line *l, size_t at)
{
    struct walk w = walk_begin(l);
    while (w.at < at)
        walk_on(&w, NULL);
    return w.spot;
}

static void add_prompt(const struct line *l, struct buf *to)
{
    buf_printf(to, l->look.colour ? "\x1b[36m%s\x1b[0m" : "%s", l->prompt);
}

static void go_up(struct buf *to, int rows)
{
    if (rows > 0)
        buf_printf(to, "\x1b[%dA", rows);
}

/* Draws everything; if the line has more rows than the window, those around the cursor. */
static void draw(struct line *l, struct buf *to)
{
    struct spot cursor = spot_of(l, l->at);
    int room = l->look.height > 2 ? l->look.height - 1 : 1;
    int first = cursor.row >= room ? cursor.row - room + 1 : 0;
    go_up(to, l->row);
    buf_add_text(to, "\r\x1b[J");
    if (first == 0)
        add_prompt(l, to);
    struct walk w = walk_begin(l);
    struct view view = { to, first, first + room };
    while (w.at < l->text.len && w.spot.row < view.end)
        walk_on(&w, &view);
    int last = w.spot.row < view.end ? w.spot.row : view.end - 1;
    go_up(to, last - cursor.row);
    buf_add_text(to, "\r");
    if (cursor.column > 0)
        buf_printf(to, "\x1b[%dC", cursor.column);
    l->row = cursor.row - first;
    l->changed = false;
}

static void leave(struct line *l, struct buf *to)
{
    l->at = l->text.len;
    draw(l, to);
    buf_add_text(to, "\r\n");
    l->row = 0;
}

/* ---- editing ---- */

static void set_text(struct line *l, const char *text)
{
    buf_reset(&l->text);
    buf_add_text(&l->text, text);
    l->at = l->text.len;
    l->changed = true;
}

static void insert(struct line *l, const char *bytes, size_t count)
{
    if (l->text.len + count > TEXT_BYTES_MAX)
        return;
    char *end = mem_strdup(buf_text(&l->text) + l->at);
    l->text.len = l->at;
    buf_add(&l->text, bytes, count);
    buf_add_text(&l->text, end);
    free(end);
    l->at += count;
    l->changed = true;
}

static void cut(struct line *l, size_t from, size_t to)
{
    if (from < to) {
        char *end = mem_strdup(buf_text(&l->text) + to);
        l->text.len = from;
        buf_add_text(&l->text, end);
        free(end);
    }
    l->at = from;
    l->changed = true;
}

static void move(struct line *l, size_t at)
{
    l->at = at;
    l->changed = true;
}

static size_t word_begin(const struct line *l)
{
    const char *text = buf_text(&l->text);
    size_t at = l->at;
    while (at > 0 && strchr(" \n", text[at - 1]))
        at--;
    while (at > 0 && !strchr(" \n", text[at - 1]))
        at--;
    return at;
}

static size_t word_end(const struct line *l)
{
    const char *text = buf_text(&l->text);
    size_t at = l->at;
    while (text[at] && strchr(" \n", text[at]))
        at++;
    while (text[at] && !strchr(" \n", text[at]))
        at++;
    return at;
}

/* ---- history ---- */

void line_remember(struct line *l, const char *text)
{
    if (!*text || (l->count && text_eq(l->history[l->count - 1], text)))
        return;
    if (l->count == HISTORY_MAX) {
        free(l->history[0]);
        memmove(l->history, l->history + 1, (HISTORY_MAX - 1) * sizeof(*l->history));
        l->count--;
    }
    l->history[l->count++] = mem_strdup(text);
    l->shown = l->count;
}

static void show_history(struct line *l, bool older)
{
    if (older ? l->shown == 0 : l->shown == l->count)
        return;
    if (l->shown == l->count) {
        free(l->draft);
        l->draft = mem_strdup(buf_text(&l->text));
    }
    l->shown = older ? l->shown - 1 : l->shown + 1;
    set_text(l, l->shown == l->count ? l->draft : l->history[l->shown]);
}

/* ---- keys ---- */

static void key_letter(struct line *l, char letter, bool far)
{
    bool left = l->at > 0, right = l->at < l->text.len;
    if (letter == 'A' || letter == 'B')
        show_history(l, letter == 'A');
    else if (letter == 'C' && right)
        move(l, far ? word_end(l) : l->at + length_at(l, l->at));
    else if (letter == 'D' && left)
        move(l, far ? word_begin(l) : before(l, l->at));
    else if (letter == 'H')
        move(l, 0);
    else if (letter == 'F')
        move(l, l->text.len);
}

static void key_number(struct line *l, int64_t number)
{
    if (number == 1 || number == 7)
        move(l, 0);
    else if (number == 4 || number == 8)
        move(l, l->text.len);
    else if (number == 3 && l->at < l->text.len)
        cut(l, l->at, l->at + length_at(l, l->at));
    else if (number == 200 || number == 201)
        l->pasting = number == 200;
}

/* "3~" is Delete, "C" the right arrow, "1;5C" the right arrow with Ctrl. */
static void take_sequence(struct line *l, char final)
{
    struct str parameters = { l->part, l->part_length };
    int64_t number = 0;
    struct str first = str_cut(&parameters, ';');
    bool far = parameters.ptr && parameters.len && *parameters.ptr != '2';
    if (final == '~' && str_to_int(first, &number))
        key_number(l, number);
    else if (final != '~')
        key_letter(l, final, far);
}

static void take_escape(struct line *l, unsigned char c)
{
    l->state = c == '[' ? SEQUENCE : c == 'O' ? SHIFTED : GROUND;
    l->part_length = 0;
    if (c == '\r' || c == '\n')
        insert(l, "\n", 1);
    else if (c == 'b')
        move(l, word_begin(l));
    else if (c == 'f')
        move(l, word_end(l));
    else if (c == 'd')
        cut(l, l->at, word_end(l));
    else if (c == DELETE)
        cut(l, word_begin(l), l->at);
}

static void take_control(struct line *l, unsigned char c, struct buf *to)
{
    if (c == DELETE || c == CTRL('H')) {
        if (l->at > 0)
            cut(l, before(l, l->at), l->at);
    } else if (c == CTRL('A') || c == CTRL('E'))
        move(l, c == CTRL('A') ? 0 : l->text.len);
    else if (c == CTRL('B') || c == CTRL('F'))
        key_letter(l, c == CTRL('B') ? 'D' : 'C', false);
    else if (c == CTRL('P') || c == CTRL('N'))
        show_history(l, c == CTRL('P'));
    else if (c == CTRL('D'))
        key_number(l, 3);
    else if (c == CTRL('K'))
        cut(l, l->at, l->text.len);
    else if (c == CTRL('U'))
        cut(l, 0, l->at);
    else if (c == CTRL('W'))
        cut(l, word_begin(l), l->at);
    else if (c == CTRL('L')) {
        buf_add_text(to, "\x1b[H\x1b[2J");
        l->row = 0;
        l->changed = true;
    } else if (c == '\t')
        insert(l, " ", 1);
}

static void take_character(struct line *l, char byte)
{
    uint32_t c;
    l->part[l->part_length++] = byte;
    unsigned char first = (unsigned char)l->part[0];
    if (utf8_first((struct str){ l->part, l->part_length }, &c))
        insert(l, l->part, l->part_length);
    else if (l->part_length < 4 && first >= 0xc2 && first <= 0xf4)
        return;
    l->part_length = 0;
}

static enum line_event take_key(struct line *l, unsigned char c, struct buf *to)
{
    if (l->state == ESCAPE) {
        take_escape(l, c);
    } else if (l->state != GROUND) {
        bool final = c >= 0x40 && c <= 0x7e;
        if (final || l->part_length >= SEQUENCE_MAX) {
            if (final)
                take_sequence(l, (char)c);
            l->state = GROUND;
            l->part_length = 0;
        } else {
            l->part[l->part_length++] = (char)c;
        }
    } else if (c == 0x1b) {
        l->state = ESCAPE;
    } else if (l->pasting && (c == '\r' || c == '\n')) {
        insert(l, "\n", 1);
    } else if (c == '\r' || c == '\n') {
        return LINE_ENTERED;
    } else if (l->pasting && c < ' ') {
        insert(l, " ", 1);
    } else if (c == CTRL('C')) {
        return LINE_CANCELLED;
    } else if (c == CTRL('Z')) {
        return LINE_SUSPENDED;
    } else if (c == CTRL('D') && !l->text.len) {
        return LINE_ENDED;
    } else if (c < ' ' || c == DELETE) {
        take_control(l, c, to);
    } else {
        take_character(l, (char)c);
    }
    return LINE_MORE;
}

enum line_event line_feed(struct line *l, struct str *bytes, struct buf *to)
{
    enum line_event event = LINE_MORE;
    while (bytes->len && event == LINE_MORE) {
        event = take_key(l, (unsigned char)*bytes->ptr, to);
        *bytes = (struct str){ bytes->ptr + 1, bytes->len - 1 };
    }
    if (event != LINE_MORE)
        leave(l, to);
    else if (l->changed)
        draw(l, to);
    return event;
}

void line_begin(struct line *l, const struct line_look *look, struct buf *to)
{
    l->look = *look;
    l->row = 0;
    l->shown = l->count;
    l->state = GROUND;
    l->part_length = 0;
    l->pasting = false;
    set_text(l, "");
    draw(l, to);
}

void line_redraw(struct line *l, const struct line_look *look, struct buf *to)
{
    l->look = *look;
    draw(l, to);
}
