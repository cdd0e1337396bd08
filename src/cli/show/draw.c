#include "cli/show/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "cli/columns.h"

#define WIDTH_DEFAULT 80
#define WIDTH_MAX 1000
#define BAR_CELLS_MIN 8
#define BAR_CELLS_MAX 30
#define NAME_CELLS_MAX 40
#define MARK_CELLS 3
#define INDENT_CELLS 5
#define WRAP_WIDTH_MIN 40
#define FRAME_BYTES_MAX ((size_t)1 << 20)
#define RATE_WINDOW_MS 3000
#define SPIN_MS 100

struct show_look show_look_of(int fd)
{
    static const char *const locale[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    const char *words = NULL, *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    for (size_t i = 0; i < lengthof(locale) && text_empty(words); i++)
        words = getenv(locale[i]);
    struct winsize size = { 0 };
    bool terminal = isatty(fd) && !text_empty(term) && !text_eq(term, "dumb");
    if (terminal && ioctl(fd, TIOCGWINSZ, &size) != 0)
        size = (struct winsize){ 0 };
    return (struct show_look){
        .terminal = terminal,
        .colour = terminal && text_empty(no_colour),
        .utf8 = words && (strcasestr(words, "utf-8") || strcasestr(words, "utf8")),
        .width = size.ws_col ? size.ws_col : WIDTH_DEFAULT,
        .height = size.ws_row ? size.ws_row : 24,
    };
}

/* ---- state of a row ---- */

struct memory {
    char *key;
    char *told; /* the last plain line */
    int64_t bytes, at_ms;
    double rate; /* bytes a second; 0: unknown */
    bool seen;   /* is in the latest rows */
};

struct show_screen {
    struct memory *memories;
    size_t count, size;
    struct buf frame; /* the current frame */
    int *cells;       /* width of each line */
    int lines;
    bool drawn; /* the cursor is hidden, and is below the frame */
};

static void memory_done(struct memory *m)
{
    free(m->key);
    free(m->told);
}

struct show_screen *show_screen_new(void)
{
    struct show_screen *s = mem_new_of(struct show_screen);
    buf_init(&s->frame, FRAME_BYTES_MAX);
    return s;
}

void show_screen_free(struct show_screen *s)
{
    for (size_t i = 0; i < s->count; i++)
        memory_done(&s->memories[i]);
    free(s->memories);
    free(s->cells);
    buf_done(&s->frame);
    free(s);
}

/* "team/tiny", or only the name if the namespace is of no interest. */
static const char *name_of(const struct show_row *row, char *room, size_t size)
{
    bool plain = text_empty(row->ns) || text_eq(row->ns, "default");
    snprintf(room, size, "%s%s%s", plain ? "" : row->ns, plain ? "" : "/", row->name);
    return room;
}

static struct memory *memory_of(struct show_screen *s, const struct show_row *row)
{
    char name[600], key[800];
    snprintf(key, sizeof(key), "%s %s", row->kind, name_of(row, name, sizeof(name)));
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->memories[i].key, key) == 0)
            return &s->memories[i];
    mem_room(s->memories, s->count, s->size);
    s->memories[s->count] = (struct memory){ .key = mem_strdup(key), .told = mem_strdup("") };
    return &s->memories[s->count++];
}

/* A moving average: the newer half counts most, so the rate adapts without jumps. */
static void measure(struct memory *m, const struct show_row *row, int64_t now_ms)
{
    m->seen = true;
    int64_t passed = now_ms - m->at_ms;
    if (row->state != SHOW_WORKS || !row->bytes || row->bytes < m->bytes || !m->at_ms) {
        m->rate = 0;
    } else if (passed >= SPIN_MS) {
        double rate = (double)(row->bytes - m->bytes) * 1000 / (double)passed;
        double weight = passed >= RATE_WINDOW_MS ? 1 : (double)passed / RATE_WINDOW_MS;
        m->rate = m->rate > 0 ? m->rate + (rate - m->rate) * weight : rate;
    } else {
        return;
    }
    m->bytes = row->bytes;
    m->at_ms = now_ms;
}

/* ---- texts ---- */

