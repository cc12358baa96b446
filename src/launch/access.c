#include "launch/access.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define MOST_COMPARED 16   /* accesses, and chunks of one access */
#define REPEATED_WITHIN 16 /* words: about as many as a structure of operands has */

static void add_word(struct sl_scanner *scanner, const struct sl_word *word)
{
    if (!sl_arena_owns(word->address) || scanner->usage.word_count == SL_MAX_WORDS) return;
    /* An address near the driver's allocations may be host memory. */
    if (scanner->placement->noted && sl_place_find(scanner->placement, word->address) == SL_NONE) return;
    scanner->scanned[scanner->usage.word_count++] = *word;
}

/* Adds a range. One of ours lies in one allocation, or in mappings that follow each other (sl_access_end).
 * Driver mappings that follow each other are added one by one. */
static void add_span(struct sl_scanner *scanner, const struct sl_span *span, uint32_t where)
{
    struct sl_word word = {
        .address = span->address, .bytes = span->bytes, .where = where, .only_read = !span->write};
    uint64_t rest = span->bytes;
    while (scanner->placement->noted && rest) {
        uint32_t s = sl_place_find(scanner->placement, word.address);
        if (s == SL_NONE) return;
        const struct sl_slot *slot = &scanner->placement->slots[s];
        uint64_t in_slot = slot->address + slot->bytes - word.address;
        word.bytes = rest < in_slot ? rest : in_slot;
        add_word(scanner, &word);
        word.address += word.bytes;
        rest -= word.bytes;
    }
    if (rest) add_word(scanner, &word);
}

/* Notes whether the word `where` of the kernel's parameters is an address of a live allocation. */
static void note_word(struct sl_scanner *scanner, uint64_t parameter, uint32_t where, bool live)
{
    if (!sl_kernels_in_structure(&scanner->kernels, parameter, where)) return;
    struct sl_word_evidence *known = sl_kernels_evidence(&scanner->kernels, parameter, where);
    if (known) scanner->stale_words += sl_word_note(known, live);
}

/* Whether one of the launch's last words is this address. */
static bool is_repeated(const struct sl_scanner *scanner, uint64_t address)
{
    uint32_t count = scanner->usage.word_count, first = count > REPEATED_WITHIN ? count - REPEATED_WITHIN : 0;
    for (uint32_t w = first; w < count; w++)
        if (scanner->scanned[w].address == address) return true;
    return false;
}

static void scan_parameters(struct sl_scanner *scanner, const struct sl_launch *launch, uint32_t number)
{
    const struct sl_kernel *kernel = &scanner->kernels.kernels[number];
    uint32_t entries = sl_kernel_entries(launch, kernel);
    for (uint32_t w = 0; w < kernel->word_count; w++) {
        const struct sl_word_evidence *known = &kernel->words[w];
        const char *value = sl_kernel_word(launch, kernel, w);
        uint64_t word;
        if (!value || sl_word_is_stale(known) || !sl_word_is_used(known, entries)) continue;
        memcpy(&word, value, sizeof word);
        if (!sl_arena_owns(word)) {
            if (word) note_word(scanner, (uint64_t)number << 32, known->where, false);
            continue;
        }
        /* Unfilled room often holds the same address again, or nothing. */
        if (sl_kernel_in_structure(kernel, known->where) && is_repeated(scanner, word)) continue;
        add_word(scanner, &(struct sl_word){.address = word,
                                            .parameter = (uint64_t)number << 32 | known->where,
                                            .where = known->where});
    }
}

/* Three independent chains for speed: this is on the critical path of every launch. */
static uint64_t kernel_shape(const struct sl_launch *launch, uint64_t name_hash)
{
    const uint32_t *grid = launch->grid, *block = launch->block;
    uint64_t a = sl_hash_word(name_hash, (uint64_t)grid[0] << 32 | grid[1]),
             b = sl_hash_word(launch->shared_bytes, (uint64_t)grid[2] << 32 | block[2]),
             c = sl_hash_word(SL_LAUNCH_KERNEL, (uint64_t)block[0] << 32 | block[1]);
    return sl_mix(a + 3 * b + 5 * c);
}

/* Sets scanner->usage.words to the words of a footprint and the present targets of the tables among them. */
static uint64_t scan_footprint(struct sl_scanner *scanner, const struct sl_footprint *footprint)
{
    scanner->usage.words = footprint->words;
    scanner->usage.word_count = footprint->count;
    if (scanner->tables.count && footprint->count <= SL_MAX_WORDS) {
        memcpy(scanner->scanned, footprint->words, footprint->count * sizeof *scanner->scanned);
        scanner->usage.words = scanner->scanned;
        sl_tables_follow(scanner, 0);
    }
    return footprint->shape;
}

