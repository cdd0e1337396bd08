#include "http/loop.h"

#include <signal.h>
#include <unistd.h>

#include "tests/http/rig.h"

struct ticks {
    struct loop *loop;
    struct timer first, second;
    char order[16];
    int count;
    int got_signal;
    int worked;
};

static void note(struct ticks *t, char c)
{
    t->order[t->count++] = c;
}

static void first(void *ctx)
{
    note(ctx, '1');
}

static void second(void *ctx)
{
    struct ticks *t = ctx;
    note(t, '2');
    loop_stop(t->loop);
}

TEST(loop_fires_timers_in_order_of_time)
{
    struct ticks t = { .loop = loop_new() };
    const struct env *env = loop_env(t.loop);
    timer_init(&t.first, first, &t);
    timer_init(&t.second, second, &t);
    int64_t before = env_mono_ms(env);
    timer_set(env, &t.second, 30);
    timer_set(env, &t.first, 0);
    loop_run(t.loop);
    check_text(t.order, "12");
    check(env_mono_ms(env) - before >= 30);
    loop_free(t.loop);
}

static void set_again(void *ctx)
{
    struct ticks *t = ctx;
    note(t, 'd');
    timer_set(loop_env(t->loop), &t->first, 5);
}

static void nothing(void *ctx)
{
    (void)ctx;
}

/* libuv sees nothing alive then, and does not know our timers. */
TEST(loop_goes_on_for_a_timer_that_the_last_callback_set)
{
    struct ticks t = { .loop = loop_new() };
    timer_init(&t.first, first, &t);
    loop_work(t.loop, nothing, set_again, &t);
    loop_run(t.loop);
    check_text(t.order, "d1");
    loop_free(t.loop);
}

TEST(loop_with_nothing_to_do_ends)
{
    struct loop *loop = loop_new();
    loop_run(loop);
    loop_free(loop);
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

TEST(loop_run_until_gives_up_in_time)
{
    struct loop *loop = loop_new();
    int64_t before = env_mono_ms(loop_env(loop));
    check(!loop_run_until(loop, never, NULL, 40));
    int64_t took = env_mono_ms(loop_env(loop)) - before;
    check(took >= 40 && took < AWAIT_MAX_MS);
    loop_free(loop);
}

static void got_signal(void *ctx, int number)
{
    ((struct ticks *)ctx)->got_signal = number;
}

TEST(loop_tells_signals)
{
    struct ticks t = { .loop = loop_new() };
    struct loop_signal *s = loop_signal_new(t.loop, SIGUSR1, got_signal, &t);
    kill(getpid(), SIGUSR1);
    await(&t, t.got_signal);
    check_int(t.got_signal, SIGUSR1);
    loop_signal_free(s);
    loop_free(t.loop);
}

static void work(void *ctx)
{
    ((struct ticks *)ctx)->worked = (int)gettid();
}

static void work_done(void *ctx)
{
    note(ctx, 'd');
}

TEST(loop_works_on_another_thread)
{
    struct ticks t = { .loop = loop_new() };
    loop_work(t.loop, work, work_done, &t);
    await(&t, t.count == 1);
    check(t.worked && t.worked != (int)gettid());
    loop_free(t.loop);
}

static void readable(void *ctx, int events)
{
    struct ticks *t = ctx;
    check_int(events, LOOP_READ);
    note(t, 'r');
}

TEST(loop_watches_descriptors)
{
    struct ticks t = { .loop = loop_new() };
    int fds[2];
    check(pipe(fds) == 0);
    struct loop_watch *w = loop_watch_new(t.loop, fds[0], readable, &t);
    loop_watch_set(w, LOOP_READ);
    rig_turn_for(t.loop, 10);
    check_int(t.count, 0);
    check(write(fds[1], "x", 1) == 1);
    await(&t, t.count > 0);
    loop_watch_set(w, 0);
    int before = t.count;
    rig_turn_for(t.loop, 10);
    check_int(t.count, before);
    loop_watch_free(w);
    close(fds[0]);
    close(fds[1]);
    loop_free(t.loop);
}

/* A descriptor that is always ready is looked at five times in five gatherings at the earliest. */
TEST(loop_gathers_what_comes_meanwhile)
{
    struct ticks t = { .loop = loop_new() };
    int fds[2];
    check(pipe(fds) == 0 && write(fds[1], "x", 1) == 1);
    loop_gather(t.loop, LOOP_GATHER_MAX_MS);
    struct loop_watch *w = loop_watch_new(t.loop, fds[0], readable, &t);
    loop_watch_set(w, LOOP_READ);
    int64_t before = env_mono_ms(loop_env(t.loop));
    await(&t, t.count >= 6);
    check(env_mono_ms(loop_env(t.loop)) - before >= (int64_t)5 * (LOOP_GATHER_MAX_MS - 2));
    loop_watch_free(w);
    close(fds[0]);
    close(fds[1]);
    loop_free(t.loop);
}

TEST(env_is_the_real_world)
{
    struct loop *loop = loop_new();
    const struct env *env = loop_env(loop);
    check(env_wall_ms(env) > 1700000000000);
    check(env->random(env->ctx) != env->random(env->ctx));
    loop_free(loop);
}
