#include "core/cores.h"

#include "base/forked.h"
#include "core/core.h"

static struct sl_core *started[SL_MOST_CORES]; /* never freed: threads may still use one that stopped */
static _Atomic uint32_t count;
static uint32_t latest; /* number of the core that was added last */

static struct running {
    struct sl_core *_Atomic only; /* the only core ever started, or NULL; in a child all of this is NULL */
    struct sl_core *_Atomic at[SL_MOST_CORES];
    struct sl_core *_Atomic at_rest[SL_MOST_CORES]; /* stopped, but its memory exists */
} SL_OWN_PAGES running;

__thread uint32_t sl_thread_core __attribute__((tls_model("initial-exec")));

struct sl_core *sl_core_numbered(uint32_t number)
{
    return number < SL_MOST_CORES ? atomic_load_explicit(&running.at[number], memory_order_acquire) : NULL;
}

struct sl_core *sl_core_running(void)
{
    struct sl_core *only = atomic_load_explicit(&running.only, memory_order_acquire);
    return __builtin_expect(only != NULL, 1) ? only : sl_core_numbered(sl_thread_core);
}

bool sl_cores_owner(uint64_t address, uint32_t *number)
{
    uint32_t entry = sl_arena_entry(address);
    if (entry) *number = entry >> SL_OWNER_SHIFT;
    return entry != 0;
}

struct sl_core *sl_core_of(uint64_t address)
{
    struct sl_core *only = atomic_load_explicit(&running.only, memory_order_acquire);
    uint32_t number = sl_thread_core;
    if (__builtin_expect(only != NULL, 1)) return only;
    sl_cores_owner(address, &number);
    return sl_core_numbered(number);
}

struct sl_core *sl_core_still(struct sl_core *core)
{
    return core && sl_core_numbered(core->number) == core ? core : NULL;
}

struct sl_core *sl_core_at_rest(uint64_t address)
{
    uint32_t number = 0;
    sl_cores_owner(address, &number);
    return number < SL_MOST_CORES ? atomic_load(&running.at_rest[number]) : NULL;
}

bool sl_cores_are_several(void)
{
    return sl_cores_started() > 1;
}

uint32_t sl_cores_started(void)
{
    return atomic_load_explicit(&count, memory_order_acquire);
}

struct sl_core *sl_core_started(uint32_t number)
{
    return started[number];
}

uint32_t sl_cores_next(void)
{
    uint32_t next = sl_cores_started();
    if (next < SL_MOST_CORES) return next;
    for (uint32_t tried = 0, number = latest; tried < SL_MOST_CORES; tried++) {
        number = number % (SL_MOST_CORES - 1) + 1;
        if (!sl_core_numbered(number) && !atomic_load(&running.at_rest[number])) return number;
    }
    return SL_MOST_CORES;
}

/* With several cores, a call belongs to the core that its thread turned to, at first number 0. */
void sl_cores_add(struct sl_core *core)
{
    uint32_t number = latest = core->number;
    if (!number) sl_forget_in_children(&running, sizeof running);
    started[number] = core;
    atomic_store_explicit(&running.at[number], core, memory_order_release);
    atomic_store_explicit(&running.only, number ? NULL : core, memory_order_release);
    if (number == sl_cores_started()) atomic_store_explicit(&count, number + 1, memory_order_release);
}

bool sl_cores_remove(struct sl_core *core)
{
    struct sl_core *only = core;
    atomic_compare_exchange_strong(&running.only, &only, NULL);
    return atomic_exchange(&running.at[core->number], NULL) != NULL;
}

void sl_cores_rest(struct sl_core *core)
{
    atomic_store(&running.at_rest[core->number], core);
}

void sl_cores_forget(void)
{
    atomic_store(&running.only, NULL);
    for (uint32_t c = 0; c < SL_MOST_CORES; c++) {
        atomic_store(&running.at[c], NULL);
        atomic_store(&running.at_rest[c], NULL);
    }
}