/* Sets scanner->usage.words and returns the hash of everything else about the launch. `now`: it is about to
 * be made. */
static uint64_t scan(struct sl_scanner *scanner, const struct sl_launch *launch, bool now, uint32_t *number)
{
    *number = 0;
    if (launch->footprint) return scan_footprint(scanner, launch->footprint);
    scanner->usage.words = scanner->scanned;
    scanner->usage.word_count = 0;
    if (launch->kind == SL_LAUNCH_KERNEL) {
        *number = sl_kernels_find(&scanner->kernels, launch->function);
        if (!*number) return sl_mix(SL_LAUNCH_KERNEL);
        scan_parameters(scanner, launch, *number);
        sl_tables_follow(scanner, *number);
        return kernel_shape(launch, scanner->kernels.kernels[*number].name_hash);
    }
    uint64_t shape = sl_mix(launch->kind);
    uint32_t own = launch->span_count;
    for (uint32_t i = 0; i < own + launch->more_span_count; i++) {
        const struct sl_span *span = i < own ? &launch->spans[i] : &launch->more_spans[i - own];
        shape = sl_hash_word(shape, span->bytes << 1 | span->write);
        add_span(scanner, span, i);
    }
    if (now) sl_tables_note(scanner, launch);
    return shape;
}

bool sl_scanner_reserve_resolved(struct sl_scanner *scanner)
{
    return sl_grow_by(&scanner->resolved, &scanner->resolved_capacity, 0, scanner->usage.word_count,
                      sizeof *scanner->resolved);
}

/* What a word touches, in *access. Learns where inner tensors begin. False: no live allocation.
 * `threads`: of the launch's grid. */
static inline bool access_of(struct sl_scanner *scanner, const struct sl_word *word, uint64_t threads,
                             struct sl_access *access)
{
    uint32_t s = sl_place_find(scanner->placement, word->address);
    if (s == SL_NONE) return false;
    *access = (struct sl_access){.slot = s,
                                 .name = sl_slot_name(scanner->placement, s),
                                 .where = word->where,
                                 .offset = word->address - scanner->placement->slots[s].address,
                                 .bytes = word->bytes,
                                 .parameter = word->parameter,
                                 .threads = word->threads ? word->threads : threads,
                                 .only_read = word->only_read};
    sl_extents_note(&scanner->extents, scanner->placement, access);
    return true;
}

/* What remains of a launch's shape where sizes vary. Precondition: they do not matter to it. */
static uint64_t shape_in_any_size(const struct sl_scanner *scanner, const struct sl_launch *launch)
{
    if (launch->footprint) return launch->footprint->in_any_size;
    uint32_t kernel = scanner->usage.kernel;
    return sl_hash_word(sl_mix(launch->kind), kernel ? scanner->kernels.kernels[kernel].name_hash
                                                     : launch->span_count + launch->more_span_count);
}

static uint64_t threads_of(const struct sl_launch *launch)
{
    uint64_t threads = 1;
    for (int d = 0; d < 3; d++) threads *= (uint64_t)launch->grid[d] * launch->block[d];
    return threads;
}

/* Finds the allocations that the words point into. Returns the launch's signature, which contains neither the
 * grid nor offsets where sizes vary. `stream`: its number. */
static uint64_t resolve(struct sl_scanner *scanner, const struct sl_launch *launch, uint64_t shape,
                        uint32_t stream)
{
    uint64_t threads = threads_of(launch);
    uint64_t signature = 0;
    bool vary = scanner->placement->names.vary;
    struct sl_usage *usage = &scanner->usage;
    uint32_t words = sl_scanner_reserve_resolved(scanner) ? usage->word_count : scanner->resolved_capacity;
    usage->accesses = scanner->resolved;
    usage->access_count = 0;
    for (uint32_t w = 0; w < words; w++) {
        const struct sl_word *word = &usage->words[w];
        struct sl_access *access = &scanner->resolved[usage->access_count];
        bool live = access_of(scanner, word, threads, access);
        if (usage->kernel) note_word(scanner, word->parameter, word->where, live);
        if (!live) continue;
        struct sl_slot *slot = &scanner->placement->slots[access->slot];
        if (!slot->stream) slot->stream = (uint8_t)(stream + 1);
        usage->access_count++;
        uint32_t role = sl_kernels_role(&scanner->kernels, access->parameter, access->where);
        bool any_size = sl_name_is_of_any_size(scanner->placement, access->name);
        signature = sl_signature_add(signature, role, access->name, any_size ? 0 : access->offset);
    }
    if (vary && usage->access_count && !sl_launch_has_sizes(launch))
        shape = shape_in_any_size(scanner, launch);
    return signature + sl_launch_signature(shape);
}

