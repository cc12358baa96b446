/* The memory that a launch may touch, and its signature. Caller holds the order lock. */
#ifndef SLUICE_ACCESS_H
#define SLUICE_ACCESS_H

#include "launch/extents.h"
#include "launch/kernels.h"
#include "launch/launch.h"
#include "launch/pointer_tables.h"
#include "launch/symbols.h"

struct sl_launch;

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
 * search or a look-up of its signature; an expected kernel by the launch cache (expected_launch.h). `stream`:
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

#endif
