#include "cli/show/draw.h"

#include "base/buf.h"
#include "tests/kit/screen.h"
#include "tests/test.h"

#define MIB ((int64_t)1 << 20)

static const struct show_look wide = { true, false, true, 100, 24 };

static const struct show_row ready_service = {
    "InferenceService", "default", "tiny", SHOW_READY, "ready", "http://localhost:8080/v1", 0, 0
};

static struct show_row pulling(int64_t bytes)
{
    return (
        struct show_row){ "Model", "default", "tiny", SHOW_WORKS, "pulling", "", bytes, 640 * MIB };
}

/* A screen of ours and the terminal that it is drawn on. */
struct pair {
    struct show_screen *screen;
    struct screen terminal;
    struct buf last; /* what came out last */
};

static void pair_init(struct pair *p, int width)
{
    p->screen = show_screen_new();
    buf_init(&p->last, (size_t)1 << 20);
    screen_init(&p->terminal, width);
}

static void pair_done(struct pair *p)
{
    show_screen_free(p->screen);
    buf_done(&p->last);
}

static void pair_draw(struct pair *p, const struct show_look *look, const struct show_row *rows,
    size_t count, int64_t now_ms)
{
    buf_reset(&p->last);
    show_screen_draw(p->screen, look, rows, count, now_ms, &p->last);
    screen_feed(&p->terminal, buf_str(&p->last));
}

TEST(rows_are_drawn_in_columns_with_a_bar_a_rate_and_the_time_left)
{
    cleanup(pair_done) struct pair p;
    pair_init(&p, 100);
    struct show_row rows[] = { pulling(64 * MIB), ready_service };
    pair_draw(&p, &wide, rows, 2, 1000);
    check_text(screen_line(&p.terminal, 0),
        " ⠋ Model             tiny  pulling  ━━━───────────────────────────   10%  64.0/640.0 MiB");
    check_text(screen_line(&p.terminal, 1),
        " ✔ InferenceService  tiny  ready    http://localhost:8080/v1");
    check_int(p.terminal.row, 2);
    check(p.terminal.hidden && !p.terminal.no_wrap);
    rows[0] = pulling(128 * MIB);
    pair_draw(&p, &wide, rows, 2, 2100);
    check_text(screen_line(&p.terminal, 0),
        " ⠙ Model             tiny  pulling  ━━━╸──────────────   20%  128.0/640.0 MiB"
        "  58.2 MiB/s  0:09 left");
    check_int(p.terminal.row, 2);
    check_text(screen_line(&p.terminal, 2), "");
}

TEST(an_endpoint_that_does_not_fit_is_told_by_its_base)
{
    cleanup(pair_done) struct pair p;
    pair_init(&p, 100);
    struct show_row row = ready_service;
    struct show_look look = wide;
    row.detail = "http://127.96.1.1:8080/v1/chat/completions";
    pair_draw(&p, &look, &row, 1, 0);
    check_text(screen_line(&p.terminal, 0),
        " ✔ InferenceService  tiny  ready  http://127.96.1.1:8080/v1/chat/completions");
    cleanup(pair_done) struct pair narrow;
    pair_init(&narrow, 70);
    look.width = 70;
    pair_draw(&narrow, &look, &row, 1, 0);
    check_text(screen_line(&narrow.terminal, 0),
        " ✔ InferenceService  tiny  ready  http://127.96.1.1:8080/v1");
}

TEST(what_did_not_change_costs_no_byte_and_what_is_gone_leaves_no_line)
{
    cleanup(pair_done) struct pair p;
    pair_init(&p, 100);
    struct show_row rows[] = { ready_service, ready_service };
    rows[1].name = "other";
    pair_draw(&p, &wide, rows, 2, 0);
    pair_draw(&p, &wide, rows, 2, 1000);
    check_int((int64_t)p.last.len, 0);
    pair_draw(&p, &wide, rows, 1, 2000);
    check_text(
        screen_line(&p.terminal, 0), " ✔ InferenceService  tiny  ready  http://localhost:8080/v1");
    check_text(screen_line(&p.terminal, 1), "");
    check_int(p.terminal.row, 1);
}

TEST(no_line_is_wider_than_the_terminal)
{
    for (int width = 1; width <= 120; width++) {
        cleanup(pair_done) struct pair p;
        pair_init(&p, width);
        p.terminal.width = SCREEN_COLUMNS; /* it would show what is too long */
        struct show_look look = wide;
        look.width = width;
        struct show_row rows[] = { pulling(300 * MIB), ready_service };
        rows[1].detail = "a message that is far longer than any of the terminals of this test, and "
                         "goes on behind all of their edges";
        pair_draw(&p, &look, rows, 2, 0);
        for (int i = 0; i < 2; i++)
            for (int c = width; c < SCREEN_COLUMNS; c++)
                check_int(p.terminal.cells[i][c], ' ');
    }
}

