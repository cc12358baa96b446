/* The call stack of the calling thread, as return addresses.
 *
 * The unwinder needs half a microsecond and more for each frame, and frameworks allocate thirty frames deep.
 * But a call returns to a frame that, at one place in the code, nearly always reaches as far: once the
 * unwinder said how far, the next frame is found by one addition. A place whose frame varies, or that is not
 * known yet, is the unwinder's. (libunwind's unw_backtrace remembers frames in the same way; it cannot be
 * linked into a preloaded object, see docs/trace.md.) Thread-safe, without a lock. */
#ifndef SLUICE_STACK_WALK_H
#define SLUICE_STACK_WALK_H

#include "base/types.h"
#include "trace/site_records.h"

struct sl_stack {
    int count;
    const void *at[SL_SITE_FRAMES]; /* innermost first */
};

/* From the return address `caller` on. Asks the unwinder, and remembers what it said. At least `caller`
 * itself is in *stack. */
void sl_stack_unwind(const void *caller, struct sl_stack *stack);

/* The same by what is remembered; false: something is not. `frame`: __builtin_frame_address(0) of the calling
 * function, which must not be inlined. What was remembered of code that was unloaded may be wrong: then
 * *stack has addresses that no unwinding had, or false is returned. Reads the stack of this thread only. */
bool sl_stack_recall(const void *frame, const void *caller, struct sl_stack *stack);

#endif
