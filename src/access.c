#include "access.h"

#include "core.h"

#include <stdlib.h>
#include <string.h>

/* `kernel`: its number, or 0 for a range of `bytes` bytes. */
static void add_word(struct sl_core *core, uint64_t address, uint64_t bytes, uint32_t kernel, uint32_t where,
                     bool only_read)
{
    if (!sl_arena_owns(address) || core->scan.word_count == SL_MAX_WORDS) return;
    /* What is near the driver's allocations need not be one: there is host memory, too. */
    if (core->placement.noted && sl_place_find(&core->placement, address) == SL_MAP_NONE) return;
    core->scan.scanned[core->scan.word_count++] =
        (struct sl_word){.address = address,
                         .bytes = bytes,
                         .parameter = kernel ? (uint64_t)kernel << 32 | where : 0,
                         .where = where,
                         .only_read = only_read};
}

/* A range. One of ours lies in one allocation; mappings of the driver's may follow each other. */
static void add_span(struct sl_core *core, const struct sl_span *span, uint32_t where)
{
    uint64_t address = span->address, rest = span->bytes;
    while (core->placement.noted && rest) {
        uint32_t s = sl_place_find(&core->placement, address);
        if (s == SL_MAP_NONE) return;
        uint64_t in_slot = core->placement.slots[s].address + core->placement.slots[s].bytes - address;
        uint64_t bytes = rest < in_slot ? rest : in_slot;
        add_word(core, address, bytes, 0, where, !span->write);
        address += bytes;
        rest -= bytes;
    }
    if (rest) add_word(core, address, rest, 0, where, !span->write);
}

static void scan_parameters(struct sl_core *core, const struct sl_launch *launch, uint32_t number)
{
    const struct sl_kernel *kernel = &core->scan.kernels.kernels[number];
    for (uint32_t w = 0; w < kernel->word_count; w++) {
        const char *value = sl_kernel_word(launch, kernel, w);
        uint64_t word;
        if (!value) continue;
        memcpy(&word, value, sizeof word);
        add_word(core, word, 0, number, kernel->words[w], false);
    }
}

/* Three chains side by side: this is on the path of every launch. */
static uint64_t kernel_shape(const struct sl_launch *launch, uint64_t name_hash)
{
    const uint32_t *grid = launch->grid, *block = launch->block;
    uint64_t a = sl_hash_word(name_hash, (uint64_t)grid[0] << 32 | grid[1]),
             b = sl_hash_word(launch->shared_bytes, (uint64_t)grid[2] << 32 | block[2]),
             c = sl_hash_word(SL_LAUNCH_KERNEL, (uint64_t)block[0] << 32 | block[1]);
    return sl_mix(a + 3 * b + 5 * c);
}

/* The words of a footprint, and what the tables among them point to now. */
static uint64_t scan_footprint(struct sl_core *core, const struct sl_footprint *footprint)
{
    core->scan.words = footprint->words;
    core->scan.word_count = footprint->count;
    if (core->scan.tables.count && footprint->count <= SL_MAX_WORDS) {
        memcpy(core->scan.scanned, footprint->words, footprint->count * sizeof *core->scan.scanned);
        core->scan.words = core->scan.scanned;
        sl_tables_follow(core, 0);
    }
    return footprint->shape;
}

/* Sets core->scan.words and returns the hash of everything else about the launch. `now`: it is about to be
 * made.
 */