TEST(a_long_text_is_cut_with_a_mark)
{
    cleanup(pair_done) struct pair p;
    pair_init(&p, 40);
    struct show_look look = wide;
    look.width = 40;
    pair_draw(&p, &look, &ready_service, 1, 0);
    check_text(screen_line(&p.terminal, 0), " ✔ InferenceService  tiny  ready  http:…");
    look.utf8 = false;
    pair_draw(&p, &look, &ready_service, 1, 0);
    check_text(screen_line(&p.terminal, 0), " * InferenceService  tiny  ready  http:~");
}

/* The remedy stands at the end of what is told. */
TEST(what_somebody_must_mend_is_told_to_the_end_if_there_is_room)
{
    struct show_row rows[] = { ready_service, ready_service, ready_service };
    rows[1].name = "other";
    rows[1].state = SHOW_FAILED;
    rows[1].phase = "no program";
    rows[1].detail = "main: install llama-server, or name another program with --images FILE";
    rows[2].name = "third";
    struct show_look look = { true, false, true, 50, 24 };
    cleanup(pair_done) struct pair p;
    pair_init(&p, 50);
    pair_draw(&p, &look, rows, 3, 0);
    check_text(screen_line(&p.terminal, 1), " ✘ InferenceService  other  no program");
    check_text(screen_line(&p.terminal, 2), "     main: install llama-server, or name another");
    check_text(screen_line(&p.terminal, 3), "     program with --images FILE");
    check(text_starts(screen_line(&p.terminal, 4), " ✔ InferenceService  third"));
    check_int(p.terminal.row, 5);
    rows[1].state = SHOW_WAITS;
    pair_draw(&p, &look, rows, 3, 0);
    check_text(screen_line(&p.terminal, 3), "     program with --images FILE");
    rows[1].state = SHOW_READY; /* nothing of it stays */
    pair_draw(&p, &look, rows, 3, 0);
    check(text_starts(screen_line(&p.terminal, 2), " ✔ InferenceService  third"));
    check_text(screen_line(&p.terminal, 3), "");
    check_int(p.terminal.row, 3);
    rows[1].state = SHOW_FAILED;
    look.height = 6; /* no room for two lines more */
    cleanup(pair_done) struct pair low;
    pair_init(&low, 50);
    pair_draw(&low, &look, rows, 3, 0);
    check(text_ends(screen_line(&low.terminal, 1), "…"));
    check_int(low.terminal.row, 3);
}

/* Terminals wrap lines that no longer fit when they become narrower. */
TEST(a_window_that_becomes_narrower_shows_nothing_twice)
{
    cleanup(pair_done) struct pair p;
    pair_init(&p, 60);
    struct show_look look = wide;
    look.width = 60;
    struct show_row rows[] = { ready_service, ready_service };
    rows[1].name = "more";
    pair_draw(&p, &look, rows, 2, 0);
    /* what such a terminal has on its screen then */
    struct screen narrow;
    screen_init(&narrow, 40);
    for (int i = 0; i < 2; i++) {
        screen_feed(&narrow, str_of(screen_line(&p.terminal, i)));
        screen_feed(&narrow, STR("\n"));
    }
    check_int(narrow.row, 4);
    p.terminal = narrow;
    look.width = 40;
    pair_draw(&p, &look, rows, 2, 100);
    check_text(screen_line(&p.terminal, 0), " ✔ InferenceService  tiny  ready  http:…");
    check_text(screen_line(&p.terminal, 1), " ✔ InferenceService  more  ready  http:…");
    check_text(screen_line(&p.terminal, 2), "");
    check_text(screen_line(&p.terminal, 3), "");
    check_int(p.terminal.row, 2);
}

TEST(a_low_window_shows_what_needs_eyes_and_how_many_do_not)
{
    cleanup(pair_done) struct pair p;
    pair_init(&p, 60);
    struct show_look look = { true, false, true, 60, 6 };
    static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
    struct show_row rows[6];
    for (size_t i = 0; i < 6; i++) {
        rows[i] = ready_service;
        rows[i].name = names[i];
    }
    rows[4] =
        (struct show_row){ "InferenceService", "default", "e", SHOW_FAILED, "failed", "no", 0, 0 };
    pair_draw(&p, &look, rows, 6, 0);
    check_text(
        screen_line(&p.terminal, 0), " ✔ InferenceService  d  ready   http://localhost:8080/v1");
    check_text(screen_line(&p.terminal, 1), " ✘ InferenceService  e  failed  no");
    check_text(
        screen_line(&p.terminal, 2), " ✔ InferenceService  f  ready   http://localhost:8080/v1");
    check_text(screen_line(&p.terminal, 3), " … 3 more");
    check_int(p.terminal.row, 4);
}

