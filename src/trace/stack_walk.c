#include "trace/stack_walk.h"

#include <stdatomic.h>
#include <string.h>
#include <unwind.h>

#include "base/map.h"

/* Includes the shim's own frames, which the unwinder visits first. */
#define MOST_FRAMES (SL_SITE_FRAMES + 16)
#define PLACE_BITS 14
#define LARGEST_STACK ((uintptr_t)64 << 20) /* beyond: another stack, such as a coroutine's */

/* Return addresses with their frame size in 8-byte words: 47 bits and 17. */
enum { REACH_BITS = 17, VARIES = 0, OUTERMOST = (1 << REACH_BITS) - 1 };
static _Atomic uint64_t places[1 << PLACE_BITS];

/* The highest address that the unwinder saw on this thread's stack: everything below is readable. */
static _Thread_local uintptr_t top __attribute__((tls_model("initial-exec")));

static size_t index_of(uint64_t address)
{
    return sl_mix(address) >> (64 - PLACE_BITS);
}

static bool recall(uint64_t address, uint32_t *reach)
{
    uint64_t place = atomic_load_explicit(&places[index_of(address)], memory_order_relaxed);
    *reach = place & OUTERMOST;
    return place >> REACH_BITS == address;
}

static void remember(uint64_t address, uint64_t reach)
{
    uint32_t before;
    if (address >> (64 - REACH_BITS)) return;
    if (recall(address, &before) && before != reach) reach = VARIES;
    atomic_store_explicit(&places[index_of(address)], address << REACH_BITS | reach, memory_order_relaxed);
}

/* --- with the unwinder */

struct walk {
    const void *caller;
    struct sl_stack *stack;
    bool above;     /* past the shim's own frames */
    bool ends;      /* there are no more frames */
    bool signalled; /* a frame was interrupted by a signal, not left by a call */
    int count;
    uint64_t address[MOST_FRAMES];
    uintptr_t pointer[MOST_FRAMES]; /* the stack pointer after the call */
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    struct sl_stack *stack = walk->stack;
    int interrupted = 0;
    const void *address = (const void *)_Unwind_GetIPInfo(context, &interrupted);
    walk->signalled |= interrupted != 0;
    walk->ends = !address;
    if (walk->ends || walk->count == MOST_FRAMES) return _URC_END_OF_STACK;
    walk->address[walk->count] = (uint64_t)address;
    walk->pointer[walk->count++] = (uintptr_t)_Unwind_GetCFA(context);
    if (address == walk->caller) walk->above = true;
    if (!walk->above) return _URC_NO_REASON;
    if (stack->count == SL_SITE_FRAMES) return _URC_END_OF_STACK;
    stack->at[stack->count++] = address;
    return _URC_NO_REASON;
}

/* Remembers the frame sizes. The size of the last frame is unknown, unless the stack ends there. */
static void learn(const struct walk *walk)
{
    if (walk->signalled || !walk->count) return;
    uintptr_t highest = walk->pointer[walk->count - 1];
    if (highest > top || top - highest > LARGEST_STACK) top = highest;
    for (int i = 0; i + 1 < walk->count; i++) {
        uintptr_t bytes = walk->pointer[i + 1] - walk->pointer[i];
        bool fits = walk->pointer[i + 1] > walk->pointer[i] && bytes % 8 == 0 && bytes / 8 < OUTERMOST;
        remember(walk->address[i], fits ? bytes / 8 : VARIES);
    }
    if (walk->ends) remember(walk->address[walk->count - 1], OUTERMOST);
}

void sl_stack_unwind(const void *caller, struct sl_stack *stack)
{
    struct walk walk = {.caller = caller, .stack = stack};
    stack->count = 0;
    if (_Unwind_Backtrace(step, &walk) == _URC_END_OF_STACK) walk.ends = true;
    if (stack->count)
        learn(&walk);
    else
        stack->at[stack->count++] = caller;
}

/* --- from remembered frames */

bool sl_stack_recall(const void *frame, const void *caller, struct sl_stack *stack)
{
#ifdef __x86_64__
    uintptr_t pointer = (uintptr_t)frame + 16, high = top;
    bool above = false;
    stack->count = 0;
    if (pointer > high || high - pointer > LARGEST_STACK) return false;
    for (int i = 0; i < MOST_FRAMES; i++) {
        uint64_t address;
        uint32_t reach;
        memcpy(&address, (const char *)pointer - 8, sizeof address);
        above |= address == (uint64_t)caller;
        if (above) stack->at[stack->count++] = (const void *)address;
        if (stack->count == SL_SITE_FRAMES) return true;
        if (!recall(address, &reach) || reach == VARIES) return false;
        if (reach == OUTERMOST) return above;
        if (reach > (high - pointer) / 8) return false;
        pointer += 8 * (uintptr_t)reach;
    }
#else
    (void)frame;
    (void)caller;
    (void)stack;
#endif
    return false;
}
