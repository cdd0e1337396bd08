#include "apiserver/controllers/expiry.h"

#include "base/time.h"
#include "tests/apiserver/desk.h"

#define EVENTS "/api/v1/namespaces/default/events"
#define MINUTE_MS 60000

static int64_t count(struct desk *d)
{
    return json_get(desk_do(d, "GET", EVENTS, NULL), "items").count;
}

TEST(events_go_an_hour_after_they_last_said_something)
{
    struct desk d;
    desk_init_builtin(&d, (struct apiserver_options){ .allow_all = true });
    desk_do(&d,
        "POST",
        EVENTS,
        "{'metadata':{'name':'once'},'involvedObject':{'namespace':'default'}}");
    desk_do(&d,
        "POST",
        EVENTS,
        "{'metadata':{'name':'again'},'involvedObject':{'namespace':'default'}}");
    desk_advance(&d, 50 * MINUTE_MS);
    const char *now = time_format(test_arena(), env_wall_ms(&d.env));
    desk_ask_as(&d,
        "PATCH",
        EVENTS "/again",
        "application/merge-patch+json",
        NULL,
        arena_printf(test_arena(), "{'lastTimestamp':'%s'}", now));
    check_int(count(&d), 2);
    desk_advance(&d, 21 * MINUTE_MS);
    check_int(count(&d), 1);
    desk_advance(&d, 60 * MINUTE_MS);
    check_int(count(&d), 0);
    desk_done(&d);
}
