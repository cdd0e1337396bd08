#include "tests/test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct test *tests;
static jmp_buf failed;
static struct arena arena = ARENA_INIT;

void test_register(struct test *t)
{
    /* Constructors run in link order; keeping the list sorted makes the order ours. */
    struct test **at = &tests;
    while (*at && (strcmp((*at)->file, t->file) < 0))
        at = &(*at)->next;
    while (*at && strcmp((*at)->file, t->file) == 0)
        at = &(*at)->next;
    t->next = *at;
    *at = t;
}

void test_fail(const char *file, int line, const char *format, ...)
{
    printf("%s:%d: ", file, line);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    longjmp(failed, 1);
}

void test_check_int(int64_t got, int64_t want, const char *what, const char *file, int line)
{
    if (got != want)
        test_fail(file, line, "%s is %lld, not %lld", what, (long long)got, (long long)want);
}

void test_check_text(
    const char *got, const char *want, const char *what, const char *file, int line)
{
    if (!text_eq(got, want))
        test_fail(file,
            line,
            "%s is\n    %s\nnot\n    %s",
            what,
            got ? got : "(null)",
            want ? want : "(null)");
}

void test_check_part(
    const char *got, const char *part, const char *what, const char *file, int line)
{
    if (!strstr(got, part))
        test_fail(file, line, "%s says\n    %s\nwithout\n    %s", what, got, part);
}

struct arena *test_arena(void)
{
    return &arena;
}

struct json test_json(const char *text)
{
    char *copy = arena_strdup(&arena, text);
    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    struct json v;
    struct error err;
    if (!json_parse(&arena, str_of(copy), &v, &err))
        test_fail(__FILE__, __LINE__, "%s: %s", err.text, text);
    return v;
}

void test_check_json(
    struct json got, const char *want, const char *what, const char *file, int line)
{
    struct json wanted = test_json(want);
    if (!json_equal(got, wanted))
        test_fail(file,
            line,
            "%s is\n    %s\nnot\n    %s",
            what,
            json_to_text(&arena, got),
            json_to_text(&arena, wanted));
}

static bool selected(const struct test *t, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strstr(t->name, argv[i]) || strstr(t->file, argv[i]))
            return true;
    return argc <= 1;
}

int main(int argc, char **argv)
{
    volatile int passed = 0, bad = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (struct test *volatile t = tests; t; t = t->next) {
        if (!selected(t, argc, argv))
            continue;
        if (setjmp(failed) == 0) {
            t->run();
            passed++;
        } else {
            printf("FAILED %s\n", t->name);
            bad++;
        }
        arena_done(&arena);
    }
    printf("%d passed, %d failed\n", passed, bad);
    return bad || !passed;
}
