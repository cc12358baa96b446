/* The call stack of the calling thread, as return addresses.
 *
 * The unwinder needs at least 0.5 us for each frame, and frameworks allocate 30 frames deep. But the frame
 * that a call returns to nearly always has the same size at a given return address. So once the unwinder has
 * measured it, one addition finds the next frame. Return addresses that are new, or whose frame size varies,
 * are left to the unwinder. (libunwind's unw_backtrace caches frames in the same way; it cannot be linked
 * into a preloaded object, see docs/architecture.md.) Thread-safe, without a lock.
 */
#ifndef SLUICE_STACK_WALK_H
#define SLUICE_STACK_WALK_H

#include "base/types.h"
#include "trace/site_records.h"

struct sl_stack {
    int count;
    const void *at[SL_SITE_FRAMES]; /* innermost first */
};

/* Walks the stack from the return address `caller` on with the unwinder, and remembers the frames. *stack
 * contains at least `caller`. */
void sl_stack_unwind(const void *caller, struct sl_stack *stack);

/* The same from remembered frames; false: a frame is not known. `frame`: __builtin_frame_address(0) of the
 * calling function, which must not be inlined. Remembered frames of unloaded code may be wrong: then *stack
 * has addresses that no unwinding gave, or false is returned. Reads the stack of this thread only. */
bool sl_stack_recall(const void *frame, const void *caller, struct sl_stack *stack);

#endif
