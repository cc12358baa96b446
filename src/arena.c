#include "arena.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"

#define NO_SLAB UINT16_MAX /* memory of the driver's */

_Atomic uint16_t sl_slab_of[SL_SLAB_TABLE];
struct sl_arena_range sl_arena_range = {UINT64_MAX, 0};

void sl_arena_init(struct sl_arena *arena, const struct sl_backend *backend, uint64_t chunk_bytes)
{
    memset(arena, 0, sizeof *arena);
    arena->backend = backend;
    arena->chunk_bytes = chunk_bytes;
    arena->chunk_shift = (uint32_t)__builtin_ctzll(chunk_bytes);
    arena->slab_shift = SL_SLAB_SHIFT - arena->chunk_shift;
    arena->chunks_per_slab = (uint32_t)1 << arena->slab_shift;
}

void sl_arena_close(struct sl_arena *arena, bool device_gone)
{
    uint32_t count = atomic_load(&arena->slab_count);
    for (uint32_t s = 0; s < count; s++) {
        struct sl_slab *slab = &arena->slabs[s];
        atomic_store(&sl_slab_of[slab->address >> SL_SLAB_SHIFT], 0);
        if (slab->reservation_bytes && !device_gone)
            arena->backend->slab_delete(arena->backend->self, slab->address, slab->reservation_bytes);
        for (uint32_t c = 0; c < arena->chunks_per_slab; c++) sl_packing_delete(slab->chunks[c].packing);
        free(slab->chunks);
    }
    atomic_store(&arena->slab_count, 0);
}

static void widen_range(uint64_t low, uint64_t high)
{
    if (low < atomic_load(&sl_arena_range.low)) atomic_store(&sl_arena_range.low, low);
    if (high > atomic_load(&sl_arena_range.high)) atomic_store(&sl_arena_range.high, high);
}

bool sl_arena_note(uint64_t address, uint64_t bytes)
{
    uint64_t first = address >> SL_SLAB_SHIFT, last = (address + bytes - 1) >> SL_SLAB_SHIFT;
    if (last >= SL_SLAB_TABLE) return false;
    widen_range(first << SL_SLAB_SHIFT, (last + 1) << SL_SLAB_SHIFT);
    for (uint64_t slab = first; slab <= last; slab++)
        atomic_store_explicit(&sl_slab_of[slab], NO_SLAB, memory_order_release);
    return true;
}

/* Takes `count` slabs that follow each other in address and in number. */
static enum sl_status add_slabs(struct sl_arena *arena, uint32_t count)
{
    uint32_t first = atomic_load(&arena->slab_count);
    if (count > SL_MAX_SLABS - first) return SL_ERR_NO_MEMORY;
    uint64_t address = 0;
    enum sl_status status = arena->backend->slab_new(arena->backend->self, count * SL_GIB, &address);
    if (status) return status;
    if ((address + count * SL_GIB - 1) >> SL_SLAB_SHIFT >= SL_SLAB_TABLE) {
        sl_log(SL_LOG_WARN, "the driver placed unified memory at 0x%llx, beyond 47 bits",
               (unsigned long long)address);
        arena->backend->slab_delete(arena->backend->self, address, count * SL_GIB);
        return SL_ERR_UNSUPPORTED;
    }
    for (uint32_t s = first; s < first + count; s++) {
        arena->slabs[s].chunks = calloc(arena->chunks_per_slab, sizeof(struct sl_chunk_record));
        if (arena->slabs[s].chunks) continue;
        while (s-- > first) free(arena->slabs[s].chunks);
        arena->backend->slab_delete(arena->backend->self, address, count * SL_GIB);
        return SL_ERR_NO_MEMORY;
    }
    widen_range(address, address + count * SL_GIB);
    for (uint32_t s = first; s < first + count; s++) {
        struct sl_slab *slab = &arena->slabs[s];
        slab->address = address + (s - first) * SL_GIB;
        slab->reservation_bytes = s == first ? count * SL_GIB : 0;
        slab->free_chunks = arena->chunks_per_slab;
        for (uint32_t c = 0; c < arena->chunks_per_slab; c++) {
            struct sl_chunk_record *chunk = &slab->chunks[c];
            chunk->address = slab->address + ((uint64_t)c << arena->chunk_shift);
            chunk->run = s * arena->chunks_per_slab + c;
            chunk->group = SL_NO_GROUP;
            chunk->run_slot = SL_NO_SLOT;
        }
        atomic_store_explicit(&sl_slab_of[slab->address >> SL_SLAB_SHIFT], (uint16_t)(s + 1),
                              memory_order_release);
    }
    atomic_store_explicit(&arena->slab_count, first + count, memory_order_release);
    return SL_OK;
}

