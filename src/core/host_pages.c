#include "core/host_pages.h"

#include <sys/mman.h>

#include "base/forked.h"
#include "core/core.h"

#define SAMPLES 2048 /* of an arena, at most about twice as many */

static bool was_evicted(const struct sl_chunk_record *chunk, uint64_t done)
{
    uint64_t out = atomic_load_explicit(&chunk->out_sequence, memory_order_relaxed);
    return out && out <= done && out != atomic_load_explicit(&chunk->discard_sequence, memory_order_relaxed);
}

static bool is_mapped(uint64_t address)
{
    unsigned char mapped = 0;
    return mincore((void *)address, SL_PAGE_BYTES, &mapped) == 0 && mapped & 1;
}

/* A block has host pages if its chunk was evicted, since the driver keeps the pages of evicted memory, or if
 * it is mapped. */
void sl_host_pages_add(const struct sl_arena *arena, uint64_t done, struct sl_host_pages *pages)
{
    uint64_t used = sl_arena_used_slab_bytes(arena), step = 1 + used / SL_BLOCK_BYTES / SAMPLES, found = 0;
    size_t count = sl_arena_chunk_count(arena);
    for (size_t c = sl_arena_skip_unused(arena, 0, count); c < count;
         c = sl_arena_skip_unused(arena, c + 1, count)) {
        const struct sl_chunk_record *chunk = sl_arena_record(arena, (sl_chunk)c);
        uint64_t first = chunk->address / SL_BLOCK_BYTES, end = first + arena->chunk_bytes / SL_BLOCK_BYTES;
        bool evicted = was_evicted(chunk, done);
        if (chunk->pinned) continue;
        for (uint64_t block = (first + step - 1) / step * step; block < end; block += step) {
            bool mapped = !evicted && is_mapped(block * SL_BLOCK_BYTES);
            found += evicted || mapped;
            pages->of_device |= mapped && sl_chunk_is_resident(chunk);
        }
    }
    uint64_t bytes = found * step * SL_BLOCK_BYTES;
    pages->bytes += (bytes < used ? bytes : used) + arena->pinned_bytes;
}

uint64_t sl_host_pages_missing(uint64_t address, uint64_t bytes)
{
    uint64_t first = address & ~(uint64_t)(SL_PAGE_BYTES - 1),
             pages = (address + bytes - first) / SL_PAGE_BYTES + 1;
    uint64_t step = 1 + pages / SAMPLES, missing = 0;
    if (!bytes || address + bytes < address) return 0;
    for (uint64_t page = 0; page < pages; page += step) {
        unsigned char mapped = 1; /* what is no memory needs none */
        mincore((void *)(first + page * SL_PAGE_BYTES), SL_PAGE_BYTES, &mapped);
        missing += !(mapped & 1);
    }
    uint64_t missing_bytes = missing * step * SL_PAGE_BYTES;
    return missing_bytes < bytes ? missing_bytes : bytes;
}

struct sl_host_pages sl_host_pages(void)
{
    struct sl_host_pages pages = {0};
    for (uint32_t c = 0; c < sl_cores_started(); c++) {
        struct sl_core *core = sl_core_numbered(c);
        if (core) sl_host_pages_add(&core->arena, atomic_load(&core->migrator.out.done), &pages);
    }
    return pages;
}
