/* Arenas and chunks: where allocations live, and the state of each chunk. Each device has an arena.
 *
 * An arena takes slabs of 1 GiB, aligned to 1 GiB, from the backend on demand. `address >> 30` indexes a
 * table of 2^17 small integers that name the arena and its slab; a shift gives the chunk. The look-up takes
 * no lock. Chunk numbers are dense: slab after slab.
 *
 * The core's order lock guards writes to a chunk's placement fields. The lock of the direction that moves the
 * chunk (migrator.h) guards writes to `content`, `in_sequence` and `out_sequence`, which are read anywhere.
 */
#ifndef SLUICE_ARENA_H
#define SLUICE_ARENA_H

#include <stdatomic.h>

#include "base/check.h"
#include "device/backend.h"
#include "memory/chunk_bitmap.h"
#include "memory/content.h"
#include "memory/frees.h"

#define SL_SLAB_SHIFT 30
#define SL_SLAB_TABLE ((size_t)1 << 17) /* 47 bits of address */
#define SL_MAX_SLABS 4096
#define SL_OWNER_SHIFT 16
#define SL_SLABS_OPEN 16

struct sl_chunk_record {
    uint64_t address;
    _Atomic uint64_t bytes;        /* whole 2 MiB blocks in use; 0: no allocation is placed here */
    _Atomic uint64_t frame_bytes;  /* size of its frame while it is resident; may outlive the allocation */
    _Atomic int content;           /* enum sl_chunk_content */
    _Atomic uint64_t in_sequence;  /* its latest fetch; 0: known to have arrived */
    _Atomic uint64_t out_sequence; /* its last eviction or discard; 0: never */
    _Atomic uint64_t users;        /* streams (bit index % 64) that used it since it was last evicted */
    _Atomic bool unused;           /* was prefetched and not used since */
    _Atomic uint64_t discard_sequence; /* the outward movement that last discarded it; 0: never */
    _Atomic bool copied;               /* it was copied out, and was not discarded since */
    bool pinned; /* in pinned host memory: counts as resident, takes no frame and never moves */
    _Atomic sl_tick last_use;
    sl_chunk run;        /* first chunk of the allocation that covers this chunk whole, or this chunk */
    uint32_t run_chunks; /* chunks of that run; 0: free */
    struct sl_chunk_bitmap *bitmap; /* allocations of a packed chunk; kept for its next use as one */
    uint32_t run_slot;              /* of a run's first chunk: the slot that owns the run */
    uint32_t group;                 /* of a packed chunk; SL_NONE: the chunk is free, or part of a run */
};

struct sl_slab {
    uint64_t address;
    struct sl_chunk_record *chunks;
    uint64_t
        reservation_bytes; /* of the backend slab that starts here; 0 for the later slabs of a large one */
    uint32_t free_chunks;
    uint32_t chunk_count; /* there is no memory beyond them; 0: the slab was given up */
    bool pinned;
    bool reserved;                /* the program places allocations here: sl_arena_reserve */
    _Atomic uint32_t used_chunks; /* no chunk from here on has ever been in use */
};

struct sl_arena {
    const struct sl_backend *backend;
    uint32_t owner; /* core number << SL_OWNER_SHIFT */
    uint64_t chunk_bytes;
    uint32_t chunk_shift, chunks_per_slab;
    uint32_t slab_shift; /* chunk number to slab number */
    struct sl_slab slabs[SL_MAX_SLABS];
    _Atomic uint32_t slab_count;
    _Atomic uint64_t virtual_bytes_used; /* sum of `bytes` of the chunks in use */
    _Atomic uint64_t pinned_bytes_used;  /* the pinned part of it */
    uint64_t pinned_bytes;               /* given by the backend, in use or not */
    bool pinned_refused;                 /* the backend gives no more pinned memory */
    struct sl_frees *frees;              /* may be NULL */
    uint64_t serial;              /* the stream to place memory for: avoid memory that others freed; 0: any */
    uint32_t open[SL_SLABS_OPEN]; /* slabs that take allocations in turn; SL_NONE: not taken yet */
    uint32_t open_count, turn;    /* turn: that takes the next one */
    uint32_t chunks_used, peak_chunks_used;
    _Atomic uint64_t chunks_touched; /* sum of `used_chunks` */
};

