#include "access.h"

#include <stdlib.h>
#include <string.h>

static void add_word(struct sl_core *core, uint64_t address, uint64_t bytes, uint64_t at_least,
                     uint64_t *signature, uint64_t where)
{
    if (!sl_arena_owns(address) || core->word_count == SL_MAX_WORDS) return;
    uint32_t s = sl_place_find(&core->placement, address);
    if (s == SL_MAP_NONE) return;
    struct sl_slot *slot = &core->placement.slots[s];
    uint64_t offset = address - slot->address;
    if (slot->bytes > core->arena.chunk_bytes) sl_slot_learn(slot, offset);
    core->word_chunks[core->word_count] = sl_arena_chunk(&core->arena, address);
    core->words[core->word_count++] = (struct sl_access){s, offset, bytes, at_least};
    *signature = sl_hash_word(*signature, sl_mix(where << 32 | s) + offset);
}

static void scan_kernel(struct sl_core *core, const struct sl_launch *launch, const struct sl_kernel *kernel,
                        uint64_t *signature)
{
    uint64_t threads = 1;
    for (int d = 0; d < 3; d++) threads *= (uint64_t)launch->grid[d] * launch->block[d];
    *signature = sl_hash_word(*signature, (uint64_t)launch->grid[0] << 32 | launch->grid[1]);
    *signature = sl_hash_word(*signature, (uint64_t)launch->grid[2] << 32 | launch->shared_bytes);
    *signature = sl_hash_word(*signature,
                              (uint64_t)launch->block[0] << 32 | launch->block[1] << 16 | launch->block[2]);
    for (uint32_t p = 0; p < kernel->parameter_count; p++) {
        uint32_t offset = kernel->offsets[p], size = kernel->sizes[p];
        const char *value = launch->parameters ? launch->parameters[p]
                            : launch->packed && offset + (uint64_t)size <= launch->packed_bytes
                                ? (const char *)launch->packed + offset
                                : NULL;
        if (!value) continue;
        /* A pointer is aligned in the parameter block, whatever the alignment of the caller's copy. */
        for (uint32_t at = -offset & 7; at + 8 <= size; at += 8) {
            uint64_t word;
            memcpy(&word, value + at, sizeof word);
            add_word(core, word, 0, threads * 4, signature, (uint64_t)p << 16 | at);
        }
    }
}

sl_symbol sl_access_scan(struct sl_core *core, const struct sl_launch *launch, uint32_t *kernel_out)
{
    uint64_t signature = sl_hash_word(SL_SYMBOL_LAUNCH, launch->kind);
    uint32_t number = 0;
    core->word_count = 0;
    if (launch->kind == SL_LAUNCH_KERNEL) {
        number = sl_kernels_find(&core->kernels, launch->function);
        if (number) {
            signature = sl_hash_word(signature, core->kernels.kernels[number].name_hash);
            scan_kernel(core, launch, &core->kernels.kernels[number], &signature);
        }
    } else {
        for (uint32_t i = 0; i < launch->span_count; i++) {
            signature = sl_hash_word(signature, launch->spans[i].bytes << 1 | launch->spans[i].write);
            add_word(core, launch->spans[i].address, launch->spans[i].bytes, 0, &signature, i);
        }
    }
    *kernel_out = number;
    struct sl_symbol_record record = {.kind = SL_SYMBOL_LAUNCH, .access_count = core->word_count};
    return sl_symbols_intern(&core->symbols, signature, record, core->words);
}

uint64_t sl_access_end(const struct sl_slot *slot, const struct sl_access *access)
{
    if (access->bytes) return access->offset + access->bytes;
    uint64_t end = sl_slot_extent_end(slot, access->offset);
    if (end < access->offset + access->at_least) end = access->offset + access->at_least;
    return end < slot->bytes ? end : slot->bytes;
}

static bool reserve_touched(struct sl_core *core, uint32_t more)
{
    uint32_t wanted = core->touched_capacity ? core->touched_capacity : 256;
    while (wanted < core->touched_count + more) wanted *= 2;
    if (wanted == core->touched_capacity) return true;
    sl_chunk *larger = realloc(core->touched, wanted * sizeof *larger);
    if (!larger) return false;
    core->touched = larger;
    core->touched_capacity = wanted;
    return true;
}

static void touch(struct sl_core *core, sl_chunk c, sl_tick tick)
{
    struct sl_chunk_record *chunk = sl_arena_record(&core->arena, c);
    if (chunk->last_use == tick) return;
    chunk->last_use = tick;
    core->touched[core->touched_count++] = c;
}

void sl_access_chunks(struct sl_core *core, sl_tick tick)
{
    core->touched_count = 0;
    if (!reserve_touched(core, core->word_count)) return;
    for (uint32_t w = 0; w < core->word_count; w++) {
        const struct sl_access *access = &core->words[w];
        const struct sl_slot *slot = &core->placement.slots[access->slot];
        if (slot->bytes <= core->arena.chunk_bytes / 2) { /* packed: inside one chunk */
            touch(core, core->word_chunks[w], tick);
            continue;
        }
        struct sl_chunk_range range = sl_slot_chunks(&core->placement, slot, access->offset,
                                                     sl_access_end(slot, access) - access->offset);
        if (!reserve_touched(core, range.count + core->word_count)) return;
        for (uint32_t i = 0; i < range.count; i++) touch(core, range.first + i, tick);
    }
}
