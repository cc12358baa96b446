/* Arenas and chunks: where allocations live, and what state each chunk is in. Each device has an arena.
 *
 * Slabs of 1 GiB, aligned to 1 GiB, are taken from the backend on demand. `address >> 30` in a table of 2^17
 * small integers names the arena and its slab, a shift the chunk: the look-up takes no lock. Chunk numbers
 * are dense: slab after slab.
 *
 * The placement fields of a chunk are written under the core's order lock; `content`, `in_sequence` and
 * `out_sequence` under the lock of the direction that moves it (migrator.h), and read anywhere.
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

struct sl_chunk_record {
    uint64_t address;
    _Atomic uint64_t bytes;        /* whole 2 MiB blocks in use, 0 while no allocation is placed here */
    _Atomic uint64_t frame_bytes;  /* what its frame holds while it is resident; may outlive the allocation */
    _Atomic int content;           /* enum sl_chunk_content */
    _Atomic uint64_t in_sequence;  /* the fetch that it came or comes by; 0: known to have arrived */
    _Atomic uint64_t out_sequence; /* its last eviction or drop; 0: never */
    _Atomic uint64_t users; /* bit set of streams (stream index % 64) that used it since it last left */
    _Atomic bool unused;    /* was fetched ahead of its use and not used since */
    _Atomic uint64_t discard_sequence; /* the out movement that last discarded it; 0: never */
    bool pinned; /* in pinned host memory: it counts as resident, takes no frame and never moves */
    _Atomic sl_tick last_use;
    _Atomic sl_tick
        deadline;        /* when it is expected to be used, though nothing is planned: see successors.h */
    sl_chunk run;        /* first chunk of the allocation that covers it whole, or itself */
    uint32_t run_chunks; /* chunks of that run; 0: free */
    struct sl_chunk_bitmap *bitmap; /* what lies in a packed chunk; kept for the next time it is one */
    uint32_t run_slot;              /* of a run's first chunk: whose it is */
    uint32_t group;                 /* of a packed chunk; SL_NONE: free, or of a run */
    /* By a launch since it came, perhaps, or what came had no content: host memory has no copy of it. Kept
     * only where the backend can use it (struct sl_backend.leave). */
    _Atomic bool written;
};

struct sl_slab {
    uint64_t address;
    struct sl_chunk_record *chunks;
    uint64_t
        reservation_bytes; /* of the backend's slab that starts here; 0 for the later ones of a large one */
    uint32_t free_chunks;
    uint32_t chunk_count; /* behind them there is no memory */
    bool pinned;
    bool reserved;     /* the program says what lies where: sl_arena_reserve */
    _Atomic bool used; /* a chunk of it was in use at some time */
};

struct sl_arena {
    const struct sl_backend *backend;
    uint32_t owner; /* its core's number << SL_OWNER_SHIFT */
    uint64_t chunk_bytes;
    uint32_t chunk_shift, chunks_per_slab;
    uint32_t slab_shift; /* chunk number to slab number */
    struct sl_slab slabs[SL_MAX_SLABS];
    _Atomic uint32_t slab_count;
    _Atomic uint64_t virtual_bytes_used; /* sum of `bytes` of chunks that are in use */
    _Atomic uint64_t pinned_bytes_used;  /* those of them that are pinned */
    uint64_t pinned_bytes;               /* that the backend gave, in use or not */
    bool pinned_refused;                 /* it gives no more of it */
    struct sl_frees *frees;              /* or NULL */
    uint64_t serial; /* the stream that memory is placed for: better not what another one freed; 0: anybody */
    uint32_t chunks_used, peak_chunks_used;
    _Atomic uint32_t slabs_used; /* at some time */
};

/* `chunk_bytes`: a power of two from 2 MiB to 1 GiB. `owner` is 0 then, and may be set before the first slab
 * is taken. */
void sl_arena_init(struct sl_arena *arena, const struct sl_backend *backend, uint64_t chunk_bytes);

/* Gives the slabs back (unless `device_gone`) and frees the tables. Accepts a zeroed arena. */
void sl_arena_close(struct sl_arena *arena, bool device_gone);
/* Its memory is gone with the device's context: from now on its addresses are nobody's, and may be another's.
 */
void sl_arena_forget(const struct sl_arena *arena);

/* By `address >> 30`: the owner's number << SL_OWNER_SHIFT, and the slab's number + 1; 0: not ours. One table
 * for the process: look-ups come before anything else is known. */
extern _Atomic uint32_t sl_slab_of[SL_SLAB_TABLE];

/* Where our slabs lie, roughly: what is outside is none of ours. Only widened. */
struct sl_arena_range {
    _Atomic uint64_t low, high;
};
extern struct sl_arena_range sl_arena_range;

