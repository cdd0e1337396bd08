#include "cli/run/chat.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "base/str.h"
#include "base/utf8.h"
#include "cli/run/line.h"
#include "cli/run/talk.h"
#include "cli/show/draw.h"
#include "cli/up/folder.h"
#include "http/client.h"
#include "http/loop.h"
#include "kube/file.h"

#define OUTPUT_BYTES_MAX ((size_t)16 << 20)
#define KEYS_BYTES_MAX ((size_t)4 << 20)
#define HISTORY_BYTES_MAX ((size_t)4 << 20)
#define QUESTION_BYTES_MAX ((size_t)16 << 20)
#define CTRL_C 3
#define PROMPT "> "
#define DIM "\x1b[2m"
#define PLAIN "\x1b[0m"
#define PASTE_ON "\x1b[?2004h"
#define PASTE_OFF "\x1b[?2004l"

static const int signal_numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH };

struct chat {
    const struct chat_options *options;
    struct show_look look;
    struct http_client *http;
    struct talk *talk;
    bool over;
    int code;
    bool pipe;               /* output is not a terminal: write the answer unchanged */
    bool mid_line, thinking; /* state of the screen */
    /* of a terminal */
    struct line *line;
    struct loop_watch *watch;
    struct loop_signal *signals[lengthof(signal_numbers)];
    struct termios before;
    int flags_before; /* of standard input, which other processes share */
    struct buf keys;  /* typed during an answer */
};

/* ---- output ---- */

static void put(struct chat *c, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count && !c->over) {
        ssize_t n = write(STDOUT_FILENO, at, count);
        if (n > 0) {
            at += n;
            count -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){ .fd = STDOUT_FILENO, .events = POLLOUT }, 1, -1);
        } else if (n < 0 && errno != EINTR) {
            c->over = true; /* standard output was closed */
        }
    }
}

static void put_buf(struct chat *c, struct buf *b)
{
    put(c, buf_text(b), b->len);
    buf_done(b);
}

static void put_line(struct chat *c, const char *format, ...) printf_like(2, 3);
static void put_line(struct chat *c, const char *format, ...)
{
    struct buf out = BUF_INIT(OUTPUT_BYTES_MAX);
    va_list args;
    va_start(args, format);
    buf_vprintf(&out, format, args);
    va_end(args);
    buf_add_char(&out, '\n');
    put_buf(c, &out);
}

/* Keeps a model's text from controlling the terminal: replaces non-printing characters by
 * spaces. */
static void add_words(struct chat *c, struct buf *to, const char *text)
{
    for (struct str rest = str_of(text); rest.len;) {
        uint32_t u = 0;
        size_t length = utf8_first(rest, &u);
        if (u == '\n' || u == '\t')
            buf_add_char(to, (char)u);
        else if (!length || !utf8_printable(u))
            buf_add_char(to, ' ');
        else if (u >= 0x80 && !c->look.utf8)
            buf_add_char(to, '?');
        else
            buf_add(to, rest.ptr, length);
        length = length ? length : 1;
        rest = (struct str){ rest.ptr + length, rest.len - length };
        c->mid_line = u != '\n';
    }
}

/* Thoughts are shown dimmed above the answer, and not at all in a pipe. */
static void show_piece(void *ctx, const char *text, bool thought)
{
    struct chat *c = ctx;
    struct buf out = BUF_INIT(OUTPUT_BYTES_MAX);
    if (c->pipe) {
        size_t length = strlen(text);
        if (thought)
            return;
        put(c, text, length);
        c->mid_line = text[length - 1] != '\n';
        return;
    }
    if (thought != c->thinking) {
        if (c->mid_line)
            buf_add_char(&out, '\n');
        if (c->look.colour)
            buf_add_text(&out, thought ? DIM : PLAIN);
        c->thinking = thought;
        c->mid_line = false;
    }
    add_words(c, &out, text);
    put_buf(c, &out);
}

