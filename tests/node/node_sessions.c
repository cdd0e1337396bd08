#include "kube/pod_session.h"

#include <signal.h>

#include "tests/node/place.h"

/* A session as somebody sees who asked for it. */
struct guest {
    const struct pod_session_source *source;
    struct pod_session *session;
    char out[2][256]; /* the beginning of stdout and stderr */
    size_t bytes[2];
    bool slow; /* takes a piece at a time */
    bool waits, room, ended;
    int code;
};

static bool guest_output(void *ctx, enum pod_session_stream stream, struct str bytes)
{
    struct guest *g = ctx;
    int i = stream == POD_STDERR;
    check(!g->waits && !g->ended && bytes.len);
    for (size_t at = 0; at < bytes.len; at++, g->bytes[i]++)
        if (g->bytes[i] < sizeof(g->out[i]) - 1)
            g->out[i][g->bytes[i]] = bytes.ptr[at];
    g->waits = g->slow;
    return !g->slow;
}

static void guest_room(void *ctx)
{
    ((struct guest *)ctx)->room = true;
}

static void guest_ended(void *ctx, int code)
{
    struct guest *g = ctx;
    check(!g->ended);
    g->ended = true;
    g->code = code;
}

/* A request of which the test says what it wants; into the container main. */
static bool guest_ask(struct place *p, struct guest *g, const char *pod,
    struct pod_session_request request, struct error *err)
{
    static const struct pod_session_handlers handlers = { guest_output, guest_room, guest_ended };
    *g = (struct guest){ .source = node_sessions(p->node), .slow = g->slow };
    request.ns = "default";
    request.pod = pod;
    request.uid = json_get_text(pod_now(p, pod), "metadata.uid");
    request.container = "main";
    g->session = g->source->open(g->source->self, &request, &handlers, g, err);
    return g->session;
}

#define SHELL(script) ((const char *const[]){ "sh", "-c", (script), NULL })