static uint64_t scan(struct sl_core *core, const struct sl_launch *launch, bool now, uint32_t *number)
{
    *number = 0;
    if (launch->footprint) return scan_footprint(core, launch->footprint);
    core->scan.words = core->scan.scanned;
    core->scan.word_count = 0;
    if (launch->kind == SL_LAUNCH_KERNEL) {
        *number = sl_kernels_find(&core->scan.kernels, launch->function);
        if (!*number) return sl_mix(SL_LAUNCH_KERNEL);
        scan_parameters(core, launch, *number);
        sl_tables_follow(core, *number);
        return kernel_shape(launch, core->scan.kernels.kernels[*number].name_hash);
    }
    uint64_t shape = sl_mix(launch->kind);
    uint32_t own = launch->span_count;
    for (uint32_t i = 0; i < own + launch->more_span_count; i++) {
        const struct sl_span *span = i < own ? &launch->spans[i] : &launch->more_spans[i - own];
        shape = sl_hash_word(shape, span->bytes << 1 | span->write);
        add_span(core, span, i);
    }
    if (now) sl_tables_note(core, launch);
    return shape;
}

/* Is the launch the one with this symbol? Its words need not be looked up then. */
static bool is_launch(struct sl_core *core, sl_symbol symbol, uint64_t shape)
{
    if (symbol >= core->symbols.count) return false;
    const struct sl_symbol_record *record = &core->symbols.records[symbol];
    if (record->kind != SL_SYMBOL_LAUNCH || record->shape != shape ||
        record->access_count != core->scan.word_count)
        return false;
    const struct sl_access *accesses = &core->symbols.accesses[record->first_access];
    for (uint32_t w = 0; w < core->scan.word_count; w++) {
        const struct sl_slot *slot = &core->placement.slots[accesses[w].slot];
        if (!slot->live || slot->address + accesses[w].offset != core->scan.words[w].address ||
            accesses[w].where != core->scan.words[w].where)
            return false;
    }
    core->scan.accesses = accesses;
    core->scan.access_count = record->access_count;
    return true;
}

static bool reserve_resolved(struct sl_core *core)
{
    uint32_t wanted = core->scan.resolved_capacity ? core->scan.resolved_capacity : SL_MAX_WORDS;
    while (wanted < core->scan.word_count) wanted *= 2;
    if (wanted == core->scan.resolved_capacity) return true;
    struct sl_access *larger = realloc(core->scan.resolved, wanted * sizeof *larger);
    if (!larger) return false;
    core->scan.resolved = larger;
    core->scan.resolved_capacity = wanted;
    return true;
}

/* Finds the allocations that the words point into and learns where their inner tensors begin. Returns the
 * launch's signature. `threads`: of the launch's grid. */
static uint64_t resolve(struct sl_core *core, uint64_t shape, uint64_t threads)
{
    uint64_t signature = sl_launch_signature(shape);
    uint32_t words = reserve_resolved(core) ? core->scan.word_count : core->scan.resolved_capacity;
    core->scan.accesses = core->scan.resolved;
    core->scan.access_count = 0;
    for (uint32_t w = 0; w < words; w++) {
        const struct sl_word *word = &core->scan.words[w];
        uint32_t s = sl_place_find(&core->placement, word->address);
        if (s == SL_MAP_NONE) continue;
        struct sl_slot *slot = &core->placement.slots[s];
        if (!slot->stream) slot->stream = (uint8_t)(core->scan.stream + 1);
        struct sl_access access = {.slot = s,
                                   .where = word->where,
                                   .offset = word->address - slot->address,
                                   .bytes = word->bytes,
                                   .parameter = word->parameter,
                                   .threads = word->threads ? word->threads : threads,
                                   .only_read = word->only_read};
        if (!access.bytes) access.at_least = access.threads * SL_BYTES_FOR_THREAD;
        if (slot->bytes > core->arena.chunk_bytes && sl_slot_learn(slot, access.offset))
            core->scan.extents.version++;
        core->scan.resolved[core->scan.access_count++] = access;
        signature = sl_signature_add(signature, &access);
    }
    return signature;
}

static uint64_t threads_of(const struct sl_launch *launch)
{
    uint64_t threads = 1;
    for (int d = 0; d < 3; d++) threads *= (uint64_t)launch->grid[d] * launch->block[d];
    return threads;
}

