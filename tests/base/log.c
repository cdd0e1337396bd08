#include "base/log.h"
#include "base/buf.h"
#include "tests/test.h"

#include <fcntl.h>
#include <unistd.h>

#define AT ((int64_t)1794762000000)

static const char *render(enum log_format as, const struct log_field *fields, const char *message)
{
    cleanup(buf_done) struct buf b = BUF_INIT(LOG_LINE_BYTES_MAX);
    log_render(&b, as, LOG_LEVEL_INFO, AT, fields, message);
    check(!buf_overflowed(&b));
    return str_dup(test_arena(), buf_str(&b));
}

TEST(a_line_for_people)
{
    check_text(render(LOG_FORMAT_TEXT, NULL, "ready"), "2026-11-15T17:00:00Z info  ready\n");
    check_text(render(LOG_FORMAT_TEXT,
                   LOG_FIELDS({ "object", "default/llama" },
                       { "absent", NULL },
                       { "reason", "not \"there\"" },
                       { "empty", "" }),
                   "waits"),
        "2026-11-15T17:00:00Z info  waits object=default/llama reason=\"not \\\"there\\\"\" "
        "empty=\"\"\n");
}

TEST(a_line_for_machines)
{
    check_text(render(LOG_FORMAT_JSON, LOG_FIELDS({ "object", "a\"b" }), "say \"hi\"\n"),
        "{\"time\":\"2026-11-15T17:00:00Z\",\"level\":\"info\",\"message\":\"say "
        "\\\"hi\\\"\\n\",\"object\":\"a\\\"b\"}\n");
}

TEST(nobody_can_forge_a_line)
{
    check_text(render(LOG_FORMAT_TEXT,
                   NULL,
                   "a\n2026 error b\x1b[31m\x9b\xc2\x85\u202e"
                   "c\xff\u00e4"),
        "2026-11-15T17:00:00Z info  a\\n2026 error b\\x1b[31m\\x9b\\u0085\\u202ec\\xff\u00e4\n");
    check_text(render(LOG_FORMAT_TEXT, LOG_FIELDS({ "k", "a b=c\n" }), "m"),
        "2026-11-15T17:00:00Z info  m k=\"a b=c\\n\"\n");
    const char *line = render(LOG_FORMAT_JSON, LOG_FIELDS({ "k", "\xff\x01" }), "\xc3(\u2028\x7f");
    struct json v;
    check(json_parse(test_arena(), str_of(line), &v, NULL));
    check_text(json_get_text(v, "message"), "\ufffd(\u2028\x7f");
    check_text(json_get_text(v, "k"), "\ufffd\x01");
}

TEST(long_lines_are_cut_and_stay_whole)
{
    char huge[20000];
    for (int shift = 0; shift < 4; shift++) {
        for (size_t i = 0; i < sizeof(huge) - 1; i++)
            huge[i] = shift == 3 ? '\n' : "\u20ac"[(i + (size_t)shift) % 3];
        huge[sizeof(huge) - 1] = '\0';
        struct log_field fields[12] = { 0 };
        for (int i = 0; i < 11; i++)
            fields[i] = (struct log_field){ "key", huge };
        struct json v;
        const char *line = render(LOG_FORMAT_JSON, fields, huge);
        check(strlen(line) <= LOG_LINE_BYTES_MAX);
        check(json_parse(test_arena(), str_of(line), &v, NULL));
        check(text_ends(json_get_text(v, "message"), "…"));
        line = render(LOG_FORMAT_TEXT, fields, huge);
        check(strlen(line) <= LOG_LINE_BYTES_MAX);
        check(strchr(line, '\n') == line + strlen(line) - 1);
    }
}

TEST(levels_and_formats_have_names)
{
    enum log_level level;
    enum log_format format;
    check(log_level_parse("debug", &level) && level == LOG_LEVEL_DEBUG);
    check(log_level_parse("error", &level) && level == LOG_LEVEL_ERROR);
    check(!log_level_parse("loud", &level) && !log_level_parse(NULL, &level));
    check(log_format_parse("json", &format) && format == LOG_FORMAT_JSON);
    check(!log_format_parse("xml", &format));
}

TEST(what_is_logged_reaches_standard_error_from_its_level_on)
{
    int pipes[2], kept = dup(STDERR_FILENO);
    check(kept >= 0 && pipe2(pipes, O_CLOEXEC) == 0);
    dup2(pipes[1], STDERR_FILENO);
    log_setup(LOG_FORMAT_TEXT, LOG_LEVEL_WARN);
    log_info("hidden %d", 1);
    log_warn("seen %d", 2);
    log_with(LOG_LEVEL_ERROR, LOG_FIELDS({ "object", "x" }), "%s", "too");
    log_setup(LOG_FORMAT_TEXT, LOG_LEVEL_INFO);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(pipes[1]);
    char got[400];
    ssize_t count = read(pipes[0], got, sizeof(got) - 1);
    close(pipes[0]);
    check(count > 0);
    got[count] = '\0';
    check(!strstr(got, "hidden"));
    check(strstr(got, "Z warn  seen 2\n"));
    check(strstr(got, "Z error too object=x\n"));
}