static inline uint32_t sl_arena_entry(uint64_t address)
{
    uint64_t index = address >> SL_SLAB_SHIFT;
    return index < SL_SLAB_TABLE ? atomic_load_explicit(&sl_slab_of[index], memory_order_acquire) : 0;
}
/* Whether it is in any arena of the process. */
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
/* Changes the chunk's content if it is `from` (both enum sl_chunk_content). The one way to do so. False
 * as well for a change that the diagram in migrator.h does not have. */
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

/* Whether [address, address + bytes) would have to wait for another stream than the one that memory is placed
 * for. */
static inline bool sl_arena_is_foreign(const struct sl_arena *arena, uint64_t address, uint64_t bytes)
{
    return arena->serial && arena->frees &&
           sl_frees_any(arena->frees, address, address + bytes, arena->serial);
}

/* What may have to be on the device. */
static inline uint64_t sl_arena_moving_bytes(const struct sl_arena *arena)
{
    return arena->virtual_bytes_used - arena->pinned_bytes_used;
}
/* Host memory that is taken. */
static inline uint64_t sl_arena_host_bytes(const struct sl_arena *arena)
{
    return sl_arena_moving_bytes(arena) + arena->pinned_bytes;
}
static inline size_t sl_arena_chunk_count(const struct sl_arena *arena)
{
    return (size_t)atomic_load_explicit(&arena->slab_count, memory_order_acquire) * arena->chunks_per_slab;
}

/* `chunk`, or, where it is the first of slabs that were never in use, the first behind them. For those who
 * look through all chunks: reservations are large, and mostly empty. */
static inline size_t sl_arena_skip_unused(const struct sl_arena *arena, size_t chunk, size_t count)
{
    while (chunk < count && chunk % arena->chunks_per_slab == 0 &&
           !atomic_load_explicit(&arena->slabs[chunk >> arena->slab_shift].used, memory_order_acquire))
        chunk += arena->chunks_per_slab;
    return chunk;
}
/* The addresses of slabs that were in use: no more than that was ever on the device. */
static inline uint64_t sl_arena_used_slab_bytes(const struct sl_arena *arena)
{
    return (uint64_t)atomic_load(&arena->slabs_used) * SL_GIB;
}

/* From now on sl_arena_owns is true for the slabs' worth of addresses that hold [address, address + bytes):
 * memory of the driver's that the core takes note of. No chunks are there. False beyond 47 bits. Caller holds
 * the order lock. */
bool sl_arena_note(uint64_t address, uint64_t bytes);

/* Keeps addresses for what the program places itself: whole slabs that follow each other, which hold at least
 * `bytes` > 0. Nothing there is in use until sl_arena_take_at. Caller holds the order lock.
 * SL_ERR_UNSUPPORTED: more than an arena has; SL_ERR_NO_MEMORY, or the backend's error. */
enum sl_status sl_arena_reserve(struct sl_arena *arena, uint64_t bytes, uint64_t *address);
/* Gives them back to the arena. pre: sl_arena_reserve gave them for as many bytes, and none is in use. */
void sl_arena_unreserve(struct sl_arena *arena, uint64_t address, uint64_t bytes);
/* Whether the chunk is at an address that the program reserved. */
static inline bool sl_arena_is_reserved(const struct sl_arena *arena, sl_chunk chunk)
{
    return arena->slabs[chunk >> arena->slab_shift].reserved;
}

/* Finds `count` free neighbouring chunks, taking a new slab if need be, and marks them used with `bytes` in
 * all: whole chunks, but for the last. Caller holds the order lock. SL_ERR_NO_MEMORY, or the backend's error.
 */
enum sl_status sl_arena_take(struct sl_arena *arena, uint64_t bytes, sl_chunk *first);
/* The same in pinned memory, of which no more than `room_bytes` bytes are taken from the backend. What was
 * taken stays pinned. */
enum sl_status sl_arena_take_pinned(struct sl_arena *arena, uint64_t bytes, uint64_t room_bytes,
                                    sl_chunk *first);
/* The same for the named chunks: false if one of them is not free. */
bool sl_arena_take_at(struct sl_arena *arena, sl_chunk first, uint64_t bytes);
/* The last chunk of a run of several is one of its own from now on. */
void sl_arena_split(struct sl_arena *arena, sl_chunk first);
/* The chunk, which is in use, has at least `bytes` in use: whole blocks. */
void sl_arena_grow(struct sl_arena *arena, sl_chunk c, uint64_t bytes);
/* Gives chunks of sl_arena_take back: nobody owns their content from now on. */
void sl_arena_give(struct sl_arena *arena, sl_chunk first);

#endif
