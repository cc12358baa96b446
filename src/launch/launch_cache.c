#include "launch/launch_cache.h"

#include <stdlib.h>
#include <string.h>

#include "launch/access.h"

/* The numbers of a kernel's launch are contiguous in both structures. */
#define SHAPE_BYTES (sizeof(uint64_t) + 7 * sizeof(uint32_t))
_Static_assert(offsetof(struct sl_launch_cache_entry, shared_bytes) + 4 -
                           offsetof(struct sl_launch_cache_entry, function) ==
                       SHAPE_BYTES &&
                   offsetof(struct sl_launch, shared_bytes) + 4 - offsetof(struct sl_launch, function) ==
                       SHAPE_BYTES,
               "compared as one piece");

/* Whether the launch matches the entry although its word `w`, which is no address there, is one. */
static bool adds_nothing(const struct sl_kernel *kernel, const struct sl_launch_cache_entry *entry,
                         uint32_t w, uint64_t address, uint32_t entries)
{
    if (sl_word_is_stale(&kernel->evidence[w]) || !sl_kernel_word_used(kernel, w, entries)) return true;
    if (!sl_kernel_word_in_structure(kernel, w)) return false;
    for (uint32_t i = 0; i < entry->word_count; i++)
        if (entry->words[i] == address) return true;
    return false;
}

/* Compares the words in the order of kernel->words. A parameter block may have hundreds of words, most of
 * which are not addresses. */
static bool same_words(const struct sl_launch *launch, const struct sl_kernel *kernel,
                       const struct sl_launch_cache_entry *entry)
{
    const uint64_t *expected = entry->words;
    uint32_t entries = sl_kernel_entries(launch, kernel);
    uint64_t low = atomic_load_explicit(&sl_arena_range.low, memory_order_relaxed);
    uint64_t span = atomic_load_explicit(&sl_arena_range.high, memory_order_relaxed) - low;
    for (uint32_t p = 0; p < kernel->parameter_count; p++) {
        const char *value = sl_kernel_parameter(launch, kernel, p);
        uint32_t at = -kernel->offsets[p] & 7;
        if (at + 8 > kernel->sizes[p]) continue;
        if (!value) return false;
        for (; at + 8 <= kernel->sizes[p]; at += 8, expected++) {
            uint64_t word;
            memcpy(&word, value + at, sizeof word);
            if (word != *expected &&
                (*expected ||
                 (word - low < span && sl_arena_owns(word) &&
                  !adds_nothing(kernel, entry, (uint32_t)(expected - entry->words), word, entries))))
                return false;
        }
    }
    return true;
}

/* Whether the allocations are where the entry saw them. */
static bool same_places(const struct sl_scanner *scanner, const struct sl_symbol_record *record,
                        const struct sl_launch_cache_entry *entry)
{
    const struct sl_access *access = &scanner->symbols->accesses[record->first_access];
    for (uint32_t w = 0; w < entry->word_count; w++) {
        if (!entry->words[w]) continue;
        const struct sl_slot *slot = &scanner->placement->slots[access->slot];
        if (!slot->live || slot->address + access->offset != entry->words[w]) return false;
        access++;
    }
    return true;
}

const struct sl_launch_cache_entry *sl_launch_cache_match(struct sl_scanner *scanner,
                                                          const struct sl_launch *launch, sl_symbol symbol)
{
    if (symbol >= scanner->symbols->count) return NULL;
    struct sl_symbol_record *record = &scanner->symbols->records[symbol];
    struct sl_launch_cache_entry *entry = record->cached;
    if (!entry || launch->kind != SL_LAUNCH_KERNEL ||
        memcmp(&launch->function, &entry->function, SHAPE_BYTES) ||
        entry->handles != scanner->kernels.version || entry->extents != scanner->extents.version)
        return NULL;
    if (!same_words(launch, &scanner->kernels.kernels[entry->kernel], entry)) return NULL;
    if (entry->places != scanner->placement->version) {
        if (!same_places(scanner, record, entry)) return NULL;
        entry->places = scanner->placement->version;
    }
    record->doubtful = 0;
    scanner->usage.accesses = &scanner->symbols->accesses[record->first_access];
    scanner->usage.access_count = record->access_count;
    return entry;
}

/* Required by same_places, which walks both arrays in step. */
static bool in_order_of_words(const struct sl_scanner *scanner)
{
    const struct sl_usage *usage = &scanner->usage;
    for (uint32_t a = 0; a < usage->access_count && usage->access_count == usage->word_count; a++) {
        const struct sl_access *access = &usage->accesses[a];
        if (scanner->placement->slots[access->slot].address + access->offset != usage->words[a].address)
            return false;
    }
    return usage->access_count == usage->word_count;
}

void sl_launch_cache_put(struct sl_scanner *scanner, const struct sl_launch *launch)
{
    sl_symbol symbol = scanner->usage.symbol;
    uint32_t kernel = scanner->usage.kernel;
    struct sl_symbol_record *record = &scanner->symbols->records[symbol];
    if (!kernel || !in_order_of_words(scanner)) return;
    const struct sl_kernel *known = &scanner->kernels.kernels[kernel];
    struct sl_launch_cache_entry *entry =
        realloc(record->cached, sizeof *entry + known->word_count * sizeof entry->words[0] +
                                    scanner->usage.chunk_count * sizeof(sl_chunk));
    if (!entry) return;
    record->cached = entry;
    *entry = (struct sl_launch_cache_entry){.handles = scanner->kernels.version,
                                            .extents = scanner->extents.version,
                                            .places = scanner->placement->version,
                                            .kernel = kernel,
                                            .word_count = known->word_count,
                                            .chunk_count = scanner->usage.chunk_count,
                                            .pinned_bytes = scanner->usage.pinned_bytes};
    memcpy(&entry->function, &launch->function, SHAPE_BYTES);
    uint32_t next = 0;
    for (uint32_t w = 0; w < known->word_count; w++) {
        bool ours = next < scanner->usage.word_count && scanner->usage.words[next].where == known->words[w];
        entry->words[w] = ours ? scanner->usage.words[next++].address : 0;
    }
    if (scanner->usage.chunk_count) /* none if sluice only records */
        memcpy(entry->words + known->word_count, scanner->usage.chunks,
               scanner->usage.chunk_count * sizeof(sl_chunk));
    if (next != scanner->usage.word_count)
        entry->extents = UINT64_MAX; /* some words did not come from parameters */
}
