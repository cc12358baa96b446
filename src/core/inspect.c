#include "core/inspect.h"

#include "core/build.h"
#include "core/core.h"

static const struct sl_chunk_record *record_of(sl_chunk chunk)
{
    return sl_arena_record(&sl_core_running()->arena, chunk);
}

uint64_t sl_inspect_least_budget(void)
{
    return SL_LEAST_BUDGET;
}

uint64_t sl_inspect_automatic_chunk(uint64_t budget_bytes)
{
    return sl_core_automatic_chunk(budget_bytes);
}

uint64_t sl_inspect_most_bytes(void)
{
    return SL_MAX_SLABS * SL_GIB;
}

uint64_t sl_inspect_demand_misses(void)
{
    return atomic_load_explicit(&sl_core_running()->stats.total.demand_misses, memory_order_relaxed);
}

uint64_t sl_inspect_oversize_launches(void)
{
    return atomic_load(&sl_core_running()->stats.oversize_launches);
}

uint64_t sl_inspect_virtual_bytes_used(void)
{
    return atomic_load(&sl_core_running()->arena.virtual_bytes_used);
}

uint32_t sl_inspect_slot(uint64_t address)
{
    return sl_place_find(&sl_core_running()->placement, address);
}

size_t sl_inspect_chunk_count(void)
{
    return sl_arena_chunk_count(&sl_core_running()->arena);
}

sl_chunk sl_inspect_chunk(uint64_t address)
{
    return sl_arena_chunk(&sl_core_running()->arena, address);
}

uint64_t sl_inspect_chunk_bytes(sl_chunk chunk)
{
    return atomic_load(&record_of(chunk)->bytes);
}

bool sl_inspect_chunk_is_dead(sl_chunk chunk)
{
    return sl_content_is_dead(atomic_load(&record_of(chunk)->content));
}

const sl_chunk *sl_inspect_launch_chunks(uint32_t *count)
{
    const struct sl_usage *usage = &sl_core_running()->scanner.usage;
    *count = usage->chunk_count;
    return usage->chunks;
}
