/* Which memory a launch may touch, and its signature. Caller holds the order lock. */
#ifndef SLUICE_ACCESS_H
#define SLUICE_ACCESS_H

#include "extent.h"
#include "face.h"
#include "footprint.h"
#include "kernel.h"
#include "place.h"
#include "symbol.h"
#include "table.h"

struct sl_core;
struct sl_launch;

#define SL_MAX_WORDS 4096     /* pointers looked at in one launch */
#define SL_BYTES_FOR_THREAD 4 /* that a kernel reaches at least, for each thread */

struct sl_scan {
    struct sl_kernels kernels;
    struct sl_tables tables;
    struct sl_extents extents;

    /* The launch being begun. */
    uint32_t stream; /* its number */
    struct sl_word scanned[SL_MAX_WORDS];
    const struct sl_word
        *words; /* addresses of arenas that it was given: `scanned`, or those of a footprint */
    uint32_t word_count;
    struct sl_access *resolved;
    uint32_t resolved_capacity;
    const struct sl_access
        *accesses; /* what they are: `resolved`, or those of the symbol that was expected */
    uint32_t access_count;
    const sl_chunk *touched; /* its chunks, each once: in `touched_space`, or its face's */
    uint32_t touched_count, touched_capacity;
    sl_chunk *touched_space;
    uint64_t pinned_bytes;      /* that it uses in place because they are pinned */
    const struct sl_face *face; /* that it was recognised by, or NULL */
    bool came_as_expected;      /* without a face */
};

/* Sets core->scan.accesses to what the launch may touch and returns its symbol. *kernel is its number, or 0.
 * Every aligned 8-byte word of a kernel's parameters that lies in a live allocation is an access; by-value
 * structs are scanned whole. Copies and sets name their ranges themselves. A launch that is the expected one
 * is recognised by comparison: no search, no look-up of its signature; a kernel by its face (face.h). */
sl_symbol sl_access_scan(struct sl_core *core, const struct sl_launch *launch, uint32_t *kernel);

/* What the launch may touch, noted for later launches; NULL when there is no memory. */
struct sl_footprint *sl_access_footprint(struct sl_core *core, const struct sl_launch *launch);

/* Where an access ends: what the launch itself said, or the end of the tensor that begins at its offset,
 * widened to what the grid covers at least. */
uint64_t sl_access_end(const struct sl_slot *slot, const struct sl_access *access);

/* Sets core->scan.touched to the chunks of the launch that was just scanned, each once. */
void sl_access_chunks(struct sl_core *core, const struct sl_launch *launch, sl_symbol symbol,
                      uint32_t kernel);

#endif
