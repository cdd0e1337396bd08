/* Records to a collector on raw sockets. */

#include "router/audit_sink.h"

#include <unistd.h>

#include "tests/http/rig.h"

struct place {
    struct loop *loop;
    struct audit_sink *otlp;
    int listener;
};

static void place_open(struct place *p)
{
    uint16_t port;
    struct error err;
    *p = (struct place){ .loop = loop_new(), .listener = raw_listen(&port) };
    p->otlp = audit_sink_new(
        p->loop, arena_printf(test_arena(), "http://127.0.0.1:%u/v1/logs", port), &err);
    check(p->otlp);
}

static void place_close(struct place *p)
{
    audit_sink_free(p->otlp);
    close(p->listener);
    loop_free(p->loop);
}

TEST(audit_sink_sends_records_together_and_again_after_a_failure)
{
    struct place p;
    place_open(&p);
    audit_sink_add(p.otlp, "router.dispatch", STR(",\"model\":\"m\",\"status\":200"));
    audit_sink_add(p.otlp, "router.dispatch", STR(",\"model\":\"n\\u0001\",\"status\":500"));
    audit_sink_flush(p.otlp);
    for (int i = 0; i < 2; i++) { /* busy at first */
        int fd = raw_accept(p.loop, p.listener);
        const char *got = raw_read_until(p.loop, fd, "]}]}]}");
        test_check_part(got, "POST /v1/logs HTTP/1.1", "got", __FILE__, __LINE__);
        test_check_part(got, "{\"intValue\":\"200\"}", "got", __FILE__, __LINE__);
        test_check_part(got, "{\"stringValue\":\"n\\u0001\"}", "got", __FILE__, __LINE__);
        const char *json = strstr(got, "{\"resourceLogs\"");
        struct json v;
        struct error err;
        check(json_parse(test_arena(), str_of(json), &v, &err));
        check_int(json_get(v, "resourceLogs.0.scopeLogs.0.logRecords").count, 2);
        raw_send(fd,
            str_of(arena_printf(test_arena(),
                "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                i ? "200 OK" : "503 X")));
        check(raw_closed(p.loop, fd));
        close(fd);
    }
    await(&p, audit_sink_idle(p.otlp));
    check_int((int64_t)audit_sink_dropped(p.otlp), 0);
    place_close(&p);
}

TEST(audit_sink_drops_beyond_its_limit_and_refuses_what_is_no_url)
{
    struct place p;
    struct error err;
    place_open(&p);
    size_t size = (size_t)1 << 20;
    char *big = arena_alloc(test_arena(), size + 16);
    memcpy(big, ",\"k\":\"", 6);
    memset(big + 6, 'x', size);
    memcpy(big + 6 + size, "\"", 1);
    for (int i = 0; i < 10; i++)
        audit_sink_add(p.otlp, "m", (struct str){ big, size + 7 });
    check_int((int64_t)audit_sink_dropped(p.otlp), 3);
    check_fails(audit_sink_new(p.loop, "ftp://x/", &err), err, "is no http");
    place_close(&p);
}