static bool is_free(const struct sl_arena *arena, sl_chunk chunk)
{
    return sl_arena_record(arena, chunk)->bytes == 0;
}

/* A run may cross a slab's end only where the next slab follows in address. */
static bool adjacent(const struct sl_arena *arena, sl_chunk chunk)
{
    return sl_arena_record(arena, chunk + 1)->address - sl_arena_record(arena, chunk)->address ==
           arena->chunk_bytes;
}

static sl_chunk find_run(const struct sl_arena *arena, uint32_t count)
{
    size_t total = sl_arena_chunk_count(arena), length = 0;
    for (size_t c = 0; c < total; c++) {
        if (c % arena->chunks_per_slab == 0 && length == 0 &&
            !arena->slabs[c / arena->chunks_per_slab].free_chunks) {
            c += arena->chunks_per_slab - 1;
            continue;
        }
        if (!is_free(arena, (sl_chunk)c)) {
            length = 0;
            continue;
        }
        length = length && adjacent(arena, (sl_chunk)c - 1) ? length + 1 : 1;
        if (length == count) return (sl_chunk)(c + 1 - count);
    }
    return SL_NO_CHUNK;
}

static uint32_t chunks_for(const struct sl_arena *arena, uint64_t bytes)
{
    return (uint32_t)((bytes + arena->chunk_bytes - 1) >> arena->chunk_shift);
}

static void mark(struct sl_arena *arena, sl_chunk first, uint64_t bytes)
{
    uint32_t count = chunks_for(arena, bytes);
    arena->chunks_used += count;
    if (arena->chunks_used > arena->peak_chunks_used) arena->peak_chunks_used = arena->chunks_used;
    for (uint32_t i = 0; i < count; i++) {
        struct sl_chunk_record *chunk = sl_arena_record(arena, first + i);
        uint64_t rest = bytes - i * arena->chunk_bytes;
        chunk->bytes = rest < arena->chunk_bytes ? (rest + SL_BLOCK_BYTES - 1) & ~(SL_BLOCK_BYTES - 1)
                                                 : arena->chunk_bytes;
        chunk->run = first;
        chunk->run_chunks = count;
        arena->virtual_bytes_used += chunk->bytes;
        arena->slabs[(first + i) / arena->chunks_per_slab].free_chunks--;
        /* From here on somebody may write to it unseen, so it must not be dropped any more. */
        int dead = SL_CONTENT_RESIDENT_DEAD;
        atomic_compare_exchange_strong(&chunk->content, &dead, SL_CONTENT_RESIDENT);
        uint64_t out = atomic_load(&chunk->out_sequence);
        if (out > arena->join_out) arena->join_out = out;
    }
}

enum sl_status sl_arena_take(struct sl_arena *arena, uint64_t bytes, sl_chunk *first)
{
    uint32_t count = chunks_for(arena, bytes);
    sl_chunk found = find_run(arena, count);
    if (found == SL_NO_CHUNK) {
        uint32_t slabs = (uint32_t)((bytes + SL_GIB - 1) >> SL_SLAB_SHIFT);
        enum sl_status status = add_slabs(arena, slabs);
        if (status) return status;
        found = (atomic_load(&arena->slab_count) - slabs) * arena->chunks_per_slab;
    }
    mark(arena, found, bytes);
    *first = found;
    return SL_OK;
}

bool sl_arena_take_at(struct sl_arena *arena, sl_chunk first, uint64_t bytes)
{
    uint32_t count = chunks_for(arena, bytes);
    if (first + count > sl_arena_chunk_count(arena)) return false;
    for (uint32_t i = 0; i < count; i++)
        if (!is_free(arena, first + i) || (i && !adjacent(arena, first + i - 1))) return false;
    mark(arena, first, bytes);
    return true;
}

void sl_arena_give(struct sl_arena *arena, sl_chunk first)
{
    uint32_t count = sl_arena_record(arena, first)->run_chunks;
    arena->chunks_used -= count;
    for (uint32_t i = 0; i < count; i++) {
        struct sl_chunk_record *chunk = sl_arena_record(arena, first + i);
        arena->virtual_bytes_used -= chunk->bytes;
        atomic_store(&chunk->bytes, 0);
        for (int content = atomic_load(&chunk->content);
             content == SL_CONTENT_RESIDENT || content == SL_CONTENT_HOST;)
            atomic_compare_exchange_strong(&chunk->content, &content,
                                           content == SL_CONTENT_RESIDENT ? SL_CONTENT_RESIDENT_DEAD
                                                                          : SL_CONTENT_DEAD);
        chunk->run = first + i;
        chunk->run_chunks = 0;
        chunk->run_slot = SL_NO_SLOT;
        chunk->group = SL_NO_GROUP;
        arena->slabs[(first + i) / arena->chunks_per_slab].free_chunks++;
    }
}
