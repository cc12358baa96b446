/* Which words of a stack the calling thread may read, above one of its own frames.
 *
 * From a live frame to its end, a thread's own stack is readable for as long as the thread lives. No such
 * thing holds for stacks that programs make themselves (fibers, coroutines, split stacks, signal stacks):
 * whatever was seen of them before, another thread may have unmapped memory there and mapped other stacks,
 * with guard pages between. So the kernel is asked about each of their pages in the call that reads it, about
 * 0.1 us for a page, and most stacks are walked within two.
 */
#ifndef SLUICE_STACK_REACH_H
#define SLUICE_STACK_REACH_H

#include "base/types.h"

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

#endif
