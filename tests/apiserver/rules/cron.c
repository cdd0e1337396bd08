#include "apiserver/rules/cron.h"
#include "tests/test.h"

TEST(cron_takes_schedules)
{
    static const char *const good[] = {
        "* * * * *", "*/5 1-3 ? JAN mon-FRI", "0,30 0 1 1 0", "@hourly", "1-10/2 * * * *"
    };
    for (size_t i = 0; i < lengthof(good); i++)
        check(cron_check(good[i], NULL));
}

TEST(cron_says_what_is_wrong)
{
    struct error err;
    check_fails(cron_check("x", &err), err, "expected exactly 5 fields, found 1: [x]");
    check_fails(cron_check("61 * * * *", &err), err, "end of range (61) above maximum (59): 61");
    check_fails(cron_check("* * 0 * *", &err), err, "beginning of range (0) below minimum (1): 0");
    check_fails(cron_check("5-1 * * * *", &err), err, "beyond end of range");
    check_fails(cron_check("*/0 * * * *", &err), err, "step of range should be a positive number");
    check_fails(cron_check("@never", &err), err, "unrecognized descriptor: @never");
}
