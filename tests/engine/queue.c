#include "engine/queue.h"
#include "tests/test.h"
#include "tests/kube/world.h"

static void count(void *ctx)
{
    ++*(int *)ctx;
}

TEST(a_key_runs_once_at_a_time_and_again_when_woken_meanwhile)
{
    struct world w;
    world_init(&w);
    int told = 0;
    struct queue q;
    struct queue_item one, two;
    queue_init(&q, &w.env, count, &told);
    queue_item_init(&q, &one);
    queue_item_init(&q, &two);
    queue_wake(&one);
    queue_wake(&two);
    queue_wake(&one);
    check_int(q.depth, 2);
    check_int(told, 2);
    check(queue_take(&q) == &one);
    queue_wake(&one);
    check(queue_take(&q) == &two);
    check(queue_take(&q) == NULL);
    queue_done(&two);
    queue_done(&one);
    check(queue_take(&q) == &one);
    queue_done(&one);
    check(queue_take(&q) == NULL);
    world_done(&w);
}

TEST(failures_back_off_further_and_further_and_success_forgets_them)
{
    struct world w;
    world_init(&w);
    int told = 0;
    struct queue q;
    struct queue_item item;
    queue_init(&q, &w.env, count, &told);
    queue_item_init(&q, &item);
    queue_wake(&item);
    int64_t waits[12];
    for (size_t i = 0; i < lengthof(waits); i++) {
        check(queue_take(&q) == &item);
        queue_retry(&item, 0);
        waits[i] = timers_next_ms(w.env.timers) - env_mono_ms(&w.env);
        world_advance(&w, waits[i]);
    }
    check(waits[0] >= QUEUE_RETRY_MIN_MS / 2 && waits[0] <= QUEUE_RETRY_MIN_MS);
    check(waits[11] >= QUEUE_RETRY_MAX_MS / 2 && waits[11] <= QUEUE_RETRY_MAX_MS);
    check(queue_take(&q) == &item);
    queue_recheck(&item, 70);
    world_advance(&w, 69);
    check(!queue_take(&q));
    world_advance(&w, 1);
    check(queue_take(&q) == &item);
    queue_retry(&item, 5000);
    check_int(timers_next_ms(w.env.timers) - env_mono_ms(&w.env), 5000);
    queue_item_done(&item);
    world_done(&w);
}

TEST(a_key_that_is_woken_for_ever_is_held_to_its_allowance)
{
    struct world w;
    world_init(&w);
    int told = 0, runs = 0;
    struct queue q;
    struct queue_item item;
    queue_init(&q, &w.env, count, &told);
    queue_item_init(&q, &item);
    for (int ms = 0; ms < 60000; ms += 10) {
        queue_wake(&item);
        if (queue_take(&q)) {
            runs++;
            queue_done(&item);
        }
        world_advance(&w, 10);
    }
    check(runs >= 60 && runs <= QUEUE_BURST + 61);
    check(q.throttled > 0);
    queue_item_done(&item);
    world_done(&w);
}
