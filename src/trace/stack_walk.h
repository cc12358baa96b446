/* The call stack of the calling thread, as return addresses.
 *
 * LLVM's libunwind walks it by the tables of the code (.eh_frame), which takes 0.6 us for each frame, and
 * frameworks allocate 30 frames deep. But what the tables say of a return address is always the same: how the
 * caller's frame is found, from the stack pointer or the frame pointer, and where the frame pointer is saved.
 * So once that is remembered, the next frame takes two additions. Rules of rarer kinds are left to the
 * unwinder.
 *
 * Either way a step is made only if it leads to a higher address and reads nothing but what is readable
 * (frame_rule.h, stack_reach.h). Else the stack ends there, as it does at code without tables, at frames that
 * signals made, and where nothing was called. Thread-safe; nothing is locked by the walk from remembered
 * rules.
 */
#ifndef SLUICE_STACK_WALK_H
#define SLUICE_STACK_WALK_H

#include "base/types.h"

#define SL_SITE_FRAMES 24

struct sl_stack {
    int count;
    const void *at[SL_SITE_FRAMES]; /* innermost first */
};

/* What the first walk would look up by the loader, which may wait for a thread that loads a library: must be
 * called before. */
void sl_stack_walk_open(void);

/* Walks the stack from the return address `caller` on with the unwinder, and remembers the rules. *stack
 * contains at least `caller`. */
void sl_stack_unwind(const void *caller, struct sl_stack *stack);

/* The same from remembered rules; false: a rule is not known, or `caller` is not on the stack. `frame`:
 * __builtin_frame_address(0) of the calling function, which must not be inlined. Remembered rules of unloaded
 * code may be wrong: then *stack has addresses that no unwinding gave, or false is returned. */
bool sl_stack_recall(const void *frame, const void *caller, struct sl_stack *stack);

#endif
