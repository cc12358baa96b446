/* The memory that a launch may touch, and its signature. Caller holds the order lock. */
#ifndef SLUICE_ACCESS_H
#define SLUICE_ACCESS_H

#include "base/types.h"
#include "launch/kernels.h"
#include "launch/launch.h"
#include "launch/symbols.h"
#include "memory/placement.h"

struct sl_launch;
struct sl_scanner;

/* --- extents.c: where tensors begin and end, and how far accesses reach.
 *
 * A pointer has no length. The end of a tensor is guessed from the offsets that launches were given: the next
 * higher one begins another tensor. In memory that the program maps piece by piece a tensor may extend into
 * the next mapping. The guess fails where views of one tensor interleave (the thirds of a query-key-value
 * matrix), and where memory is divided differently at different times. Two rules are learned from all known
 * launches:
 * - If a kernel reaches equally far for each thread in most tensors that one of its parameters was given, it
 *   does so in the others, even across other pointers.
 * - Without such a rule, pointers close after the first one, before a gap 16 times as long, are views of its
 *   tensor.
 *
 * An overestimate costs frames; an underestimate makes a kernel use an operand over the link. So in doubt the
 * estimate is high. Caller holds the order lock.
 */

#define SL_BYTES_FOR_THREAD 4 /* least bytes that a kernel reaches for each thread */

struct sl_extents {
    uint64_t version;         /* counts what was learned about the ends of tensors */
    uint64_t learned_version; /* version and symbols at the last sl_extents_learn */
    uint32_t learned_symbols;
    uint64_t learned_at; /* symbols fed at the last run of sl_extents_learn_if_due */
};

/* Whether the begins of the slot's inner tensors matter: an allocation of at most a chunk is used whole, but
 * a mapping may be a part of a larger tensor. */
static inline bool sl_slot_is_divided(const struct sl_placement *placement, const struct sl_slot *slot)
{
    return slot->mapped || slot->bytes > placement->arena->chunk_bytes;
}

/* Notes that a launch was given `offset` into the slot. True: the offset is new and begins a tensor. At most
 * 65536 offsets are kept. */
bool sl_slot_learn(struct sl_slot *slot, uint64_t offset);

/* Notes that a launch has this access: a tensor begins at its offset. Sets the least bytes of one of unknown
 * length from its threads. */
static inline void sl_extents_note(struct sl_extents *extents, const struct sl_placement *placement,
                                   struct sl_access *access)
{
    struct sl_slot *slot = &placement->slots[access->slot];
    if (!access->bytes) access->at_least = access->threads * SL_BYTES_FOR_THREAD;
    if (sl_slot_is_divided(placement, slot) && sl_slot_learn(slot, access->offset)) extents->version++;
}

/* Sets the least length of accesses (sl_access.at_least) from all that is known. Does nothing if nothing was
 * learned since the last call, or if out of memory. */
void sl_extents_learn(struct sl_scanner *scanner);

/* The same, but only if the symbols fed since the last time justify the cost: otherwise a program that always
 * does something new would make it revisit all earlier launches again and again. `fed`: symbols so far. */
void sl_extents_learn_if_due(struct sl_scanner *scanner, uint64_t fed);

/* The end of an access: as the launch stated it, or else the end of the tensor that begins at its offset,
 * widened to the least that the grid covers. An access may continue from a mapping into those that follow. */
uint64_t sl_access_end(const struct sl_placement *placement, const struct sl_access *access);
/* The chunks that the access lies in. */
struct sl_chunk_range sl_access_range(const struct sl_placement *placement, const struct sl_access *access);

/* Upper bound of the end of the tensor that begins at `offset`: the next learned offset, or the allocation's
 * end. */
uint64_t sl_slot_extent_end(const struct sl_slot *slot, uint64_t offset);
/* The mapping that follows `slot` without a gap; NULL: none does. */
const struct sl_slot *sl_place_next(const struct sl_placement *placement, const struct sl_slot *slot);

/* --- pointer_tables.c: tables of pointers: memory that the program filled from the host with addresses of
 * our allocations. A kernel that is given a table may touch what it points to, and what that points to in
 * turn. The same holds for a module's variables, which all of its kernels may use.
 *
 * Small copies from the host are read when they are made; tables that kernels write are not detected. Caller
 * holds the order lock.
 */

