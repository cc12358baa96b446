/* Arrays of addresses in by-value structures of which a launch uses only the first entries.
 *
 * PyTorch's kernels over many tensors (foreach functions, fused optimizers, torch.cat) have parameter blocks
 * with a fixed capacity for addresses. A launch fills the first entries; the others keep the stack's previous
 * content, mostly the addresses of the launch before. These are live allocations, the same in every step, so
 * their values do not reveal that they are unused (stale_words.h). The entries in use follow from the array
 * that maps each block of the grid to a tensor, or from the grid itself. The known layouts are those of
 * PyTorch's aten/src/ATen/native/cuda/MultiTensorApply.cuh, in all its versions, and of Shape.cu. A structure
 * of another size has no known layout, and all of its words count. Caller holds the order lock.
 */
#ifndef SLUICE_ADDRESS_LISTS_H
#define SLUICE_ADDRESS_LISTS_H

#include <stdbool.h>
#include <stdint.h>

struct sl_address_lists {
    uint32_t parameter;       /* the structure */
    uint32_t lists, capacity; /* arrays from its first byte on, and entries of each; capacity 0: unknown */
    uint32_t more_at, more_capacity; /* another such array; more_capacity 0: none */
    uint32_t index_at, index_bytes;  /* the array with the entry of each block of the grid */
    uint32_t blocks;                 /* most entries of that array; 0: the grid has a row for each entry */
};

/* The known arrays of a kernel with this name and these parameters; `sizes` in bytes. */
struct sl_address_lists sl_address_lists_of(const char *name, uint32_t parameter_count,
                                            const uint32_t *sizes);

/* The number of entries that a launch uses of each array. `structure`: the kernel's parameter, whole; NULL:
 * all entries count as used. Precondition: the arrays are known. */
uint32_t sl_address_lists_used(const struct sl_address_lists *lists, const char *structure,
                               const uint32_t grid[3]);

/* Whether the word `at` bytes from the beginning of `parameter` may be an address if `used` entries are
 * used. */
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
