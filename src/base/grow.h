/* Arrays that grow by doubling, and large tables. */
#ifndef SLUICE_GROW_H
#define SLUICE_GROW_H

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/types.h"

#define SL_GROW_FIRST 16 /* elements */

/* Makes room for `more` elements of `size` bytes in `*array` (a pointer to the pointer), which holds `count`.
 * False: out of memory; nothing has changed. */
static inline bool sl_grow_by(void *array, uint32_t *capacity, uint32_t count, uint32_t more, size_t size)
{
    uint64_t needed = (uint64_t)count + more, wanted = *capacity ? *capacity : SL_GROW_FIRST;
    if (needed <= *capacity) return true;
    while (wanted < needed) wanted *= 2;
    void *larger = wanted <= UINT32_MAX ? realloc(*(void **)array, wanted * size) : NULL;
    if (!larger) return false;
    *(void **)array = larger;
    *capacity = (uint32_t)wanted;
    return true;
}

/* The same for one more element. */
static inline bool sl_grow(void *array, uint32_t *capacity, uint32_t count, size_t size)
{
    return sl_grow_by(array, capacity, count, 1, size);
}

/* --- large tables that most processes never use: mapped at their first use. */

/* The zeroed table of `bytes` bytes at *table, which is never unmapped. NULL: out of memory. Any thread. */
static inline void *sl_table_at(void *_Atomic *table, size_t bytes)
{
    void *there = atomic_load_explicit(table, memory_order_acquire);
    if (there) return there;
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return NULL;
    if (atomic_compare_exchange_strong(table, &there, made)) return made;
    munmap(made, bytes);
    return there;
}

#endif