struct sl_footprint *sl_access_footprint(struct sl_scanner *scanner, const struct sl_launch *launch)
{
    uint32_t kernel;
    uint64_t shape = scan(scanner, launch, false, &kernel);
    struct sl_footprint *footprint = sl_footprint_new(shape, scanner->usage.words, scanner->usage.word_count);
    for (uint32_t w = 0; footprint && w < footprint->count; w++)
        footprint->words[w].threads = threads_of(launch);
    return footprint;
}

const struct sl_usage *sl_access_scan(struct sl_scanner *scanner, const struct sl_launch *launch,
                                      sl_symbol expected, uint32_t stream)
{
    struct sl_usage *usage = &scanner->usage;
    usage->symbol = expected;
    usage->cached = sl_launch_cache_match(scanner, launch, expected);
    if (usage->cached) {
        usage->kernel = usage->cached->kernel;
        return usage;
    }
    uint64_t shape = scan(scanner, launch, true, &usage->kernel);
    if (!sl_accept_expected_launch(scanner, expected, shape)) {
        uint64_t stale = scanner->stale_words;
        uint64_t signature = resolve(scanner, launch, shape, stream);
        if (scanner->stale_words != stale) return sl_access_scan(scanner, launch, expected, stream);
        struct sl_symbol_record record = {.kind = SL_SYMBOL_LAUNCH,
                                          .kernel = usage->kernel,
                                          .launch_kind = (uint8_t)(1 + launch->kind),
                                          .shape = shape,
                                          .access_count = usage->access_count};
        if (sl_is_expected_resized(scanner, launch, expected))
            sl_symbols_widen(scanner->symbols, expected, scanner->resolved);
        else if (sl_is_expected_in_any_size(scanner, launch, expected))
            sl_symbols_replace(scanner->symbols, expected, shape, scanner->resolved);
        else
            usage->symbol = sl_symbols_intern(scanner->symbols, signature, record, scanner->resolved);
        usage->came_as_expected = usage->symbol == expected;
    }
    return usage;
}

/* Whether all chunks of `one` are among those of `other`. */
static bool are_among(const struct sl_scanner *scanner, const struct sl_symbol_record *one,
                      const struct sl_symbol_record *other)
{
    const struct sl_access *accesses = scanner->symbols->accesses;
    for (uint32_t a = 0; a < one->access_count; a++) {
        struct sl_chunk_range range = sl_access_range(scanner->placement, &accesses[one->first_access + a]);
        if (range.count > MOST_COMPARED) return false;
        for (uint32_t i = 0; i < range.count; i++) {
            bool found = false;
            for (uint32_t b = 0; b < other->access_count && !found; b++) {
                struct sl_chunk_range in =
                    sl_access_range(scanner->placement, &accesses[other->first_access + b]);
                found = range.first + i - in.first < in.count;
            }
            if (!found) return false;
        }
    }
    return true;
}

bool sl_access_same_chunks(const struct sl_scanner *scanner, sl_symbol one, sl_symbol other)
{
    if (one >= scanner->symbols->count || other >= scanner->symbols->count) return false;
    const struct sl_symbol_record *a = &scanner->symbols->records[one],
                                  *b = &scanner->symbols->records[other];
    bool same_work = a->kernel ? a->kernel == b->kernel : a->shape && a->shape == b->shape;
    return a->kind == SL_SYMBOL_LAUNCH && b->kind == SL_SYMBOL_LAUNCH && same_work &&
           a->access_count <= MOST_COMPARED && b->access_count <= MOST_COMPARED && are_among(scanner, a, b) &&
           are_among(scanner, b, a);
}

static bool reserve_chunks(struct sl_scanner *scanner, uint32_t more)
{
    return sl_grow_by(&scanner->chunk_space, &scanner->chunk_capacity, scanner->usage.chunk_count, more,
                      sizeof *scanner->chunk_space);
}

static int by_number(const void *left, const void *right)
{
    sl_chunk a = *(const sl_chunk *)left, b = *(const sl_chunk *)right;
    return (a > b) - (a < b);
}

/* Lists the chunks of all words of the usage. False: out of memory. The first pass learns all inner tensors,
 * which determine the ends in the second. */
