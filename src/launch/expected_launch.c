#include "launch/access.h"

#include <stdlib.h>
#include <string.h>

#define MOST_DIFFERENT 2    /* words: more mean other tensors */
#define MOST_OF_ANY_SIZE 64 /* accesses whose names are compared */

/* The record of a symbol that stands for a launch, or NULL. */
static struct sl_symbol_record *launch_of(const struct sl_scanner *scanner, sl_symbol symbol)
{
    struct sl_symbol_record *record =
        symbol < scanner->symbols->count ? &scanner->symbols->records[symbol] : NULL;
    return record && record->kind == SL_SYMBOL_LAUNCH ? record : NULL;
}

static const struct sl_access *accesses_of(const struct sl_scanner *scanner,
                                           const struct sl_symbol_record *record)
{
    return &scanner->symbols->accesses[record->first_access];
}

/* Whether the access is at `address` at present. */
static bool is_at(const struct sl_scanner *scanner, const struct sl_access *access, uint64_t address)
{
    const struct sl_slot *slot = &scanner->placement->slots[access->slot];
    return slot->live && slot->address + access->offset == address;
}

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
    const struct sl_word_evidence *known = &kernel->words[w];
    if (sl_word_is_stale(known) || !sl_word_is_used(known, entries)) return true;
    if (!sl_kernel_in_structure(kernel, known->where)) return false;
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
    const struct sl_access *access = accesses_of(scanner, record);
    for (uint32_t w = 0; w < entry->word_count; w++)
        if (entry->words[w] && !is_at(scanner, access++, entry->words[w])) return false;
    return true;
}

const struct sl_launch_cache_entry *sl_launch_cache_match(struct sl_scanner *scanner,
                                                          const struct sl_launch *launch, sl_symbol symbol)
{
    struct sl_symbol_record *record = launch_of(scanner, symbol);
    struct sl_launch_cache_entry *entry = record ? record->cached : NULL;
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
    scanner->usage.accesses = accesses_of(scanner, record);
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
        bool ours =
            next < scanner->usage.word_count && scanner->usage.words[next].where == known->words[w].where;
        entry->words[w] = ours ? scanner->usage.words[next++].address : 0;
    }
    if (scanner->usage.chunk_count) /* none if sluice only records */
        memcpy(entry->words + known->word_count, scanner->usage.chunks,
               scanner->usage.chunk_count * sizeof(sl_chunk));
    if (next != scanner->usage.word_count)
        entry->extents = UINT64_MAX; /* some words did not come from parameters */
}

/* The launch uses the record's accesses, of which there are `count`. */
static void accept(struct sl_scanner *scanner, struct sl_symbol_record *record, uint32_t count)
{
    record->doubtful = 0;
    scanner->usage.accesses = accesses_of(scanner, record);
    scanner->usage.access_count = count;
    scanner->usage.came_as_expected = true;
}

/* Accepts the launch if it is the record's word by word. If so, its words need not be looked up. */
static bool accept_equal(struct sl_scanner *scanner, struct sl_symbol_record *record)
{
    if (record->access_count != scanner->usage.word_count) return false;
    const struct sl_access *accesses = accesses_of(scanner, record);
    for (uint32_t w = 0; w < scanner->usage.word_count; w++) {
        const struct sl_word *word = &scanner->usage.words[w];
        if (!is_at(scanner, &accesses[w], word->address) || accesses[w].where != word->where) return false;
    }
    accept(scanner, record, record->access_count);
    return true;
}

/* The live access of the record that matches the word, searched from `first` on; SL_NONE: none. */
static uint32_t find_access(const struct sl_scanner *scanner, const struct sl_symbol_record *record,
                            const struct sl_word *word, uint32_t first)
{
    uint32_t role = sl_kernels_role(&scanner->kernels, word->parameter, word->where);
    for (uint32_t i = 0; i < record->access_count; i++) {
        uint32_t a = first + i < record->access_count ? first + i : first + i - record->access_count;
        const struct sl_access *access = &accesses_of(scanner, record)[a];
        if (is_at(scanner, access, word->address) &&
            sl_kernels_role(&scanner->kernels, access->parameter, access->where) == role)
            return a;
    }
    return SL_NONE;
}

static bool is_by_stale_word(const struct sl_scanner *scanner, const struct sl_access *access)
{
    const struct sl_word_evidence *known =
        sl_kernels_evidence(&scanner->kernels, access->parameter, access->where);
    return known && sl_word_is_stale(known);
}

/* Whether only words of structures differ. */
static bool match(const struct sl_scanner *scanner, const struct sl_symbol_record *record,
                  struct sl_matching *matching)
{
    const struct sl_access *accesses = accesses_of(scanner, record);
    uint32_t count = record->access_count;
    memset(matching->used, 0, count);
    matching->used_count = matching->stale = matching->more = matching->less = matching->where = 0;
    for (uint32_t w = 0; w < scanner->usage.word_count; w++) {
        const struct sl_word *word = &scanner->usage.words[w];
        uint32_t a = find_access(scanner, record, word, w < count ? w : 0);
        if (a != SL_NONE) {
            matching->used[a] = true;
        } else {
            if (!sl_kernels_in_structure(&scanner->kernels, word->parameter, word->where)) return false;
            matching->more++;
            matching->where += (uint32_t)sl_mix(word->where);
        }
    }
    for (uint32_t a = 0; a < count; a++) {
        if (matching->used[a]) {
            matching->used_count++;
        } else if (is_by_stale_word(scanner, &accesses[a])) {
            matching->stale++;
        } else {
            if (!sl_kernels_in_structure(&scanner->kernels, accesses[a].parameter, accesses[a].where))
                return false;
            matching->less++;
            matching->where += (uint32_t)sl_mix(accesses[a].where);
        }
    }
    return true;
}