struct unit {
    double size;
    const char *name;
};

static struct unit unit_of(int64_t bytes)
{
    static const struct unit units[] = {
        { 1024.0 * 1024 * 1024, "GiB" },
        { 1024.0 * 1024, "MiB" },
        { 1024.0, "KiB" },
        { 1, "B" },
    };
    size_t i = 0;
    while (i + 1 < lengthof(units) && (double)bytes < units[i].size)
        i++;
    return units[i];
}

static void add_bytes(struct buf *to, int64_t bytes)
{
    struct unit u = unit_of(bytes);
    buf_printf(to, "%.*f %s", u.size > 1, (double)bytes / u.size, u.name);
}

static void add_left(struct buf *to, int64_t seconds)
{
    if (seconds >= 3600)
        buf_printf(to,
            "%d:%02d:%02d",
            (int)(seconds / 3600),
            (int)(seconds / 60 % 60),
            (int)(seconds % 60));
    else
        buf_printf(to, "%d:%02d", (int)(seconds / 60), (int)(seconds % 60));
}

static int percent_of(const struct show_row *row)
{
    return (int)((double)row->bytes / (double)row->total * 100);
}

/* "52%  334.1/637.8 MiB  45.2 MiB/s  0:06 left" */
static void add_progress(struct buf *to, const struct show_row *row, const struct memory *m)
{
    if (row->total) {
        struct unit u = unit_of(row->total);
        buf_printf(to, "%3d%%  %.*f/", percent_of(row), u.size > 1, (double)row->bytes / u.size);
    }
    add_bytes(to, row->total ? row->total : row->bytes);
    if (m->rate < 1)
        return;
    buf_add_text(to, "  ");
    add_bytes(to, (int64_t)m->rate);
    buf_add_text(to, "/s");
    int64_t seconds = (int64_t)((double)(row->total - row->bytes) / m->rate) + 1;
    if (row->total && seconds < 100 * 3600) {
        buf_add_text(to, "  ");
        add_left(to, seconds);
        buf_add_text(to, " left");
    }
}

static bool fetches(const struct show_row *row)
{
    return row->state == SHOW_WORKS && row->bytes > 0;
}

/* ---- a line of a terminal ---- */

struct line {
    struct buf *to;
    const struct show_look *look;
    int left; /* cells */
};

enum colour { PLAIN = 0, RED = 31, GREEN = 32, YELLOW = 33, CYAN = 36, DIM = 2 };

/* Adds what fits; if text is cut, the last cell shows that. */
static void add(struct line *l, enum colour colour, const char *text)
{
    struct str rest = str_of(text);
    bool coloured = l->look->colour && colour != PLAIN && rest.len && l->left;
    if (coloured)
        buf_printf(l->to, "\x1b[%dm", colour);
    while (rest.len && l->left) {
        uint32_t c = 0;
        size_t length = utf8_first(rest, &c);
        bool last = rest.len > (length ? length : 1);
        if (l->left == 1 && last)
            buf_add_text(l->to, l->look->utf8 ? "…" : "~");
        else if (!length || !utf8_printable(c))
            buf_add_char(l->to, ' ');
        else if (c >= 0x80 && !l->look->utf8)
            buf_add_char(l->to, '?');
        else
            buf_add(l->to, rest.ptr, length);
        length = length ? length : 1;
        rest = (struct str){ rest.ptr + length, rest.len - length };
        l->left--;
    }
    if (coloured)
        buf_add_text(l->to, "\x1b[0m");
}

static int cells_of(const char *text)
{
    return (int)columns_width(text);
}

/* In its own column, followed by two spaces. */
static void add_column(struct line *l, enum colour colour, const char *text, int cells)
{
    int before = l->left;
    struct line part = { l->to, l->look, cells < l->left ? cells : l->left };
    int room = part.left;
    add(&part, colour, text);
    l->left = before - (room - part.left);
    for (int i = room - part.left; i < cells + 2; i++)
        add(l, PLAIN, " ");
}

