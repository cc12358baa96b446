/* Arrays that grow by doubling. */
#ifndef SLUICE_GROW_H
#define SLUICE_GROW_H

#include <stdlib.h>

#include "base/types.h"

#define SL_GROW_FIRST 16 /* elements */

/* Makes room for one more element of `size` bytes in `*array` (a pointer to the pointer), which holds
 * `count`. False: out of memory; nothing has changed. */
static inline bool sl_grow(void *array, uint32_t *capacity, uint32_t count, size_t size)
{
    if (count < *capacity) return true;
    uint32_t wanted = *capacity ? 2 * *capacity : SL_GROW_FIRST;
    void *larger = wanted > count ? realloc(*(void **)array, wanted * size) : NULL;
    if (!larger) return false;
    *(void **)array = larger;
    *capacity = wanted;
    return true;
}

#endif
