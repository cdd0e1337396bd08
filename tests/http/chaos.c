#include "tests/http/rig.h"

#include <stdlib.h>

/* Many calls at once, paused, resumed, cancelled and cut at random: every one of them ends exactly
 * once or was cancelled, and both sides come to rest with nothing left. The sanitizer build sees
 * what is used after its end. */

#define CHAOS_CALLS 400
#define CHAOS_AT_ONCE 24

struct chaos {
    struct rig r;
    uint64_t state;
    struct chaotic *running[CHAOS_AT_ONCE];
    int started, ended, cancelled, ok;
};

struct chaotic {
    struct chaos *chaos;
    struct http_call *call;
    size_t place;
    bool streamed, begun, finished, paused;
    size_t to_send;
};

static uint32_t roll(struct chaos *c, uint32_t below)
{
    c->state = c->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(c->state >> 33) % below;
}

static void forget(struct chaotic *x)
{
    x->chaos->running[x->place] = NULL;
    free(x);
}

/* What may happen at any time; false if the call is gone after it. */
static bool disturb(struct chaotic *x)
{
    switch (roll(x->chaos, 12)) {
    case 0:
        x->chaos->cancelled++;
        http_call_cancel(x->call);
        forget(x);
        return false;
    case 1:
    case 2:
        x->paused = true;
        http_call_pause(x->call);
        return true;
    case 3:
    case 4:
        x->paused = false;
        http_call_resume(x->call);
        return true;
    default:
        return true;
    }
}

static void chaos_head(void *ctx, const struct http_response *response)
{
    (void)response;
    disturb(ctx);
}

static void chaos_data(void *ctx, struct str bytes)
{
    check(bytes.len > 0);
    disturb(ctx);
}

static void chaos_end(void *ctx, const struct error *err, bool sent)
{
    struct chaotic *x = ctx;
    (void)sent;
    x->chaos->ended++;
    x->chaos->ok += !err;
    forget(x);
}

static void chaos_more(void *ctx)
{
    struct chaotic *x = ctx;
    static const char bytes[5000];
    x->begun = true;
    if (x->finished)
        return;
    while (x->to_send) {
        size_t count = 1 + roll(x->chaos, sizeof(bytes) - 1);
        count = count < x->to_send ? count : x->to_send;
        x->to_send -= count;
        if (!http_call_write(x->call, (struct str){ bytes, count }))
            break;
    }
    if (!disturb(x))
        return;
    if (x->to_send == 0) {
        x->finished = true;
        http_call_finish(x->call);
    }
}

static const struct http_call_handlers chaos_handlers = {
    .head = chaos_head,
    .data = chaos_data,
    .end = chaos_end,
    .more = chaos_more,
};

static void start(struct chaos *c, size_t place)
{
    static const char *const paths[] = { "/hello",
        "/echo",
        "/sink",
        "/big?70000",
        "/chunks?300000",
        "/half",
        "/abort",
        "/hang",
        "/empty",
        "/nowhere" };
    struct chaotic *x = mem_new_of(struct chaotic);
    x->chaos = c;
    x->place = place;
    x->streamed = roll(c, 2);
    x->to_send = roll(c, 100000);
    struct http_request request = rig_request(&c->r, roll(c, 4) ? "POST" : "GET", "");
    request.path = paths[roll(c, lengthof(paths))];
    request.body_streamed = x->streamed;
    request.timeouts.first_byte_ms = 50 + roll(c, 100);
    request.timeouts.idle_ms = 50 + roll(c, 100);
    request.timeouts.total_ms = roll(c, 3) ? 2000 : 1 + roll(c, 60);
    request.gunzip = roll(c, 2);
    c->running[place] = x;
    c->started++;
    x->call = http_call_open(c->r.client, &request, &chaos_handlers, x);
}

static bool is_quiet(const struct chaos *c)
{
    for (size_t i = 0; i < CHAOS_AT_ONCE; i++)
        if (c->running[i])
            return false;
    return true;
}

static void chaos(int flags, uint64_t seed)
{
    struct chaos c = { .state = seed };
    rig_open_with(&c.r,
        flags,
        &(struct http_server_options){ .streams_max = 10, .stall_ms = 300 },
        &(struct http_client_options){ .connections_max = 6, .window_bytes = 65535 });
    while (c.started < CHAOS_CALLS) {
        for (size_t i = 0; i < CHAOS_AT_ONCE && c.started < CHAOS_CALLS; i++) {
            if (!c.running[i])
                start(&c, i);
            else if (roll(&c, 4) == 0)
                disturb(c.running[i]);
        }
        if (c.r.last && !c.r.last_gone && roll(&c, 20) == 0)
            http_exchange_abort(c.r.last);
        if (roll(&c, 40) == 0)
            http_client_retire(c.r.client);
        rig_turn(c.r.loop);
    }
    /* Everything has a limit: it all comes to an end by itself. */
    await(&c.r, is_quiet(&c));
    check_int(c.ended + c.cancelled, CHAOS_CALLS);
    check(c.ok > 0 && c.cancelled > 0);
    check_int((int64_t)http_client_stats(c.r.client).calls, 0);
    await(&c.r, http_server_exchanges(c.r.server) == 0);
    http_client_retire(c.r.client);
    await(&c.r, http_client_stats(c.r.client).connections == 0);
    await(&c.r, http_server_connections(c.r.server) == 0);
    rig_close(&c.r);
}

TEST(chaos_ends_in_order)
{
    static const int each[] = { RIG_H1, RIG_H2, RIG_H1 | RIG_TLS, RIG_H2 | RIG_TLS };
    const char *given = getenv("CHAOS_SEED");
    int64_t seed = 1;
    if (given)
        check(str_to_int(str_of(given), &seed));
    for (size_t i = 0; i < lengthof(each); i++)
        chaos(each[i], (uint64_t)seed + i);
}