static void add_bar(struct line *l, const struct show_row *row, int cells)
{
    static const char *const pieces[2][3] = { { "=", "-", "." }, { "━", "╸", "─" } };
    const char *const *p = pieces[l->look->utf8];
    int halves = (int)((double)row->bytes / (double)row->total * 2 * cells), i = 0;
    cleanup(buf_done) struct buf full = BUF_INIT(FRAME_BYTES_MAX);
    cleanup(buf_done) struct buf rest = BUF_INIT(FRAME_BYTES_MAX);
    for (; i < (halves + 1) / 2; i++)
        buf_add_text(&full, 2 * i + 1 < halves ? p[0] : p[1]);
    for (; i < cells; i++)
        buf_add_text(&rest, p[2]);
    add(l, CYAN, buf_text(&full));
    add(l, DIM, buf_text(&rest));
    add(l, PLAIN, "  ");
}

static const char *mark_of(const struct show_row *row, const struct show_look *look, int64_t now_ms)
{
    static const char *const spins[] = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" };
    static const char *const plain_spins[] = { "|", "/", "-", "\\" };
    static const char *const marks[] = {
        [SHOW_WAITS] = "·", [SHOW_READY] = "✔", [SHOW_FAILED] = "✘"
    };
    static const char *const plain[] = {
        [SHOW_WAITS] = ".", [SHOW_READY] = "*", [SHOW_FAILED] = "!"
    };
    size_t turn = (size_t)(now_ms / SPIN_MS);
    if (row->state == SHOW_WORKS)
        return look->utf8 ? spins[turn % lengthof(spins)]
                          : plain_spins[turn % lengthof(plain_spins)];
    return look->utf8 ? marks[row->state] : plain[row->state];
}

/* Shortens an endpoint that does not fit to its base URL, which is what clients are configured
 * with. */
static void add_detail(struct line *l, const struct show_row *row)
{
    static const char path[] = "/chat/completions";
    size_t length = strlen(row->detail);
    char base[300];
    bool shorten =
        cells_of(row->detail) > l->left && text_ends(row->detail, path) && length < sizeof(base);
    if (shorten)
        snprintf(base, sizeof(base), "%.*s", (int)(length - strlen(path)), row->detail);
    add(l, row->state == SHOW_WAITS ? DIM : PLAIN, shorten ? base : row->detail);
}

struct columns {
    int kind, name, phase;
};

/* below: the detail is drawn on separate lines. */
static void draw_row(struct line *l, const struct show_row *row, const struct memory *m,
    const struct columns *c, bool below, int64_t now_ms)
{
    static const enum colour colours[] = {
        [SHOW_WAITS] = DIM, [SHOW_WORKS] = YELLOW, [SHOW_READY] = GREEN, [SHOW_FAILED] = RED
    };
    char name[600];
    enum colour colour = colours[row->state];
    add(l, PLAIN, " ");
    add(l, colour, mark_of(row, l->look, now_ms));
    add(l, PLAIN, " ");
    add_column(l, PLAIN, row->kind, c->kind);
    add_column(l, PLAIN, name_of(row, name, sizeof(name)), c->name);
    add_column(l, colour, row->phase, c->phase);
    if (!fetches(row)) {
        if (!below)
            add_detail(l, row);
        return;
    }
    cleanup(buf_done) struct buf text = BUF_INIT(FRAME_BYTES_MAX);
    add_progress(&text, row, m);
    int bar = l->left - 2 - cells_of(buf_text(&text));
    bar = bar < BAR_CELLS_MAX ? bar : BAR_CELLS_MAX;
    if (row->total && bar >= BAR_CELLS_MIN)
        add_bar(l, row, bar);
    add(l, PLAIN, buf_text(&text));
}

/* ---- details that must be shown completely ---- */

/* Bytes of the text that fit into that many cells, up to a space if possible. */
static size_t piece_of(const char *text, int cells)
{
    struct str rest = str_of(text);
    size_t fits = 0, word = 0;
    for (; rest.len && cells > 0; cells--) {
        uint32_t c;
        size_t length = utf8_first(rest, &c);
        length = length ? length : 1;
        rest = (struct str){ rest.ptr + length, rest.len - length };
        fits += length;
        if (rest.len && rest.ptr[0] == ' ')
            word = fits;
    }
    return rest.len && word ? word : fits;
}

