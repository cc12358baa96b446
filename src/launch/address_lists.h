/* Arrays of addresses in structures that kernels are given by value, where the launch says how many of their
 * entries it uses.
 *
 * PyTorch's kernels that pass over many tensors at once (its foreach functions, fused optimizers, torch.cat)
 * are given room for as many addresses as a parameter block holds. A launch fills the first entries; the
 * others keep what the stack held, which mostly is the addresses of the launch before: live allocations, and
 * the same ones in every step, so that nothing in their values tells them from those that are used
 * (stale_words.h). What does is the array that says which tensor each block of the grid works on, or the grid
 * itself. The layouts are those that PyTorch's aten/src/ATen/native/cuda/MultiTensorApply.cuh has had, and
 * that of Shape.cu; a structure of another size has none that is known, and all of its words count. Caller
 * holds the order lock. */
#ifndef SLUICE_ADDRESS_LISTS_H
#define SLUICE_ADDRESS_LISTS_H

#include <stdbool.h>
#include <stdint.h>

struct sl_address_lists {
    uint32_t parameter;              /* the structure */
    uint32_t lists, capacity;        /* arrays from its first byte on, and entries of each; 0: none known */
    uint32_t more_at, more_capacity; /* another such array; capacity 0: none */
    uint32_t index_at, index_bytes;  /* for each block of the grid, which entry it uses; */
    uint32_t blocks;                 /* at most so many; 0: the grid has a row for each entry */
};

/* What is known of a kernel with this name and these parameters, `sizes` in bytes. */
struct sl_address_lists sl_address_lists_of(const char *name, uint32_t parameter_count,
                                            const uint32_t *sizes);

/* How many entries of each array a launch uses. `structure`: its bytes, as many as the kernel's parameter
 * has, or NULL: all. pre: the arrays are known. */
uint32_t sl_address_lists_used(const struct sl_address_lists *lists, const char *structure,
                               const uint32_t grid[3]);

/* Whether the word `at` bytes behind the beginning of `parameter` may be an address where `used` entries
 * are. */
static inline bool sl_address_lists_has(const struct sl_address_lists *lists, uint32_t parameter, uint32_t at,
                                        uint32_t used)
{
    if (!lists->capacity || parameter != lists->parameter) return true;
    uint32_t entry = at / 8;
    if (entry < lists->lists * lists->capacity) return entry % lists->capacity < used;
    return at >= lists->more_at && (at - lists->more_at) / 8 < lists->more_capacity &&
           (at - lists->more_at) / 8 < used;
}

#endif