/* Removes the symbol's accesses by stale words. */
static void narrow(const struct sl_scanner *scanner, sl_symbol symbol, const struct sl_matching *matching)
{
    const struct sl_symbol_record *record = &scanner->symbols->records[symbol];
    const struct sl_access *accesses = accesses_of(scanner, record);
    uint64_t signature = sl_launch_signature(record->shape);
    for (uint32_t a = 0; a < record->access_count; a++) {
        if (!matching->used[a]) continue;
        uint32_t role = sl_kernels_role(&scanner->kernels, accesses[a].parameter, accesses[a].where);
        signature = sl_signature_add(signature, role, accesses[a].name, accesses[a].offset);
    }
    sl_symbols_narrow(scanner->symbols, symbol, matching->used, signature);
}

/* Accepts the launch as the expected one this time, without the accesses that it lacks. */
static bool accept_doubtful(struct sl_scanner *scanner, struct sl_symbol_record *record,
                            const struct sl_matching *matching)
{
    bool moved = matching->more && matching->less; /* an address in another place, or another address */
    bool again = record->doubtful && record->doubtful_where == matching->where;
    if (moved || matching->more + matching->less > MOST_DIFFERENT || !matching->used_count ||
        (again && record->doubtful >= SL_MOST_DOUBTFUL) || !sl_scanner_reserve_resolved(scanner))
        return false;
    record->doubtful = again ? record->doubtful + 1 : 1;
    record->doubtful_where = matching->where;
    const struct sl_access *accesses = accesses_of(scanner, record);
    scanner->usage.accesses = scanner->resolved;
    scanner->usage.access_count = 0;
    scanner->usage.came_as_expected = false;
    for (uint32_t a = 0; a < record->access_count; a++)
        if (matching->used[a]) scanner->resolved[scanner->usage.access_count++] = accesses[a];
    return true;
}

/* Accepts the launch if only words that may hold anything differ. */
static bool accept_but_for_words(struct sl_scanner *scanner, sl_symbol symbol,
                                 struct sl_symbol_record *record)
{
    struct sl_matching *matching = &scanner->matching;
    if (!scanner->usage.kernel || record->access_count > SL_MAX_WORDS || !match(scanner, record, matching))
        return false;
    if (matching->more || matching->less) return accept_doubtful(scanner, record, matching);
    if (matching->stale) narrow(scanner, symbol, matching);
    accept(scanner, record, matching->used_count);
    return true;
}

bool sl_accept_expected_launch(struct sl_scanner *scanner, sl_symbol expected, uint64_t shape)
{
    struct sl_symbol_record *record = launch_of(scanner, expected);
    return record && record->shape == shape &&
           (accept_equal(scanner, record) || accept_but_for_words(scanner, expected, record));
}

bool sl_is_expected_resized(const struct sl_scanner *scanner, const struct sl_launch *launch,
                            sl_symbol symbol)
{
    const struct sl_usage *usage = &scanner->usage;
    const struct sl_symbol_record *record = launch_of(scanner, symbol);
    if (!record || sl_launch_has_sizes(launch) || !usage->access_count ||
        record->launch_kind != 1 + launch->kind || record->kernel != usage->kernel ||
        record->access_count != usage->access_count)
        return false;
    const struct sl_access *accesses = accesses_of(scanner, record);
    for (uint32_t a = 0; a < usage->access_count; a++) {
        const struct sl_access *own = &accesses[a], *came = &usage->accesses[a];
        if (own->slot != came->slot || own->offset != came->offset || own->where != came->where ||
            own->parameter != came->parameter || own->only_read != came->only_read)
            return false;
    }
    return true;
}

/* The accesses of `count` that have this name. */
static uint32_t count_name(const struct sl_access *accesses, uint32_t count, uint32_t name)
{
    uint32_t found = 0;
    for (uint32_t a = 0; a < count; a++) found += accesses[a].name == name;
    return found;
}

bool sl_is_expected_in_any_size(const struct sl_scanner *scanner, const struct sl_launch *launch,
                                sl_symbol symbol)
{
    const struct sl_usage *usage = &scanner->usage;
    const struct sl_symbol_record *record = launch_of(scanner, symbol);
    if (!scanner->placement->names.vary || !record || sl_launch_has_sizes(launch) ||
        record->launch_kind != 1 + launch->kind || !usage->access_count ||
        record->access_count != usage->access_count || usage->access_count > MOST_OF_ANY_SIZE)
        return false;
    const struct sl_access *accesses = accesses_of(scanner, record);
    bool any_size = false;
    for (uint32_t a = 0; a < usage->access_count; a++) {
        uint32_t name = usage->accesses[a].name;
        any_size |= sl_name_is_of_any_size(scanner->placement, name);
        if (count_name(accesses, record->access_count, name) !=
            count_name(usage->accesses, usage->access_count, name))
            return false;
    }
    return any_size;
}