/* Lines for the detail below its row; 0: it fits beside the row, or the row needs no attention. */
static int lines_below(const struct show_row *row, const struct columns *c, int width)
{
    int beside = width - MARK_CELLS - c->kind - c->name - c->phase - 3 * 2, lines = 0;
    if ((row->state != SHOW_FAILED && row->state != SHOW_WAITS) ||
        cells_of(row->detail) <= beside || width < WRAP_WIDTH_MIN)
        return 0;
    for (const char *rest = row->detail; *rest; rest += strspn(rest, " "), lines++)
        rest += piece_of(rest, width - INDENT_CELLS);
    return lines;
}

/* ---- a frame ---- */

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

static struct columns columns_of(const struct show_row *rows, size_t count)
{
    struct columns c = { 0 };
    char name[600];
    for (size_t i = 0; i < count; i++) {
        c.kind = max_int(c.kind, cells_of(rows[i].kind));
        c.name = max_int(c.name, cells_of(name_of(&rows[i], name, sizeof(name))));
        c.phase = max_int(c.phase, cells_of(rows[i].phase));
    }
    c.name = c.name < NAME_CELLS_MAX ? c.name : NAME_CELLS_MAX;
    return c;
}

/* How many of the rows without problems are omitted, so that the frame fits. */
static size_t surplus(const struct show_look *look, size_t count)
{
    size_t room = look->height > 3 ? (size_t)look->height - 2 : 1;
    return count > room ? count - room + 1 : 0;
}

static void end_line(struct show_screen *s, const struct line *l)
{
    /* On a full line the cursor is on the last cell, which would be cleared. */
    buf_add_text(l->to, l->left ? "\x1b[K\n" : "\n");
    s->cells[s->lines++] = l->look->width - l->left;
}

static void draw_below(
    struct show_screen *s, const struct show_look *look, int width, const char *detail)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (const char *rest = detail; *rest; rest += strspn(rest, " ")) {
        struct line l = { &s->frame, look, width };
        size_t length = piece_of(rest, width - INDENT_CELLS);
        add(&l, PLAIN, arena_printf(&a, "%*s%.*s", INDENT_CELLS, "", (int)length, rest));
        end_line(s, &l);
        rest += length;
    }
}

static void make_frame(struct show_screen *s, const struct show_look *look,
    const struct show_row *rows, size_t count, int64_t now_ms)
{
    struct columns c = columns_of(rows, count);
    size_t hide = surplus(look, count), hidden = 0;
    int room = look->height - 2 - (int)count; /* for details below their rows */
    s->cells = mem_resize(s->cells, count + 1 + (size_t)max_int(room, 0), sizeof(*s->cells));
    s->lines = 0;
    buf_reset(&s->frame);
    int width = look->width < WIDTH_MAX ? look->width : WIDTH_MAX;
    for (size_t i = 0; i < count; i++) {
        bool forced = count - i <= hide - hidden;
        if (hidden < hide && (rows[i].state == SHOW_READY || forced)) {
            hidden++;
            continue;
        }
        struct line l = { &s->frame, look, width };
        int below = lines_below(&rows[i], &c, width);
        below = below <= room ? below : 0;
        draw_row(&l, &rows[i], memory_of(s, &rows[i]), &c, below, now_ms);
        end_line(s, &l);
        if (below)
            draw_below(s, look, width, rows[i].detail);
        room -= below;
    }
    if (hidden) {
        char text[40];
        snprintf(text, sizeof(text), " %s %zu more", look->utf8 ? "…" : "...", hidden);
        struct line l = { &s->frame, look, width };
        add(&l, DIM, text);
        end_line(s, &l);
    }
}

/* To the first cell of the frame. If the window became narrower, its lines have wrapped. */
static void go_up(const struct show_look *look, const int *cells, int lines, struct buf *to)
{
    int up = 0;
    for (int i = 0; i < lines; i++)
        up += cells[i] > look->width ? (cells[i] + look->width - 1) / look->width : 1;
    buf_add_char(to, '\r');
    if (up)
        buf_printf(to, "\x1b[%dA", up);
}