static void end_words(struct chat *c)
{
    if (c->thinking && c->look.colour)
        put(c, PLAIN, strlen(PLAIN));
    if (c->mid_line)
        put(c, "\n", 1);
    c->thinking = c->mid_line = false;
}

/* ---- a terminal ---- */

bool chat_has_terminal(void)
{
    return isatty(STDIN_FILENO) && show_look_of(STDOUT_FILENO).terminal;
}

static struct line_look look_of(const struct chat *c)
{
    return (struct line_look){ c->look.width, c->look.height, c->look.colour };
}

/* Switches to single keys without echo; output processing is unchanged. */
static void take_terminal(struct chat *c)
{
    struct termios raw = c->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
    raw.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | IXON);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    put(c, PASTE_ON, strlen(PASTE_ON));
}

static void give_terminal_back(struct chat *c)
{
    bool over = c->over;
    c->over = false;
    put(c, PASTE_OFF, strlen(PASTE_OFF));
    tcsetattr(STDIN_FILENO, TCSADRAIN, &c->before);
    fcntl(STDIN_FILENO, F_SETFL, c->flags_before);
    c->over = over;
}

static void begin_line(struct chat *c)
{
    struct buf out = BUF_INIT(OUTPUT_BYTES_MAX);
    struct line_look look = look_of(c);
    line_begin(c->line, &look, &out);
    put_buf(c, &out);
}

static void redraw_line(struct chat *c)
{
    struct buf out = BUF_INIT(OUTPUT_BYTES_MAX);
    struct line_look look = look_of(c);
    line_redraw(c->line, &look, &out);
    put_buf(c, &out);
}

/* ---- history ---- */

/* One entry per line; a line end in it is \n, and a backslash is doubled. */
static void read_history(struct chat *c)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str text, line;
    const char *path = up_folder_path(&a, c->options->folder, UP_CHAT_HISTORY);
    if (!file_read(&a, path, HISTORY_BYTES_MAX, &text, NULL))
        return;
    while (text.ptr) {
        line = str_cut(&text, '\n');
        char *copy = str_dup(&a, line), *to = copy;
        for (const char *from = copy; *from; from++) {
            bool escaped = *from == '\\' && from[1];
            from += escaped;
            *to++ = escaped && *from == 'n' ? '\n' : *from;
        }
        *to = '\0';
        line_remember(c->line, copy);
    }
}

/* Rewrites a file that has grown too large; write errors are ignored. */
static void write_history(struct chat *c, const char *text)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    cleanup(buf_done) struct buf line = BUF_INIT(HISTORY_BYTES_MAX);
    for (const char *t = text; *t; t++)
        buf_add_text(&line, *t == '\n' ? "\\n" : *t == '\\' ? "\\\\" : (char[]){ *t, '\0' });
    buf_add_char(&line, '\n');
    const char *path = up_folder_path(&a, c->options->folder, UP_CHAT_HISTORY);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    bool full = lseek(fd, 0, SEEK_END) > (off_t)(HISTORY_BYTES_MAX / 2);
    if (!buf_overflowed(&line) && (!full || ftruncate(fd, 0) == 0))
        (void)!write(fd, line.ptr, line.len);
    close(fd);
}

/* ---- commands and keys ---- */

/* True if the line was a command. */
static bool do_command(struct chat *c, const char *word)
{
    bool bye = text_eq(word, "/bye") || text_eq(word, "/exit") || text_eq(word, "/quit");
    if (bye) {
        c->over = true;
    } else if (text_eq(word, "/clear")) {
        talk_forget(c->talk);
        put_line(c, "The conversation is deleted.");
    } else if (text_eq(word, "/help")) {
        put_line(c,
            "/clear    delete the conversation so far\n"
            "/bye      end the chat, like Ctrl-D; the model keeps running\n"
            "Ctrl-C    end the answer\n"
            "Alt-Enter add a line; the up and down keys show earlier questions");
    } else {
        return false;
    }
    return true;
}

