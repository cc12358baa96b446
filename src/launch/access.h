/* Which memory a launch may touch, and its signature. Caller holds the order lock. */
#ifndef SLUICE_ACCESS_H
#define SLUICE_ACCESS_H

#include "launch/extents.h"
#include "launch/footprint.h"
#include "launch/kernels.h"
#include "launch/launch_cache.h"
#include "launch/pointer_tables.h"
#include "launch/symbols.h"
#include "memory/inner_tensors.h"

struct sl_launch;

#define SL_MAX_WORDS 4096     /* pointers looked at in one launch */
#define SL_BYTES_FOR_THREAD 4 /* that a kernel reaches at least, for each thread */

/* What a launch uses. */
struct sl_usage {
    sl_symbol symbol;
    uint32_t kernel;             /* its number; 0: not known, or no kernel */
    const struct sl_word *words; /* addresses of arenas that it was given: `scanned`, or a footprint's */
    uint32_t word_count;
    const struct sl_access
        *accesses; /* what they are: `resolved`, or those of the symbol that was expected */
    uint32_t access_count;
    const sl_chunk *chunks; /* each once: in `chunk_space`, or the launch cache's */
    uint32_t chunk_count;
    uint64_t pinned_bytes;                      /* that it uses zero-copy because they are pinned */
    const struct sl_launch_cache_entry *cached; /* that it was recognised by, or NULL */
    bool came_as_expected;                      /* with all of its accesses; not by the launch cache */
};

struct sl_scanner {
    struct sl_placement *placement;
    struct sl_symbols *symbols;
    struct sl_kernels kernels;
    struct sl_tables tables;
    struct sl_extents extents;
    struct sl_usage usage; /* of the launch that was scanned last, in the following arrays */
    struct sl_word scanned[SL_MAX_WORDS];
    struct sl_access *resolved;
    sl_chunk *chunk_space;
    uint32_t resolved_capacity, chunk_capacity;
    uint64_t stale_words; /* found so far */
    /* A launch beside the expected one, from which it may differ in words of structures. */
    struct sl_matching {
        bool used[SL_MAX_WORDS];
        uint32_t used_count, stale; /* accesses that are used; that are by stale words */
        uint32_t more, less; /* words of structures that it has not; accesses by such that are lacking */
        uint32_t where;      /* a hash of where these are */
    } matching;
};

/* pre: zeroed. The placement and the symbols outlive it. */
void sl_scanner_init(struct sl_scanner *scanner, const struct sl_backend *backend,
                     struct sl_placement *placement, struct sl_symbols *symbols);
void sl_scanner_close(struct sl_scanner *scanner); /* accepts a zeroed one */
/* Makes room in `resolved` for an access for each of usage.words. */
bool sl_scanner_reserve_resolved(struct sl_scanner *scanner);
/* The symbols were cleared. */
void sl_scanner_forget(struct sl_scanner *scanner);

/* What the launch uses but for its chunks, until the next one is scanned.
 * Every aligned 8-byte word of a kernel's parameters that lies in a live allocation is an access; by-value
 * structs are scanned whole. Copies and sets name their ranges themselves. A launch that is the expected one
 * is recognised by comparison: no search, no look-up of its signature; a kernel by the launch cache
 * (launch_cache.h). `stream`: its number. */
const struct sl_usage *sl_access_scan(struct sl_scanner *scanner, const struct sl_launch *launch,
                                      sl_symbol expected, uint32_t stream);

/* Adds the chunks of the launch that was just scanned, which is tick `tick`. */
void sl_access_chunks(struct sl_scanner *scanner, const struct sl_launch *launch, sl_tick tick);

/* What the launch may touch, noted for later launches; NULL when there is no memory. */
struct sl_footprint *sl_access_footprint(struct sl_scanner *scanner, const struct sl_launch *launch);

/* The words of a footprint, and what the tables among them point to now; until the next launch is scanned. */
const struct sl_usage *sl_access_footprint_words(struct sl_scanner *scanner,
                                                 const struct sl_footprint *footprint);

/* Whether both symbols are launches of one kernel that use the same chunks now: for what moves it makes no
 * difference which of them comes. False for launches that use many. */
bool sl_access_same_chunks(const struct sl_scanner *scanner, sl_symbol one, sl_symbol other);

/* Where an access ends: what the launch itself said, or the end of the tensor that begins at its offset,
 * widened to what the grid covers at least. Behind a mapping's end it goes on in those that follow. */
uint64_t sl_access_end(const struct sl_placement *placement, const struct sl_access *access);
/* The chunks that it lies in. */
struct sl_chunk_range sl_access_range(const struct sl_placement *placement, const struct sl_access *access);

#endif
