/* Types that every part shares. docs/words.md lists all terms.
 *
 * Invariants:
 *   address >> 30 names a slab, (address & (1 GiB - 1)) / chunk bytes a chunk in it
 *   sum of used bytes of chunks that are resident or on their way in, or not yet out  <=  budget
 */
#ifndef SLUICE_TYPES_H
#define SLUICE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_KIB ((uint64_t)1 << 10)
#define SL_MIB ((uint64_t)1 << 20)
#define SL_GIB ((uint64_t)1 << 30)
#define SL_NONE UINT32_MAX          /* no index: of a chunk, a slot, a symbol, an action */
#define SL_BLOCK_BYTES (2 * SL_MIB) /* the driver's unit of residency */

typedef uint64_t sl_tick;
typedef uint32_t sl_chunk;  /* index into the chunk table */
typedef uint32_t sl_symbol; /* see launch/symbols.h */

static inline uint64_t sl_least(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}
static inline uint64_t sl_most(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* Actions on a chunk: plans choose them, the link carries them out, traces record them. */
enum sl_action_kind {
    SL_ACTION_EVICT,    /* copy out, then free the frame */
    SL_ACTION_DISCARD,  /* dead content: free the frame without a copy */
    SL_ACTION_FETCH,    /* copy in */
    SL_ACTION_POPULATE, /* a frame for a chunk without content: no copy */
};

/* The result of a function. */
enum sl_status {
    SL_OK = 0,
    SL_ERR_NO_MEMORY,   /* host or virtual device memory is exhausted */
    SL_ERR_INVALID,     /* an argument, or an address that is not ours */
    SL_ERR_UNSUPPORTED, /* the driver or the device cannot do it */
    SL_ERR_DRIVER,      /* a driver call failed; logged where it happened */
    SL_ERR_IO,          /* a file or a thread; errno was logged */
    SL_ERR_FORMAT,      /* a file from outside is not what it claims */
    SL_ERR_VERSION,     /* a file from a newer sluice */
    SL_ERR_TRUNCATED,   /* a file ends early; the part before is valid */
    SL_ERR_LOST,        /* the driver or the context fails every call from now on; the program learns of it */
};

/* A short lower-case phrase for a status, never NULL. */
const char *sl_status_text(enum sl_status status);

#endif