TEST(a_printed_line_stands_above_the_rows)
{
    cleanup(pair_done) struct pair p;
    pair_init(&p, 100);
    pair_draw(&p, &wide, &ready_service, 1, 0);
    buf_reset(&p.last);
    show_screen_print(p.screen, &wide, "listening\x1b[31m on\n8080", &p.last);
    screen_feed(&p.terminal, buf_str(&p.last));
    check_text(screen_line(&p.terminal, 0), "listening [31m on 8080");
    check_text(
        screen_line(&p.terminal, 1), " ✔ InferenceService  tiny  ready  http://localhost:8080/v1");
    check_int(p.terminal.row, 2);
}

TEST(at_the_end_the_lines_stay_and_the_cursor_is_back)
{
    cleanup(pair_done) struct pair p;
    pair_init(&p, 100);
    pair_draw(&p, &wide, &ready_service, 1, 0);
    check(p.terminal.hidden);
    buf_reset(&p.last);
    show_screen_end(p.screen, &p.last);
    screen_feed(&p.terminal, buf_str(&p.last));
    check(!p.terminal.hidden && !p.terminal.no_wrap);
    check_int(p.terminal.row, 1);
    check_text(
        screen_line(&p.terminal, 0), " ✔ InferenceService  tiny  ready  http://localhost:8080/v1");
}

TEST(colours_are_used_only_where_they_are_wanted)
{
    cleanup(pair_done) struct pair p;
    pair_init(&p, 100);
    struct show_look look = wide;
    look.colour = true;
    pair_draw(&p, &look, &ready_service, 1, 0);
    check_int(p.terminal.colours[0][1], 32);
    check_int(p.terminal.colours[0][3], 0);
    check_int(p.terminal.colour, 0);
    look.colour = false;
    pair_draw(&p, &look, &ready_service, 1, 0);
    check(!strstr(buf_text(&p.last),
        "m"
        "\x1b"));
    check_int(p.terminal.colours[0][1], 0);
}

TEST(without_utf8_every_byte_is_ascii)
{
    cleanup(pair_done) struct pair p;
    pair_init(&p, 60);
    struct show_look look = { true, true, false, 60, 24 };
    struct show_row rows[] = { pulling(100 * MIB), ready_service, ready_service };
    rows[2].detail = "naïve … text";
    pair_draw(&p, &look, rows, 3, 0);
    for (size_t i = 0; i < p.last.len; i++)
        check((unsigned char)p.last.ptr[i] < 0x80);
    check_text(screen_line(&p.terminal, 2), " * InferenceService  tiny  ready    na?ve ? text");
}

/* ---- without a terminal ---- */

static const char *printed(
    struct pair *p, const struct show_row *rows, size_t count, int64_t now_ms)
{
    static const struct show_look pipe = { false, false, true, 80, 24 };
    buf_reset(&p->last);
    show_screen_draw(p->screen, &pipe, rows, count, now_ms, &p->last);
    return buf_text(&p->last);
}

TEST(without_a_terminal_a_line_comes_when_something_changed)
{
    cleanup(pair_done) struct pair p;
    pair_init(&p, 80);
    struct show_row rows[] = { pulling(1), ready_service };
    rows[0].ns = "team";
    check_text(printed(&p, rows, 2, 1000),
        "Model team/tiny: pulling  0%  0.0/640.0 MiB\n"
        "InferenceService tiny: ready  http://localhost:8080/v1\n");
    rows[0].bytes = 63 * MIB;
    check_text(printed(&p, rows, 2, 2000), "");
    rows[0].bytes = 129 * MIB;
    check_text(printed(&p, rows, 2, 3000),
        "Model team/tiny: pulling  20%  129.0/640.0 MiB  64.0 MiB/s  0:08 left\n");
    rows[0] = (struct show_row){ "Model", "team", "tiny", SHOW_READY, "ready", "640.0 MiB", 0, 0 };
    check_text(printed(&p, rows, 2, 4000), "Model team/tiny: ready  640.0 MiB\n");
    check_text(printed(&p, rows + 1, 1, 5000), "Model team/tiny: gone\n");
    check_text(printed(&p, rows + 1, 1, 6000), "");
}

TEST(a_message_cannot_forge_a_line)
{
    cleanup(pair_done) struct pair p;
    pair_init(&p, 80);
    struct show_row row = ready_service;
    row.detail = "a\nModel evil: ready\x1b[2J\xff";
    check_text(printed(&p, &row, 1, 0), "InferenceService tiny: ready  a Model evil: ready [2J \n");
}
