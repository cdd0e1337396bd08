#pragma once

/* The test harness: a test registers itself, a failed check prints both values and ends its test.
 *
 *   TEST(arena_survives_its_limit) { check(…); check_int(got, want); check_text(got, want); }
 *
 * Run all: build/release/tests; some: build/release/tests PART-OF-NAME… */

#include "base/json.h"
#include "base/base.h"

struct test {
    const char *name;
    const char *file;
    void (*run)(void);
    struct test *next;
};

void test_register(struct test *t);

#define TEST(name_)                                                                                \
    static void test_##name_(void);                                                                \
    __attribute__((constructor)) static void test_register_##name_(void)                           \
    {                                                                                              \
        static struct test t = { .name = #name_, .file = __FILE__, .run = test_##name_ };          \
        test_register(&t);                                                                         \
    }                                                                                              \
    static void test_##name_(void)

_Noreturn void test_fail(const char *file, int line, const char *format, ...) printf_like(3, 4);

#define check(expression)                                                                          \
    ((expression) ? (void)0 : test_fail(__FILE__, __LINE__, "not true: %s", #expression))
#define check_int(got, want) test_check_int((got), (want), #got, __FILE__, __LINE__)
#define check_text(got, want) test_check_text((got), (want), #got, __FILE__, __LINE__)
/* Compares with JSON text; single quotes are fine: check_json(v, "{'a': 1}"). */
#define check_json(got, want) test_check_json((got), (want), #got, __FILE__, __LINE__)
/* The call fails, and its message contains this. */
#define check_fails(call, err, part)                                                               \
    do {                                                                                           \
        check(!(call));                                                                            \
        test_check_part((err).text, (part), #call, __FILE__, __LINE__);                            \
    } while (0)

void test_check_int(int64_t got, int64_t want, const char *what, const char *file, int line);
void test_check_text(
    const char *got, const char *want, const char *what, const char *file, int line);
void test_check_json(
    struct json got, const char *want, const char *what, const char *file, int line);
void test_check_part(
    const char *got, const char *part, const char *what, const char *file, int line);

/* An arena that lives until the test ends. */
struct arena *test_arena(void);
/* JSON text with single quotes allowed, from the test's arena. */
struct json test_json(const char *text);