static void entered(struct chat *c)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *text = str_dup(&a, str_trim(str_of(line_text(c->line))));
    bool ours = do_command(c, text);
    if (*text && !c->over) {
        line_remember(c->line, text);
        write_history(c, text);
    }
    if (*text && !ours)
        talk_ask(c->talk, text);
    else if (!c->over)
        begin_line(c);
}

static void suspend(struct chat *c)
{
    give_terminal_back(c);
    raise(SIGTSTP); /* continues here */
    take_terminal(c);
    redraw_line(c);
}

static void handle(struct chat *c, enum line_event event)
{
    if (event == LINE_ENTERED)
        entered(c);
    else if (event == LINE_ENDED)
        c->over = true;
    else if (event == LINE_SUSPENDED)
        suspend(c);
    else if (event == LINE_CANCELLED) {
        if (!*line_text(c->line))
            put_line(c, "Ctrl-D ends the chat");
        begin_line(c);
    }
}

static void take_keys(struct chat *c)
{
    while (c->keys.len && !c->over && !talk_is_busy(c->talk)) {
        struct buf out = BUF_INIT(OUTPUT_BYTES_MAX);
        struct str keys = buf_str(&c->keys);
        enum line_event event = line_feed(c->line, &keys, &out);
        buf_eat(&c->keys, c->keys.len - keys.len);
        put_buf(c, &out);
        handle(c, event);
    }
}

static void tell_ended(void *ctx, const struct error *err, bool cut)
{
    struct chat *c = ctx;
    end_words(c);
    if (err) {
        struct buf words = BUF_INIT(OUTPUT_BYTES_MAX);
        add_words(c, &words, err->text);
        bool full = strcasestr(err->text, "context");
        put_line(c,
            "no answer: %s%s",
            buf_text(&words),
            full ? "; /clear deletes the conversation" : "");
        buf_done(&words);
        c->mid_line = false;
    } else if (cut) {
        put_line(c, "(The answer reached the maximum number of tokens.)");
    }
    begin_line(c);
    take_keys(c);
}

static void stop_answer(struct chat *c)
{
    talk_stop(c->talk);
    put(c, "^C", 2);
    c->mid_line = true;
    end_words(c);
    begin_line(c);
}

static void keys_came(void *ctx, int events)
{
    struct chat *c = ctx;
    char bytes[4096];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
    (void)events;
    if (n <= 0) {
        c->over = n == 0 || (errno != EINTR && errno != EAGAIN);
        return;
    }
    const char *from = bytes, *cancel = memrchr(bytes, CTRL_C, (size_t)n);
    if (cancel && talk_is_busy(c->talk)) {
        buf_reset(&c->keys);
        from = cancel + 1;
        stop_answer(c);
    }
    buf_add(&c->keys, from, (size_t)(bytes + n - from));
    take_keys(c);
}

static void got_signal(void *ctx, int number)
{
    struct chat *c = ctx;
    if (number == SIGWINCH) {
        c->look = show_look_of(STDOUT_FILENO);
        if (!talk_is_busy(c->talk))
            redraw_line(c);
    } else if (number != SIGINT) {
        c->over = true;
        c->code = 128 + number;
    } else if (talk_is_busy(c->talk)) {
        stop_answer(c);
    }
}

/* ---- life ---- */

static bool is_over(void *ctx)
{
    return ((struct chat *)ctx)->over;
}

static void open_talk(struct chat *c, void (*ended)(void *ctx, const struct error *err, bool cut))
{
    const struct chat_options *o = c->options;
    c->look = show_look_of(STDOUT_FILENO);
    c->pipe = !isatty(STDOUT_FILENO);
    c->http = http_client_new(o->loop, &(struct http_client_options){ 0 });
    c->talk = talk_new(&(struct talk_options){
        .http = c->http,
        .url = o->url,
        .key = o->key,
        .model = o->model,
        .system = o->system,
        .tokens_max = o->tokens_max,
        .piece = show_piece,
        .ended = ended,
        .ctx = c,
    });
}

static void close_talk(struct chat *c)
{
    talk_free(c->talk);
    http_client_free(c->http);
}

