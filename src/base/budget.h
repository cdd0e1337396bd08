#pragma once

/* Limits on the memory and processor time of one request.
 *
 *   budget_run(&budget, work, ctx)
 *       └─ work ─ … ─ arena_alloc() ─ over a limit: all frames up to budget_run() end,
 *                                     cleanup() variables are released, budget_run() is false
 *
 * An arena with a budget counts every allocation: its bytes, and one step. json_equal(),
 * json_find() and json_list_has() count a step for each item that they look at. Another loop over
 * client data that does not allocate counts its own steps with budget_work(). So every loop is
 * limited, and builders need no error path.
 *
 * Work that changes long-lived state (the store, a table of the server) must not be ended in the
 * middle. It calls budget_seal() first; from then on the budget only counts.
 *
 * Resources outside of arenas must be in cleanup() variables, or they leak when the work is
 * ended. */

#include <setjmp.h>
#include <unwind.h>

#include "base/base.h"

struct budget {
    size_t bytes, bytes_max; /* allocated by arenas */
    uint64_t steps, steps_max;
    bool armed;         /* inside budget_run(), and not sealed */
    const void *bottom; /* the frame of budget_run() */
    jmp_buf out;
    struct _Unwind_Exception exception; /* not on the stack, whose top is reused */
};

/* True if the work returned. False if it exceeded its budget and was ended. */
bool budget_run(struct budget *b, void (*work)(void *ctx), void *ctx) must_check;
/* From now on the work is not ended any more. NULL is allowed. */
void budget_seal(struct budget *b);
bool budget_is_spent(const struct budget *b);

/* The slow path of the two functions below. */
void budget_end(struct budget *b);

static inline void budget_charge(struct budget *b, size_t bytes, uint64_t steps)
{
    if (!b)
        return;
    b->bytes += bytes;
    b->steps += steps;
    if (b->armed && (b->bytes > b->bytes_max || b->steps > b->steps_max))
        budget_end(b);
}

/* The budget of the innermost budget_run() of this thread, or NULL. */
extern _Thread_local struct budget *budget_current;

/* Work that benefits all requests is not charged to the request that triggers it: call
 * budget_leave() before it, and budget_return() with its result after it. */
static inline struct budget *budget_leave(void)
{
    return take(budget_current);
}
static inline void budget_return(struct budget *left)
{
    budget_current = left;
}

/* For loops that do not allocate. */
static inline void budget_work(uint64_t steps)
{
    budget_charge(budget_current, 0, steps);
}