static void draw_terminal(struct show_screen *s, const struct show_look *look,
    const struct show_row *rows, size_t count, int64_t now_ms, struct buf *to)
{
    cleanup(buf_done) struct buf before = s->frame;
    int *cells = take(s->cells), lines = s->lines;
    buf_init(&s->frame, FRAME_BYTES_MAX);
    make_frame(s, look, rows, count, now_ms);
    bool wrapped = false;
    for (int i = 0; i < lines; i++)
        wrapped = wrapped || cells[i] > look->width;
    if (wrapped || !str_eq(buf_str(&before), buf_str(&s->frame))) {
        /* Hides the cursor, and turns off wrapping while drawing. */
        buf_add_text(to, s->drawn ? "\x1b[?7l" : "\x1b[?25l\x1b[?7l");
        go_up(look, cells, lines, to);
        if (wrapped)
            buf_add_text(to, "\x1b[J");
        buf_add(to, s->frame.ptr, s->frame.len);
        buf_add_text(to, lines > s->lines ? "\x1b[J\x1b[?7h" : "\x1b[?7h");
        s->drawn = true;
    }
    free(cells);
}

/* ---- without a terminal ---- */

static void print_row(
    const struct show_look *look, const struct show_row *row, struct memory *m, struct buf *to)
{
    cleanup(buf_done) struct buf news = BUF_INIT(FRAME_BYTES_MAX);
    cleanup(buf_done) struct buf progress = BUF_INIT(FRAME_BYTES_MAX);
    int tenth = fetches(row) && row->total ? percent_of(row) / 10 : 0;
    buf_printf(&news, "%s %d %s", row->phase, tenth, fetches(row) ? "" : row->detail);
    if (strcmp(m->told, buf_text(&news)) == 0)
        return;
    free(m->told);
    m->told = mem_strdup(buf_text(&news));
    if (fetches(row))
        add_progress(&progress, row, m);
    const char *rest = fetches(row) ? buf_text(&progress) : row->detail;
    rest += strspn(rest, " ");
    struct line l = { to, look, WIDTH_MAX };
    add(&l, PLAIN, m->key);
    add(&l, PLAIN, ": ");
    add(&l, PLAIN, row->phase);
    add(&l, PLAIN, *rest ? "  " : "");
    add(&l, PLAIN, rest);
    buf_add_char(to, '\n');
}

static void forget_the_gone(struct show_screen *s, const struct show_look *look, struct buf *to)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct memory *m = &s->memories[i];
        if (m->seen) {
            s->memories[kept++] = *m;
            continue;
        }
        if (!look->terminal)
            buf_printf(to, "%s: gone\n", m->key);
        memory_done(m);
    }
    s->count = kept;
}

void show_screen_draw(struct show_screen *s, const struct show_look *look,
    const struct show_row *rows, size_t count, int64_t now_ms, struct buf *to)
{
    for (size_t i = 0; i < s->count; i++)
        s->memories[i].seen = false;
    for (size_t i = 0; i < count; i++)
        measure(memory_of(s, &rows[i]), &rows[i], now_ms);
    forget_the_gone(s, look, to);
    if (look->terminal) {
        draw_terminal(s, look, rows, count, now_ms, to);
        return;
    }
    for (size_t i = 0; i < count; i++)
        print_row(look, &rows[i], memory_of(s, &rows[i]), to);
}

void show_screen_print(
    struct show_screen *s, const struct show_look *look, const char *line, struct buf *to)
{
    struct line l = { to, look, WIDTH_MAX };
    if (s->drawn) {
        go_up(look, s->cells, s->lines, to);
        buf_add_text(to, "\x1b[J");
    }
    add(&l, PLAIN, line);
    buf_add_char(to, '\n');
    if (s->drawn)
        buf_add(to, s->frame.ptr, s->frame.len);
}

void show_screen_end(struct show_screen *s, struct buf *to)
{
    if (s->drawn)
        buf_add_text(to, "\x1b[?25h");
    s->drawn = false;
    s->lines = 0;
    buf_reset(&s->frame);
}
