/* A stable sort for nearly sorted elements, such as the records of a few threads; very cheap if they are
 * sorted. */
#ifndef SLUICE_TOOL_SORTED_H
#define SLUICE_TOOL_SORTED_H

#include <stdbool.h>
#include <stddef.h>

/* Sorts `count` elements of `size` bytes by the 64-bit number at `key_offset`. False: out of memory; the
 * elements are then complete, in an unspecified order. */
bool sort_by_key(void *elements, size_t count, size_t size, size_t key_offset);

#endif
