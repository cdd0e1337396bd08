#include "base/budget.h"

_Thread_local struct budget *budget_current;

/* Ends frames as pthread_exit() does: the unwinder walks up and runs the cleanup() handlers of each
 * frame (this needs -fexceptions), until it has reached the frame of budget_run(). */
static _Unwind_Reason_Code stop_at_bottom(int version, _Unwind_Action actions,
    _Unwind_Exception_Class size_class, struct _Unwind_Exception *exception,
    struct _Unwind_Context *frame, void *ctx)
{
    (void)version, (void)size_class, (void)exception;
    struct budget *b = ctx;
    assert(!(actions & _UA_END_OF_STACK));
    if ((const char *)_Unwind_GetCFA(frame) > (const char *)b->bottom)
        longjmp(b->out, 1);
    return _URC_NO_REASON;
}

void budget_end(struct budget *b)
{
    assert(b->armed);
    b->armed = false;
    b->exception = (struct _Unwind_Exception){ 0 };
    _Unwind_ForcedUnwind(&b->exception, stop_at_bottom, b);
    assert(!"a frame without unwind tables is on the stack of a request");
}

__attribute__((noinline)) bool budget_run(struct budget *b, void (*work)(void *ctx), void *ctx)
{
    assert(!b->armed);
    struct budget *volatile outer = budget_current;
    b->bottom = __builtin_frame_address(0);
    if (setjmp(b->out)) {
        budget_current = outer;
        return false;
    }
    budget_current = b;
    b->armed = true;
    work(ctx);
    b->armed = false;
    budget_current = outer;
    return true;
}

void budget_seal(struct budget *b)
{
    if (b)
        b->armed = false;
}

bool budget_is_spent(const struct budget *b)
{
    return b->bytes > b->bytes_max || b->steps > b->steps_max;
}