static void guest_come(struct place *p, struct guest *g, struct pod_session_request request)
{
    struct error err;
    if (!guest_ask(p, g, "box", request, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
}

static void guest_go(struct guest *g)
{
    g->source->close(g->source->self, g->session);
}

static void open_box(struct place *p, const char *script)
{
    place_open(p);
    run_pod(p, "box", script, ", 'env': [{'name': 'GREETING', 'value': 'ahoy'}]");
    await(p, is_ready(p, "box"));
}

#define WAIT "trap exit TERM; while :; do sleep 0.05; done"

TEST(commands_run_as_their_container_does)
{
    struct place p;
    struct guest g = { 0 };
    open_box(&p, "cd $HOME; touch mine; " WAIT);
    guest_come(&p,
        &g,
        (struct pod_session_request){
            .command = SHELL(
                "cat; until [ -e mine ]; do sleep 0.01; done; ls; echo $GREETING >&2; exit 4"),
            .in = true,
            .out = true,
            .err = true });
    check(g.source->write(g.source->self, g.session, STR("said\n")));
    g.source->end_input(g.source->self, g.session);
    await(&p, g.ended);
    check_text(g.out[0], "said\nmine\n");
    check_text(g.out[1], "ahoy\n");
    check_int(g.code, 4);
    guest_go(&g);
    /* Nobody wants to hear it, and nobody says anything. */
    guest_come(&p,
        &g,
        (struct pod_session_request){
            .command = SHELL("echo lost; cat; kill -9 $$"), .err = true });
    await(&p, g.ended);
    check_int((int64_t)(g.bytes[0] + g.bytes[1]), 0);
    check_int(g.code, 137);
    guest_go(&g);
    place_close(&p);
}

TEST(commands_have_a_terminal_if_they_want_one)
{
    struct place p;
    struct guest g = { 0 };
    open_box(&p, WAIT);
    guest_come(&p,
        &g,
        (struct pod_session_request){
            .command = SHELL("read a; tty -s && stty size; echo $TERM $a >/dev/tty; exit 3"),
            .in = true,
            .out = true,
            .terminal = true });
    g.source->resize(g.source->self, g.session, 132, 43);
    g.source->write(g.source->self, g.session, STR("typed\n"));
    await(&p, g.ended);
    check_text(g.out[0], "typed\r\n43 132\r\nxterm typed\r\n");
    check_int(g.code, 3);
    guest_go(&g);
    place_close(&p);
}

TEST(commands_are_held_back_both_ways)
{
    struct place p;
    struct guest g = { .slow = true };
    static char zeros[100 << 10];
    open_box(&p, WAIT);
    guest_come(&p,
        &g,
        (struct pod_session_request){
            .command = SHELL("head -c 1000000 /dev/zero; read a; cat | wc -c >&2"),
            .in = true,
            .out = true,
            .err = true });
    while (g.bytes[0] < 1000000) {
        await(&p, g.waits);
        g.waits = false;
        g.source->resume(g.source->self, g.session);
    }
    /* It does not read yet: a pipe's worth is gone, the rest waits. */
    g.slow = false;
    check(!g.source->write(g.source->self, g.session, (struct str){ zeros, sizeof(zeros) }) ||
          !g.source->write(g.source->self, g.session, (struct str){ zeros, sizeof(zeros) }));
    check(!g.room);
    g.source->write(g.source->self, g.session, STR("\n12345"));
    await(&p, g.room);
    g.source->end_input(g.source->self, g.session);
    await(&p, g.ended);
    check_text(g.out[1], "5\n");
    guest_go(&g);
    place_close(&p);
}

TEST(commands_end_with_their_client_and_with_their_container)
{
    struct place p;
    struct guest one = { 0 }, two = { 0 };
    struct pod_session_request request = { .command = SHELL("echo $$; sleep 1000"), .out = true };
    open_box(&p, WAIT);
    guest_come(&p, &one, request);
    guest_come(&p, &two, request);
    await(&p, one.bytes[0] && two.bytes[0]);
    int64_t number;
    check(str_to_int(str_trim(str_of(one.out[0])), &number) && number > 1);
    pid_t first = (pid_t)number;
    check(kill(first, 0) == 0);
    guest_go(&one);
    await(&p, kill(first, 0) != 0);
    check(!two.ended);
    harbor_do(&p.harbor, "DELETE", PODS "/box?gracePeriodSeconds=1", NULL);
    await(&p, two.ended);
    check_int(two.code, 137);
    guest_go(&two);
    place_close(&p);
}

TEST(commands_that_cannot_be_are_refused)
{
    struct place p;
    struct guest g = { 0 };
    struct error err;
    open_box(&p, WAIT);
    struct pod_session_request request = {
        .command = (const char *const[]){ "no-such-program", NULL }, .out = true
    };
    check(!guest_ask(&p, &g, "box", request, &err));
    check_int(err.code, ERR_INVALID);
    check_text(err.text, "no-such-program: No such file or directory");
    run_pod_with(&p, "short", "exit 0", "", ", 'restartPolicy': 'Never'");
    await(&p, text_eq(json_get_text(pod_now(&p, "short"), "status.phase"), "Succeeded"));
    check(!guest_ask(&p, &g, "short", request, &err));
    check_int(err.code, ERR_NOT_FOUND);
    check_text(err.text, "container not found (\"main\")");
    request.uid = "gone";
    check(!g.source->address(g.source->self, &request, &err));
    check_text(err.text, "pod does not exist");
    place_close(&p);
}

TEST(who_attaches_gets_what_is_said_from_now_on)
{
    struct place p;
    struct guest g = { 0 }, touch = { 0 };
    open_box(&p,
        "echo before; cd $HOME; while test ! -e go; do sleep 0.05; done; "
        "echo said; echo cried >&2; sleep 0.2; exec sleep 1000");
    await(&p, json_get_bool(pod_now(&p, "box"), "status.containerStatuses.0.started", false));
    guest_come(&p,
        &g,
        (struct pod_session_request){ .kind = POD_ATTACH, .in = true, .out = true, .err = true });
    guest_come(
        &p, &touch, (struct pod_session_request){ .command = SHELL("touch go"), .out = true });
    await(&p, touch.ended && g.bytes[0] && g.bytes[1]);
    check(strstr(g.out[0], "said\n"));
    check_text(g.out[1], "cried\n");
    guest_go(&touch);
    harbor_do(&p.harbor, "DELETE", PODS "/box?gracePeriodSeconds=1", NULL);
    await(&p, g.ended);
    check_int(g.code, 0);
    guest_go(&g);
    place_close(&p);
}