#define SL_TABLE_BYTES (16 * SL_KIB) /* larger copies are not tables */

struct sl_table {
    uint64_t begin, end; /* of the copy */
    uint32_t slot;       /* that holds it; SL_NONE: a variable does */
    uint64_t module;     /* of the variable */
    uint64_t *targets;   /* the addresses in it that are ours */
    uint32_t target_count;
    uint64_t followed; /* the last walk that came here */
};

struct sl_tables {
    struct sl_table *tables; /* sorted by `begin`, disjoint */
    uint32_t count, capacity;
    uint64_t walks;
    struct sl_variable {
        uint64_t address, bytes, module;
    } * variables; /* of modules */
    uint32_t variable_count, variable_capacity;
    bool in_variables;                  /* they hold, or held, tables */
    uint64_t words[SL_TABLE_BYTES / 8]; /* of the copy being read */
};

void sl_tables_close(struct sl_tables *tables); /* accepts a zeroed one */

/* Notes a module variable at `address`. Does nothing if out of memory. */
void sl_tables_variable(struct sl_tables *tables, uint64_t address, uint64_t bytes, uint64_t module);

/* Notes a copy or set that is about to be made: forgets the tables that it overwrites, and keeps one that it
 * writes. */
void sl_tables_note(struct sl_scanner *scanner, const struct sl_launch *launch);

/* Follows the tables that kernel `number` is given and adds their targets to the scanned words. 0: a graph,
 * whose kernels' variables were followed when its footprint was made. */
void sl_tables_follow(struct sl_scanner *scanner, uint32_t number);

#define SL_MAX_WORDS 4096 /* most pointers scanned in one launch */

/* What a launch uses. */
struct sl_usage {
    sl_symbol symbol;
    uint32_t kernel;             /* its number; 0: unknown, or not a kernel */
    const struct sl_word *words; /* arena addresses that it was given: `scanned`, or a footprint's */
    uint32_t word_count;
    const struct sl_access *accesses; /* of the words: `resolved`, or those of the expected symbol */
    uint32_t access_count;
    const sl_chunk *chunks; /* each once: in `chunk_space`, or the launch cache's */
    uint32_t chunk_count;
    uint64_t pinned_bytes;                      /* that it uses zero-copy because they are pinned */
    const struct sl_launch_cache_entry *cached; /* the entry that recognised it, or NULL */
    bool came_as_expected;                      /* with all of its accesses; not by the launch cache */
};

struct sl_scanner {
    struct sl_placement *placement;
    struct sl_symbols *symbols;
    struct sl_kernels kernels;
    struct sl_tables tables;
    struct sl_extents extents;
    struct sl_usage usage; /* of the launch scanned last, in the following arrays */
    struct sl_word scanned[SL_MAX_WORDS];
    struct sl_access *resolved;
    sl_chunk *chunk_space;
    uint32_t resolved_capacity, chunk_capacity;
    uint64_t stale_words; /* found so far */
    /* Comparison of a launch with the expected one, from which it may differ in words of structures. */
    struct sl_matching {
        bool used[SL_MAX_WORDS];
        uint32_t used_count, stale; /* accesses that are used; those of them by stale words */
        uint32_t more, less; /* words of structures without an access; accesses by such without a word */
        uint32_t where;      /* a hash of the places of these words */
    } matching;
};

/* Precondition: *scanner is zeroed. The placement and the symbols outlive it. */
void sl_scanner_init(struct sl_scanner *scanner, const struct sl_backend *backend,
                     struct sl_placement *placement, struct sl_symbols *symbols);
void sl_scanner_close(struct sl_scanner *scanner); /* accepts a zeroed one */
/* Makes room in `resolved` for one access for each of usage.words. */
bool sl_scanner_reserve_resolved(struct sl_scanner *scanner);
/* Must be called when the symbols were cleared. */
void sl_scanner_forget(struct sl_scanner *scanner);

/* Returns what the launch uses, without its chunks; valid until the next launch is scanned. Every aligned
 * 8-byte word of a kernel's parameters that points into a live allocation is an access; by-value structs are
 * scanned whole. Copies and sets name their ranges. An expected launch is recognised by comparison, without a
 * search or a look-up of its signature; an expected kernel by the launch cache (below). `stream`:
 * its number. */
