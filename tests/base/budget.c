#include "base/budget.h"

#include "base/arena.h"
#include "base/buf.h"
#include "tests/test.h"

struct job {
    struct budget budget;
    struct arena arena;
    size_t rounds, done;
    size_t released; /* cleanup() handlers that ran */
    bool seals;
};

static void count_release(struct job **j)
{
    (*j)->released++;
}

static void allocate(struct job *job)
{
    cleanup(count_release) struct job *j = job;
    cleanup(buf_done) struct buf b = BUF_INIT(4096);
    buf_add_text(&b, "memory that a leak checker would miss");
    for (; j->done < j->rounds; j->done++)
        arena_alloc(&j->arena, 100);
}

static void work(void *ctx)
{
    struct job *j = ctx;
    if (j->seals)
        budget_seal(&j->budget);
    allocate(j);
}

static void job_init(struct job *j, size_t rounds)
{
    *j = (struct job){ .rounds = rounds };
    j->budget.bytes_max = 10000;
    j->budget.steps_max = 1000;
    arena_init(&j->arena, ARENA_LIMIT_DEFAULT);
    j->arena.budget = &j->budget;
}

TEST(work_within_its_budget_ends_by_itself)
{
    struct job j;
    job_init(&j, 100);
    check(budget_run(&j.budget, work, &j));
    check_int(j.done, 100);
    check_int(j.budget.bytes, 10000);
    check_int(j.budget.steps, 100);
    check(!budget_is_spent(&j.budget));
    arena_done(&j.arena);
}

TEST(work_over_its_budget_is_ended_and_what_it_held_is_released)
{
    struct job j;
    job_init(&j, 1000000);
    check(!budget_run(&j.budget, work, &j));
    check_int(j.done, 100);
    check_int(j.released, 1);
    check(budget_is_spent(&j.budget));
    /* What tells of it may still allocate. */
    check(arena_alloc(&j.arena, 10));
    arena_done(&j.arena);
}

static void loop(void *ctx)
{
    struct job *j = ctx;
    for (; j->done < j->rounds; j->done++)
        budget_work(1);
}

TEST(a_loop_that_counts_its_steps_is_ended)
{
    struct job j;
    job_init(&j, 1000000);
    check(!budget_run(&j.budget, loop, &j));
    check_int(j.done, 1000);
    arena_done(&j.arena);
}

TEST(sealed_work_is_counted_and_not_ended)
{
    struct job j;
    job_init(&j, 200);
    j.seals = true;
    check(budget_run(&j.budget, work, &j));
    check_int(j.done, 200);
    check(budget_is_spent(&j.budget));
    arena_done(&j.arena);
}
