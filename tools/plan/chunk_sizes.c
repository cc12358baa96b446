#include "tools/plan/configurations.h"

enum {
    MOST_CHUNKS = 1024,
    LEAST_CHUNKS = 16, /* a chunk size is tried only if the need is at least this many chunks */
    LARGEST_CHUNK_MIB = 64,
    LARGE_CHUNK_MIB = 32, /* from here on a size is tried however large the need is */
};

void plan_seek_chunks(struct plan_wish *wish, uint64_t peak_bytes, uint64_t recorded)
{
    for (uint64_t chunk = SL_BLOCK_BYTES; chunk <= LARGEST_CHUNK_MIB * SL_MIB; chunk *= 2) {
        bool few = chunk * MOST_CHUNKS >= peak_bytes || chunk >= LARGE_CHUNK_MIB * SL_MIB;
        if (chunk == recorded || (chunk * LEAST_CHUNKS <= peak_bytes && few))
            wish->chunks[wish->chunk_count++] = chunk;
    }
    if (!wish->chunk_count) wish->chunks[wish->chunk_count++] = SL_BLOCK_BYTES;
}
