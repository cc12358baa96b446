/* Sorting what is nearly in order, as the records of a few threads are: stable, and next to nothing to do
 * where the order is right. */
#ifndef SLUICE_TOOL_SORTED_H
#define SLUICE_TOOL_SORTED_H

#include <stdbool.h>
#include <stddef.h>

/* Sorts `count` elements of `size` bytes by the 64-bit number at `key_offset` in each. False when there is no
 * memory; the elements are then all there, in no particular order. */
bool sort_by_key(void *elements, size_t count, size_t size, size_t key_offset);

#endif