struct sl_footprint *sl_access_footprint(struct sl_core *core, const struct sl_launch *launch)
{
    uint32_t kernel;
    uint64_t shape = scan(core, launch, false, &kernel);
    struct sl_footprint *footprint = sl_footprint_new(shape, core->scan.words, core->scan.word_count);
    for (uint32_t w = 0; footprint && w < footprint->count; w++)
        footprint->words[w].threads = threads_of(launch);
    return footprint;
}

sl_symbol sl_access_scan(struct sl_core *core, const struct sl_launch *launch, uint32_t *kernel_out)
{
    sl_symbol expected = sl_history_expected(&core->history, core->scan.stream), symbol = expected;
    core->scan.face = sl_face_match(core, launch, expected);
    if (core->scan.face) {
        *kernel_out = core->scan.face->kernel;
        return expected;
    }
    uint32_t kernel;
    uint64_t shape = scan(core, launch, true, &kernel);
    if (!is_launch(core, symbol, shape)) {
        uint64_t signature = resolve(core, shape, threads_of(launch));
        struct sl_symbol_record record = {.kind = SL_SYMBOL_LAUNCH,
                                          .kernel = kernel,
                                          .shape = shape,
                                          .access_count = core->scan.access_count};
        symbol = sl_symbols_intern(&core->symbols, signature, record, core->scan.resolved);
    }
    core->scan.came_as_expected = symbol == expected;
    *kernel_out = kernel;
    return symbol;
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
    uint32_t wanted = core->scan.touched_capacity ? core->scan.touched_capacity : 256;
    while (wanted < core->scan.touched_count + more) wanted *= 2;
    if (wanted == core->scan.touched_capacity) return true;
    sl_chunk *larger = realloc(core->scan.touched_space, wanted * sizeof *larger);
    if (!larger) return false;
    core->scan.touched_space = larger;
    core->scan.touched_capacity = wanted;
    return true;
}

static void touch(struct sl_core *core, sl_chunk c, sl_tick tick)
{
    struct sl_chunk_record *chunk = sl_arena_record(&core->arena, c);
    if (atomic_load_explicit(&chunk->last_use, memory_order_relaxed) == tick) return;
    atomic_store_explicit(&chunk->last_use, tick, memory_order_relaxed);
    core->scan.touched_space[core->scan.touched_count++] = c;
}

static void list_chunks(struct sl_core *core, sl_tick tick)
{
    if (!reserve_touched(core, core->scan.access_count)) return;
    for (uint32_t a = 0; a < core->scan.access_count; a++) {
        const struct sl_access *access = &core->scan.accesses[a];
        const struct sl_slot *slot = &core->placement.slots[access->slot];
        if (slot->pinned) core->scan.pinned_bytes += sl_access_end(slot, access) - access->offset;
        if (slot->bytes <= core->arena.chunk_bytes / 2) { /* packed: inside one chunk */
            touch(core, sl_arena_chunk(&core->arena, slot->address), tick);
            continue;
        }
        struct sl_chunk_range range = sl_slot_chunks(&core->placement, slot, access->offset,
                                                     sl_access_end(slot, access) - access->offset);
        if (!reserve_touched(core, range.count + core->scan.access_count)) return;
        for (uint32_t i = 0; i < range.count; i++) touch(core, range.first + i, tick);
    }
}

void sl_access_chunks(struct sl_core *core, const struct sl_launch *launch, sl_symbol symbol, uint32_t kernel)
{
    if (core->scan.face) {
        core->scan.touched = sl_face_chunks(core->scan.face);
        core->scan.touched_count = core->scan.face->chunk_count;
        core->scan.pinned_bytes = core->scan.face->pinned_bytes;
        return;
    }
    core->scan.touched_count = 0;
    core->scan.pinned_bytes = 0;
    if (!core->placement.noted) list_chunks(core, core->ticks.now);
    core->scan.touched = core->scan.touched_space;
    if (core->scan.came_as_expected) sl_face_keep(core, launch, symbol, kernel);
}
