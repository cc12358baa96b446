/* The least traffic of an iteration that repeats: how many bytes have to come to the device, whichever chunks
 * are evicted.
 *
 * Chunks are divided into blocks of one size, so evicting what is used last is optimal (Belady 1966), also
 * where a launch uses several chunks. The content of a dead chunk is not fetched. What a launch needs beyond
 * the budget it uses in place, which costs nothing here. The iterations may begin with whatever suits them
 * best, so the mean over some of them is a lower bound of each in a steady run. */
#ifndef SLUICE_TOOL_FLOOR_H
#define SLUICE_TOOL_FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct floor_sequence {
    size_t launch_count;
    const size_t *first_use;   /* of each launch in `used`; launch_count + 1 entries */
    const uint32_t *used;      /* chunks, each once in a launch */
    const size_t *first_death; /* of each launch in `dead`; launch_count + 1 entries */
    const uint32_t *dead;      /* chunks whose content dies after the launch */
    size_t chunk_count;
    const uint32_t *blocks; /* of each chunk */
    const bool *alive;      /* chunks with content before the first launch */
};

/* *out: blocks that an iteration has to fetch. False: out of memory. */
bool floor_blocks(const struct floor_sequence *sequence, uint64_t budget_blocks, uint64_t *out);

#endif
