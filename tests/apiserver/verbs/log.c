#include "kube/pod_log.h"

#include <string.h>

#include "tests/apiserver/desk.h"

#define PODS "/api/v1/namespaces/default/pods"

/* The log of one container, of which more may come. */
struct paper {
    const char *text;
    size_t read, most;
    bool ended, open, missing;
    struct pod_log_request asked;
    void (*wake)(void *ctx);
    void *ctx;
};

static struct pod_log_stream *open_paper(void *self, const struct pod_log_request *request,
    void (*wake)(void *ctx), void *ctx, struct error *err)
{
    struct paper *p = self;
    p->asked = *request;
    p->wake = wake;
    p->ctx = ctx;
    if (p->missing) {
        fail(err, ERR_NOT_FOUND, "no such file");
        return NULL;
    }
    p->open = true;
    return (struct pod_log_stream *)p;
}

static size_t read_paper(void *self, struct pod_log_stream *s, char *to, size_t max, bool *ended)
{
    struct paper *p = self;
    check((void *)s == self);
    size_t left = strlen(p->text) - p->read;
    size_t bytes = left < max ? left : max;
    bytes = p->most && bytes > p->most ? p->most : bytes;
    memcpy(to, p->text + p->read, bytes);
    p->read += bytes;
    *ended = p->ended && p->read == strlen(p->text);
    return bytes;
}

static void close_paper(void *self, struct pod_log_stream *s)
{
    struct paper *p = self;
    check((void *)s == self && p->open);
    p->open = false;
}

static void begin(struct desk *d, struct pod_log_source *source, struct paper *p)
{
    *source = (struct pod_log_source){ open_paper, read_paper, close_paper, p };
    desk_init_builtin(d, (struct apiserver_options){ .logs = source });
}

static void make_pod(struct desk *d, const char *state)
{
    desk_do(d,
        "POST",
        PODS,
        "{'metadata':{'name':'p'},'spec':{'nodeName':'n','containers':[{'name':'c','image':'i'},"
        "{'name':'d','image':'i'}]}}");
    struct desk_answer got = desk_ask_as(d,
        "PATCH",
        PODS "/p/status",
        "application/merge-patch+json",
        NULL,
        arena_printf(test_arena(), "{'status':{'containerStatuses':[%s]}}", state));
    check_int(got.status, 200);
}

#define RUNNING                                                                                    \
    "{'name':'c','ready':true,'restartCount':0,'image':'i','imageID':'','state':{'running':{}}}"

TEST(a_log_goes_out_as_it_comes_and_waits_for_a_slow_client)
{
    struct desk d;
    struct pod_log_source source;
    struct paper p = { .text = "one\ntwo\n", .most = 4 };
    begin(&d, &source, &p);
    make_pod(&d, RUNNING);
    struct desk_stream *s = desk_open(&d,
        "GET",
        PODS "/p/log?container=c&follow=true&tailLines=7&timestamps=1",
        NULL,
        NULL,
        (struct str){ NULL, 0 });
    desk_settle(&d);
    check_int(s->status, 200);
    check_text(s->content_type, "text/plain");
    check_text(buf_text(&s->text), "one\ntwo\n");
    check(p.asked.follow && p.asked.timestamps && !p.asked.previous);
    check_int(p.asked.tail_lines, 7);
    check_int(p.asked.limit_bytes, -1);
    s->blocked = true;
    p.text = "one\ntwo\nthree\nfour\n";
    p.wake(p.ctx);
    desk_settle(&d);
    check_int((int64_t)p.read, 12);
    desk_settle(&d);
    check_int((int64_t)p.read, 12);
    s->blocked = false;
    p.ended = true;
    apiserver_resume(d.server, s->call);
    desk_settle(&d);
    check_text(buf_text(&s->text), "one\ntwo\nthree\nfour\n");
    check(!s->call && !p.open);
    desk_done(&d);
}

TEST(a_log_that_nobody_reads_any_more_is_closed)
{
    struct desk d;
    struct pod_log_source source;
    struct paper p = { .text = "one\n" };
    begin(&d, &source, &p);
    make_pod(&d, RUNNING);
    struct desk_stream *s = desk_open(
        &d, "GET", PODS "/p/log?container=c&follow=1", NULL, NULL, (struct str){ NULL, 0 });
    desk_settle(&d);
    check(p.open);
    desk_cancel(s);
    check(!p.open);
    desk_done(&d);
}

TEST(a_log_of_a_container_that_has_not_run_says_why)
{
    static const struct {
        const char *state, *query, *message;
    } cases[] = {
        { "", "?container=c", "container \"c\" in pod \"p\" is not available" },
        { "{'name':'c','state':{'waiting':{'reason':'ErrImagePull'}}}",
            "?container=c",
            "container \"c\" in pod \"p\" is waiting to start: image can't be pulled" },
        { "{'name':'c','state':{'waiting':{'reason':'ContainerCreating'}}}",
            "?container=c",
            "container \"c\" in pod \"p\" is waiting to start: ContainerCreating" },
        { RUNNING,
            "?container=c&previous=true",
            "previous terminated container \"c\" in pod \"p\" not found" },
        { RUNNING, "", "a container name must be specified for pod p, choose one of: [c d]" },
        { RUNNING, "?container=x", "container x is not valid for pod p" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct desk d;
        struct pod_log_source source;
        struct paper p = { .text = "" };
        begin(&d, &source, &p);
        make_pod(&d, cases[i].state);
        struct desk_answer got =
            desk_ask(&d, "GET", arena_printf(test_arena(), PODS "/p/log%s", cases[i].query), NULL);
        check_int(got.status, 400);
        check_text(json_get_text(got.body, "message"), cases[i].message);
        desk_done(&d);
    }
}

TEST(a_log_whose_file_is_not_there_yet_is_no_server_error)
{
    struct desk d;
    struct pod_log_source source;
    struct paper p = { .text = "", .missing = true };
    begin(&d, &source, &p);
    make_pod(&d, RUNNING);
    struct desk_answer got = desk_ask(&d, "GET", PODS "/p/log?container=c", NULL);
    check_int(got.status, 400);
    check_text(json_get_text(got.body, "message"),
        "container \"c\" in pod \"p\" is waiting to start - no logs yet");
    desk_done(&d);
}

TEST(without_a_source_a_log_is_that_of_a_kubelet_that_cannot_be_reached)
{
    struct desk d;
    desk_init_builtin(&d, (struct apiserver_options){ 0 });
    make_pod(&d, RUNNING);
    struct desk_answer got = desk_ask(&d, "GET", PODS "/p/log?container=c", NULL);
    check_int(got.status, 404);
    check_text(json_get_text(got.body, "message"), "pods \"n\" not found");
    desk_do(&d, "POST", "/api/v1/nodes", "{'metadata':{'name':'n'}}");
    got = desk_ask(&d, "GET", PODS "/p/log?container=c", NULL);
    check_int(got.status, 500);
    desk_done(&d);
}
