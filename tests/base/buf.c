#include "base/buf.h"

#include <stdio.h>

#include "tests/test.h"

TEST(buf_adds_numbers_as_printf_does)
{
    static const int64_t numbers[] = { 0, 7, 10, -1, 1234567890123, INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < lengthof(numbers); i++) {
        cleanup(buf_done) struct buf b = BUF_INIT(64);
        char wanted[32];
        snprintf(wanted, sizeof(wanted), "%lld", (long long)numbers[i]);
        buf_add_number(&b, numbers[i]);
        check_text(buf_text(&b), wanted);
    }
}

TEST(buf_reserve_neither_fails_nor_hides_the_limit)
{
    cleanup(buf_done) struct buf b = BUF_INIT(10);
    buf_reserve(&b, 100);
    check(!buf_overflowed(&b));
    buf_add_text(&b, "0123456789");
    check(!buf_overflowed(&b));
    buf_add_char(&b, 'x');
    check(buf_overflowed(&b));
    check_text(buf_text(&b), "0123456789");
}