const struct sl_usage *sl_access_scan(struct sl_scanner *scanner, const struct sl_launch *launch,
                                      sl_symbol expected, uint32_t stream);

/* Adds the chunks of the launch that was just scanned, at tick `tick`. */
void sl_access_chunks(struct sl_scanner *scanner, const struct sl_launch *launch, sl_tick tick);

/* A record of what the launch may touch, for later launches; NULL: out of memory. */
struct sl_footprint *sl_access_footprint(struct sl_scanner *scanner, const struct sl_launch *launch);

/* Bytes of the chunks that need frames for a launch with this footprint at present; UINT64_MAX: out of
 * memory. Learns where inner tensors begin, as the launch would. Ends what was returned of the last launch.
 */
uint64_t sl_access_footprint_bytes(struct sl_scanner *scanner, const struct sl_footprint *footprint);

/* Whether both symbols are launches of one kernel, or equal copies or memsets, that use the same chunks at
 * present, so that movements do not depend on which of them comes. False for launches with many accesses or
 * chunks. */
bool sl_access_same_chunks(const struct sl_scanner *scanner, sl_symbol one, sl_symbol other);

/* --- expected_launch.c: whether a launch is the one that the predictor expects. In a program that repeats
 * itself almost every launch is, and need not be understood again. There are three ways to recognise it, each
 * more patient than the one before:
 * - The launch cache has the last form of each expected launch of a kernel. The parameters are compared with
 *   it word by word; if they are equal, the chunks are reused.
 * - The addresses among the parameters are compared with the accesses of the symbol. They may differ in words
 *   of which there is evidence, or a suspicion, that the program does not fill them (kernels.h).
 * - The launch uses the same tensors in another size.
 * Caller holds the order lock.
 */

/* How often in a row a symbol may stand for a launch that differs from it in the same words, which the
 * program may not have filled. After that, such a launch gets another symbol. */
enum { SL_MOST_DOUBTFUL = 3 };

struct sl_launch_cache_entry {
    uint64_t handles, extents; /* the core's versions of them when the entry was stored */
    uint64_t places;           /* the placement's version at the last match */
    uint64_t function;
    uint32_t grid[3], block[3], shared_bytes;
    uint32_t kernel, word_count, chunk_count;
    uint64_t pinned_bytes;
    uint64_t words[]; /* expected address of each scanned word, or 0: none of ours; followed by the chunks */
};

static inline const sl_chunk *sl_launch_cache_chunks(const struct sl_launch_cache_entry *entry)
{
    return (const sl_chunk *)(entry->words + entry->word_count);
}

/* The entry of `symbol` if the launch is the one that the symbol stands for; NULL: it is not, or the cache
 * cannot tell. */
const struct sl_launch_cache_entry *sl_launch_cache_match(struct sl_scanner *scanner,
                                                          const struct sl_launch *launch, sl_symbol symbol);

/* Stores the entry of the launch that was just scanned. Precondition: the launch is the expected one, and its
 * chunks are known. */
void sl_launch_cache_put(struct sl_scanner *scanner, const struct sl_launch *launch);

/* Whether the words of scanner->usage make it the launch with this symbol. `shape`: a hash of everything else
 * about the launch. Differences are accepted in words that are stale (kernels.h) or that repeat an address.
 * Up to SL_MOST_DOUBTFUL times, a few words of structures may also be an address in only one of the two
 * launches: these words are likely to be stale, although they were only seen as addresses or 0. Memory that
 * only such words name does not count as used, and the launch uses it remotely. If true, sets the accesses of
 * scanner->usage, and sets came_as_expected if none is lacking. */
bool sl_accept_expected_launch(struct sl_scanner *scanner, sl_symbol expected, uint64_t shape);

/* Whether the launch that was just resolved differs from this symbol in size only: it uses the same tensors,
 * and its grid, or the length of a copy, depends on the data. */
bool sl_is_expected_resized(const struct sl_scanner *scanner, const struct sl_launch *launch,
                            sl_symbol expected);

/* Whether it uses tensors of the same names, some of which have any size. Then the kernel may differ, too,
 * since libraries choose it by the sizes. */
bool sl_is_expected_in_any_size(const struct sl_scanner *scanner, const struct sl_launch *launch,
                                sl_symbol expected);

#endif