/* `chunk_bytes`: a power of two from 2 MiB to 1 GiB. `owner` starts as 0 and may be set before the first slab
 * is taken. */
void sl_arena_init(struct sl_arena *arena, const struct sl_backend *backend, uint64_t chunk_bytes);

/* Places what comes from here on in `count` slabs by turns, from 1 to SL_SLABS_OPEN, so that as many threads
 * can move it at once: a driver changes the page tables of a slab by one thread at a time
 * (docs/driver-model.md). What is reserved or pinned is placed as before. */
void sl_arena_spread(struct sl_arena *arena, uint32_t count);

/* Gives the slabs back (unless `device_gone`) and frees the tables. Accepts a zeroed arena. */
void sl_arena_close(struct sl_arena *arena, bool device_gone);
/* The arena's memory is gone with the device's context: releases its addresses, which another arena may
 * get. */
void sl_arena_forget(const struct sl_arena *arena);

/* Indexed by `address >> 30`: the owner (core number << SL_OWNER_SHIFT) and the slab number + 1; 0: not ours.
 * There is one table for the process because the look-up is what finds the arena. */
extern _Atomic uint32_t sl_slab_of[SL_SLAB_TABLE];

/* Bounds of all slabs: an address outside is not ours. Only ever widened. */
struct sl_arena_range {
    _Atomic uint64_t low, high;
};
extern struct sl_arena_range sl_arena_range;

static inline uint32_t sl_arena_entry(uint64_t address)
{
    uint64_t index = address >> SL_SLAB_SHIFT;
    return index < SL_SLAB_TABLE ? atomic_load_explicit(&sl_slab_of[index], memory_order_acquire) : 0;
}
/* Whether any arena of the process holds `address`. */
static inline bool sl_arena_owns(uint64_t address)
{
    return sl_arena_entry(address) != 0;
}

/* Slab number + 1; 0: not this arena's. */
static inline uint32_t sl_arena_slab(const struct sl_arena *arena, uint64_t address)
{
    uint32_t slab = sl_arena_entry(address) ^ arena->owner;
    return slab >> SL_OWNER_SHIFT ? 0 : slab;
}

/* The chunk that holds `address`, or SL_NONE. Lock-free. */
static inline sl_chunk sl_arena_chunk(const struct sl_arena *arena, uint64_t address)
{
    uint32_t slab = sl_arena_slab(arena, address);
    if (!slab) return SL_NONE;
    return ((slab - 1) << arena->slab_shift) + (sl_chunk)((address & (SL_GIB - 1)) >> arena->chunk_shift);
}

static inline struct sl_chunk_record *sl_arena_record(const struct sl_arena *arena, sl_chunk chunk)
{
    SL_CHECK_ALL(chunk >> arena->slab_shift < atomic_load(&arena->slab_count));
    return &arena->slabs[chunk >> arena->slab_shift].chunks[chunk & (arena->chunks_per_slab - 1)];
}
/* Changes the chunk's content from `from` to `to` (both enum sl_chunk_content). All changes go through this
 * function. False: the content is not `from`, or the diagram in migrator.h has no such change. */
bool sl_content_change(struct sl_chunk_record *chunk, int from, int to);

/* Whether the chunk is on the device, or on its way there. */
static inline bool sl_content_is_resident(int content)
{
    return content == SL_CONTENT_RESIDENT || content == SL_CONTENT_RESIDENT_DEAD;
}

static inline bool sl_content_is_dead(int content)
{
    return content == SL_CONTENT_DEAD || content == SL_CONTENT_RESIDENT_DEAD;
}

static inline bool sl_chunk_is_resident(const struct sl_chunk_record *chunk)
{
    return sl_content_is_resident(atomic_load(&chunk->content));
}

/* Whether the user of [address, address + bytes) would have to wait for a stream other than the one that
 * memory is placed for. */
static inline bool sl_arena_is_foreign(const struct sl_arena *arena, uint64_t address, uint64_t bytes)
{
    return arena->serial && arena->frees &&
           sl_frees_any(arena->frees, address, address + bytes, arena->serial);
}

