/* Arrays that grow by doubling. */
#ifndef SLUICE_GROW_H
#define SLUICE_GROW_H

#include <stdlib.h>

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

#endif