int chat_on_terminal(const struct chat_options *options)
{
    struct chat c = { .options = options, .keys = BUF_INIT(KEYS_BYTES_MAX) };
    c.flags_before = fcntl(STDIN_FILENO, F_GETFL);
    if (c.flags_before < 0 || tcgetattr(STDIN_FILENO, &c.before) != 0)
        return CLI_FAILED;
    open_talk(&c, tell_ended);
    c.line = line_new(PROMPT);
    read_history(&c);
    for (size_t i = 0; i < lengthof(signal_numbers); i++)
        c.signals[i] = loop_signal_new(options->loop, signal_numbers[i], got_signal, &c);
    c.watch = loop_watch_new(options->loop, STDIN_FILENO, keys_came, &c);
    loop_watch_set(c.watch, LOOP_READ);
    put_line(&c,
        "Chat with %s. Ctrl-C ends an answer, Ctrl-D the chat; /help says more.",
        options->model);
    take_terminal(&c);
    begin_line(&c);
    while (!c.over)
        loop_run_until(options->loop, is_over, &c, INT32_MAX);
    if (talk_is_busy(c.talk))
        end_words(&c);
    give_terminal_back(&c);
    loop_watch_free(c.watch);
    for (size_t i = 0; i < lengthof(signal_numbers); i++)
        loop_signal_free(c.signals[i]);
    line_free(c.line);
    buf_done(&c.keys);
    close_talk(&c);
    return c.code;
}

static void once_ended(void *ctx, const struct error *err, bool cut)
{
    struct chat *c = ctx;
    (void)cut;
    end_words(c);
    c->code = err ? cli_fail(c->options->cli, err) : CLI_OK;
    c->over = true;
}

int chat_once(const struct chat_options *options, const char *question)
{
    struct chat c = { .options = options, .code = CLI_FAILED };
    open_talk(&c, once_ended);
    talk_ask(c.talk, question);
    while (!c.over)
        loop_run_until(options->loop, is_over, &c, INT32_MAX);
    close_talk(&c);
    return c.code;
}

/* ---- the command line ---- */

static const char *read_input(struct cli *cli, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_INIT(QUESTION_BYTES_MAX);
    char bytes[65536];
    ssize_t n;
    if (isatty(STDIN_FILENO))
        fprintf(stderr, "Type the question, then Ctrl-D on an empty line:\n");
    while ((n = read(STDIN_FILENO, bytes, sizeof(bytes))) != 0)
        if (n > 0)
            buf_add(&text, bytes, (size_t)n);
        else if (errno != EINTR)
            break;
    if (buf_overflowed(&text)) {
        fail(err, ERR_TOO_LARGE, "the question on standard input is longer than 16 MiB");
        return NULL;
    }
    const char *question = str_dup(&cli->arena, str_trim(buf_str(&text)));
    if (*question)
        return question;
    fail(err, ERR_INVALID, "there is no question: give it as an argument or on standard input");
    return NULL;
}

const char *chat_question(struct cli *cli, size_t first, struct error *err)
{
    const char *text = NULL;
    for (size_t i = first; i < cli->argument_count; i++)
        text = arena_printf(
            &cli->arena, "%s%s%s", text ? text : "", text ? " " : "", cli->arguments[i]);
    return text ? text : read_input(cli, err);
}

const struct cli_flag chat_flags[] = {
    { "system", 0, "TEXT", NULL, "Instructions for the model, before the first question." },
    { "max-tokens", 0, "N", NULL, "Maximum number of tokens in an answer." },
    { 0 },
};

bool chat_read_flags(struct cli *cli, struct chat_options *ret, struct error *err)
{
    const char *tokens = cli_text(cli, "max-tokens");
    ret->cli = cli;
    ret->system = cli_text(cli, "system");
    if (tokens && (!str_to_int(str_of(tokens), &ret->tokens_max) || ret->tokens_max < 1))
        return fail(err, ERR_INVALID, "--max-tokens is a number above 0, not %s", tokens);
    return true;
}