static bool list_chunks_of_words(struct sl_scanner *scanner)
{
    struct sl_usage *usage = &scanner->usage;
    uint32_t count = 0;
    usage->chunk_count = 0;
    if (!sl_scanner_reserve_resolved(scanner)) return false;
    for (uint32_t w = 0; w < usage->word_count; w++)
        count += access_of(scanner, &usage->words[w], 0, &scanner->resolved[count]);
    for (uint32_t a = 0; a < count; a++) {
        struct sl_chunk_range range = sl_access_range(scanner->placement, &scanner->resolved[a]);
        if (!reserve_chunks(scanner, range.count)) return false;
        for (uint32_t i = 0; i < range.count; i++)
            scanner->chunk_space[usage->chunk_count++] = range.first + i;
    }
    return true;
}

uint64_t sl_access_footprint_bytes(struct sl_scanner *scanner, const struct sl_footprint *footprint)
{
    scan_footprint(scanner, footprint);
    uint64_t bytes = list_chunks_of_words(scanner) ? 0 : UINT64_MAX;
    const sl_chunk *chunks = scanner->chunk_space;
    uint32_t count = bytes ? 0 : scanner->usage.chunk_count;
    scanner->usage = (struct sl_usage){0}; /* its arrays were used, and may lie elsewhere */
    if (count) qsort(scanner->chunk_space, count, sizeof *chunks, by_number);
    for (uint32_t i = 0; i < count; i++) {
        const struct sl_chunk_record *chunk = sl_arena_record(scanner->placement->arena, chunks[i]);
        if ((i == 0 || chunks[i] != chunks[i - 1]) && !chunk->pinned) bytes += atomic_load(&chunk->bytes);
    }
    return bytes;
}

static void touch(struct sl_scanner *scanner, sl_chunk c, sl_tick tick)
{
    struct sl_chunk_record *chunk = sl_arena_record(scanner->placement->arena, c);
    if (atomic_load_explicit(&chunk->last_use, memory_order_relaxed) == tick) return;
    atomic_store_explicit(&chunk->last_use, tick, memory_order_relaxed);
    scanner->chunk_space[scanner->usage.chunk_count++] = c;
}

static void list_chunks(struct sl_scanner *scanner, sl_tick tick)
{
    if (!reserve_chunks(scanner, scanner->usage.access_count)) return;
    for (uint32_t a = 0; a < scanner->usage.access_count; a++) {
        const struct sl_access *access = &scanner->usage.accesses[a];
        const struct sl_slot *slot = &scanner->placement->slots[access->slot];
        if (slot->pinned)
            scanner->usage.pinned_bytes += sl_access_end(scanner->placement, access) - access->offset;
        /* Packed: within one chunk. */
        if (slot->bytes <= scanner->placement->arena->chunk_bytes / 2 && !slot->mapped && !slot->block) {
            touch(scanner, sl_arena_chunk(scanner->placement->arena, slot->address), tick);
            continue;
        }
        struct sl_chunk_range range = sl_access_range(scanner->placement, access);
        if (!reserve_chunks(scanner, range.count + scanner->usage.access_count)) return;
        for (uint32_t i = 0; i < range.count; i++) touch(scanner, range.first + i, tick);
    }
}

void sl_access_chunks(struct sl_scanner *scanner, const struct sl_launch *launch, sl_tick tick)
{
    struct sl_usage *usage = &scanner->usage;
    if (usage->cached) {
        usage->chunks = sl_launch_cache_chunks(usage->cached);
        usage->chunk_count = usage->cached->chunk_count;
        usage->pinned_bytes = usage->cached->pinned_bytes;
        return;
    }
    usage->chunk_count = 0;
    usage->pinned_bytes = 0;
    if (!scanner->placement->noted) list_chunks(scanner, tick);
    usage->chunks = scanner->chunk_space;
    if (usage->came_as_expected) sl_launch_cache_put(scanner, launch);
}

void sl_scanner_forget(struct sl_scanner *scanner)
{
    scanner->extents.learned_symbols = 0;
    scanner->usage.cached = NULL;
    scanner->usage.accesses = scanner->resolved;
    scanner->usage.access_count = 0;
}

void sl_scanner_init(struct sl_scanner *scanner, const struct sl_backend *backend,
                     struct sl_placement *placement, struct sl_symbols *symbols)
{
    scanner->placement = placement;
    scanner->symbols = symbols;
    sl_kernels_init(&scanner->kernels, backend);
}

void sl_scanner_close(struct sl_scanner *scanner)
{
    sl_tables_close(&scanner->tables);
    sl_kernels_close(&scanner->kernels);
    free(scanner->resolved);
    free(scanner->chunk_space);
}
