/* The call stack of the calling thread, as return addresses.
 *
 * LLVM's libunwind walks it by the tables of the code (.eh_frame), which takes 0.6 us for each frame, and
 * frameworks allocate 30 frames deep. But what the tables say of a return address is always the same: how the
 * caller's frame is found, from the stack pointer or the frame pointer, and where the frame pointer is saved.
 * So once that is remembered, the next frame takes two additions. Rules of rarer kinds are left to the
 * unwinder.
 *
 * Either way a step is made only if it leads to a higher address and reads nothing but what is readable
 * (frame_rule.c, sl_stack_reaches). Else the stack ends there, as it does at code without tables, at frames
 * that signals made, and where nothing was called. Thread-safe; nothing is locked by the walk from remembered
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

/* Which words of a stack the calling thread may read, above one of its own frames.
 *
 * From a live frame to its end, a thread's own stack is readable for as long as the thread lives. No such
 * thing holds for stacks that programs make themselves (fibers, coroutines, split stacks, signal stacks):
 * whatever was seen of them before, another thread may have unmapped memory there and mapped other stacks,
 * with guard pages between. So the kernel is asked about each of their pages in the call that reads it, about
 * 0.1 us for a page, and most stacks are walked within two.
 */

#define SL_STACK_PAGE ((uintptr_t)4096) /* the kernel's pages are as large or larger */

struct sl_stack_reach {
    uintptr_t end;  /* the words from the frame up to here are readable */
    uintptr_t page; /* the page beyond that was last found to be readable; 0: none */
};

/* What is known above `frame`, the address of a live frame of the calling thread that has its return address
 * in the second word. The first call of a thread finds out where its stack is; no call changes errno. Must
 * not be called from a signal handler that may have interrupted malloc, unless the thread called it before.
 */
struct sl_stack_reach sl_stack_reach_from(const void *frame);

/* Asks the kernel about the page of `word`. */
bool sl_stack_ask(struct sl_stack_reach *reach, uintptr_t word);

/* Whether the word may be read now. Preconditions: a multiple of 8, and not below the frame. */
static inline bool sl_stack_reaches(struct sl_stack_reach *reach, uintptr_t word)
{
    return word < reach->end || sl_stack_ask(reach, word);
}

/* --- frame_rule.c: what a step from one frame to its caller reads, by the call frame information of the
 * code.
 *
 * The unwinder follows what these tables say without asking whether the memory can be read. The tables are
 * true of compiled code, but not of how a program entered it: the first function on a hand-made stack has no
 * return address, and hand-written code may leave anything in a register that the table computes the caller's
 * frame from. So each step is looked at before it is made.
 */

/* The registers' numbers in these tables, which are the unwinder's, too. */
#if defined(__x86_64__)
enum {
    SL_FRAME_POINTER = 6,
    SL_FRAME_STACK = 7,
    SL_FRAME_GENERAL = 16,
    SL_FRAME_RETURN = 16,
    SL_FRAME_REGISTERS = 33
};
#elif defined(__aarch64__)
enum {
    SL_FRAME_POINTER = 29,
    SL_FRAME_STACK = 31,
    SL_FRAME_GENERAL = 32,
    SL_FRAME_RETURN = 30,
    SL_FRAME_REGISTERS = 96
};
#endif

/* Offsets in bytes of the lowest and the highest word that is read; lowest > highest: none is. */
struct sl_frame_span {
    int32_t lowest, highest;
};

/* The CFA is the caller's stack pointer after the call has returned: `base` plus `offset` or, where `held`,
 * the word that lies there. */
struct sl_frame_rule {
    uint8_t base; /* a general register */
    bool held;
    bool has_address; /* the return address lies at CFA + address_at */
    bool saves_pointer, pointer_at_pointer;
    int32_t offset, address_at;
    int32_t pointer_at; /* where the caller's frame pointer lies if it is saved: from the CFA or the frame
                           pointer on */
    struct sl_frame_span from_cfa, from_pointer; /* includes all that is read, other registers too */
};

/* The rule in force where a call returns to `address`. `entry`: the description of the function (FDE) in
 * .eh_frame, which begins at `start`. *rule is set only on success. False: the tables say that there is no
 * caller, or that the frame was made by a signal, or something that compilers do not say of frames that wait
 * for a call. Preconditions: the entries are complete in memory, and stay there. */
bool sl_frame_rule_read(const void *entry, uintptr_t start, uintptr_t address, struct sl_frame_rule *rule);

#endif
