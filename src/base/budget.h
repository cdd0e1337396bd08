#pragma once

/* What one request may use of memory and of processor time.
 *
 *   budget_run(&budget, work, ctx)
 *       └─ work ─ … ─ arena_alloc() ─ over a limit: all frames up to budget_run() end,
 *                                     cleanup() variables are released, budget_run() is false
 *
 * An arena with a budget counts every allocation: its bytes, and one step. json_equal(),
 * json_find() and json_list_has() count a step for each item that they look at. Another loop over
 * client data that does not allocate counts its steps itself with budget_work(). So every loop is
 * watched while it runs, and builders need no error path.
 *
 * Work that changes what outlives the request (the store, a table of the server) must not end in
 * the middle: it calls budget_seal() first, and from then on the budget only counts.
 *
 * What work owns outside of arenas must be in cleanup() variables, or it leaks when work is ended.
 */

#include <setjmp.h>
#include <unwind.h>

#include "base/base.h"

struct budget {
    size_t bytes, bytes_max; /* handed out by arenas */
    uint64_t steps, steps_max;
    bool armed;         /* inside budget_run(), and not sealed */
    const void *bottom; /* the frame of budget_run() */
    jmp_buf out;
    struct _Unwind_Exception exception; /* not on the stack, of which the top is reused */
};

/* True: work returned. False: it needed more than its budget and was ended. */
bool budget_run(struct budget *b, void (*work)(void *ctx), void *ctx) must_check;
/* From now on work is not ended any more. NULL is taken. */
void budget_seal(struct budget *b);
bool budget_is_spent(const struct budget *b);

/* The slow half of the two below. */
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

/* The budget of the innermost budget_run() of this thread; NULL: there is none. */
extern _Thread_local struct budget *budget_current;

/* Work for all requests, which this one happens to come first for, is not at its expense:
 * budget_leave() before it, budget_return() with what that returned after it. */
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