/* Bytes that may have to be on the device. */
static inline uint64_t sl_arena_moving_bytes(const struct sl_arena *arena)
{
    return arena->virtual_bytes_used - arena->pinned_bytes_used;
}
/* Host memory in use. */
static inline uint64_t sl_arena_host_bytes(const struct sl_arena *arena)
{
    return sl_arena_moving_bytes(arena) + arena->pinned_bytes;
}
static inline size_t sl_arena_chunk_count(const struct sl_arena *arena)
{
    return (size_t)atomic_load_explicit(&arena->slab_count, memory_order_acquire) * arena->chunks_per_slab;
}

/* Returns `chunk`, or the next one that has ever been in use. Speeds up loops over all chunks: slabs are
 * large and mostly empty. */
static inline size_t sl_arena_skip_unused(const struct sl_arena *arena, size_t chunk, size_t count)
{
    uint32_t in_slab = arena->chunks_per_slab - 1;
    while (chunk < count &&
           (chunk & in_slab) >= atomic_load_explicit(&arena->slabs[chunk >> arena->slab_shift].used_chunks,
                                                     memory_order_acquire))
        chunk = (chunk | in_slab) + 1;
    return chunk;
}
/* An upper bound of the memory that was ever on the device. */
static inline uint64_t sl_arena_touched_bytes(const struct sl_arena *arena)
{
    return atomic_load(&arena->chunks_touched) << arena->chunk_shift;
}

/* Makes sl_arena_owns true for the slabs that hold [address, address + bytes): driver memory that the core
 * takes note of. No chunks are there. False beyond 47 bits of address. Caller holds the order lock. */
bool sl_arena_note(uint64_t address, uint64_t bytes);

/* Reserves addresses for allocations that the program places: whole, contiguous slabs of at least `bytes`
 * > 0. Nothing there is in use until sl_arena_take_at. Caller holds the order lock. SL_ERR_UNSUPPORTED: more
 * than an arena has; SL_ERR_NO_MEMORY, or the backend's error. */
enum sl_status sl_arena_reserve(struct sl_arena *arena, uint64_t bytes, uint64_t *address);
/* Gives a reservation back to the arena. Precondition: sl_arena_reserve returned it for as many bytes, and no
 * chunk of it is in use. */
void sl_arena_unreserve(struct sl_arena *arena, uint64_t address, uint64_t bytes);
/* Gives up the slabs of a reservation for ever: they are nobody's addresses from here on, and their chunks
 * have no memory; as chunks of pinned memory, they never move. Same precondition; none of the chunks is
 * resident, and the caller holds the order lock and those of both directions. */
void sl_arena_give_up(struct sl_arena *arena, uint64_t address, uint64_t bytes, uint32_t *first_slab);
/* Gives the memory of these slabs back to the backend, once nothing moves there. */
void sl_arena_delete(struct sl_arena *arena, uint32_t first_slab, uint64_t bytes);
/* Whether the program reserved the chunk's address. */
static inline bool sl_arena_is_reserved(const struct sl_arena *arena, sl_chunk chunk)
{
    return arena->slabs[chunk >> arena->slab_shift].reserved;
}

/* Finds `count` free neighbouring chunks, takes a new slab if needed, and marks the chunks used with `bytes`
 * in all: all but the last are used whole. Caller holds the order lock. SL_ERR_NO_MEMORY, or the backend's
 * error. */
enum sl_status sl_arena_take(struct sl_arena *arena, uint64_t bytes, sl_chunk *first);
/* The same in pinned memory. Takes at most `room_bytes` bytes from the backend, which stay pinned. */
enum sl_status sl_arena_take_pinned(struct sl_arena *arena, uint64_t bytes, uint64_t room_bytes,
                                    sl_chunk *first);
/* The same for the named chunks. False: one of them is not free. */
bool sl_arena_take_at(struct sl_arena *arena, sl_chunk first, uint64_t bytes);
/* Makes the last chunk of a run of several a run of its own. */
void sl_arena_split(struct sl_arena *arena, sl_chunk first);
/* Raises the bytes in use of a chunk in use to at least `bytes`, in whole blocks. */
void sl_arena_grow(struct sl_arena *arena, sl_chunk c, uint64_t bytes);
/* Frees chunks of sl_arena_take. Their content is dead from here on. */
void sl_arena_give(struct sl_arena *arena, sl_chunk first);

#endif
