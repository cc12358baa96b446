/* Residency of managed memory, and the cost of moving it.
 *
 * The model works in blocks of 2 MiB, as the vendor's driver does. It knows no CUDA type and no clock: the
 * timing pass calls it in submission order and turns the effects into time. A block's bytes are those of its
 * allocation in it, rounded up to 64 KiB, so that a small allocation does not occupy 2 MiB.
 *
 * Invariants: resident_bytes is the sum over the blocks with SC_ON_DEVICE;
 * allocated_bytes + resident_bytes <= capacity_bytes unless allocated_bytes alone exceeds it;
 * the eviction list holds exactly the blocks with SC_ON_DEVICE, in the order in which they became resident or
 * were prefetched last.
 * Thread safety: none; one caller at a time.
 */
#ifndef SOFTCUDA_MANAGED_H
#define SOFTCUDA_MANAGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timeline.h"

#define SC_BLOCK_SHIFT 21
#define SC_BLOCK_BYTES (UINT64_C(1) << SC_BLOCK_SHIFT)

enum sc_residency { SC_ON_HOST = 1, SC_ON_DEVICE = 2 }; /* both: a read-mostly copy; none: not populated */
enum sc_place { SC_NOWHERE, SC_HOST, SC_DEVICE };

enum sc_advice {
    SC_ADVISE_READ_MOSTLY,
    SC_ADVISE_PREFERRED,   /* place: SC_NOWHERE unsets it */
    SC_ADVISE_ACCESSED_BY, /* place: the side that accesses */
    SC_ADVISE_NOT_ACCESSED_BY,
    SC_ADVISE_NOT_READ_MOSTLY,
};

/* Why bytes crossed the link. */
enum sc_cause {
    SC_CAUSE_COPY,
    SC_CAUSE_PREFETCH,
    SC_CAUSE_FAULT,
    SC_CAUSE_EVICTION,
    SC_CAUSE_REMOTE,
    SC_CAUSES
};

/* What an operation did. The caller zeroes it; functions add to it. */
struct sc_effect {
    uint64_t in[SC_CAUSES], out[SC_CAUSES]; /* bytes to and from the device */
    uint64_t faults;                        /* number of 2 MiB blocks, collapses included */
    uint64_t collapses, collapsed_bytes;    /* blocks with a copy on each side that the device wrote to */
    uint64_t unmapped_bytes;                /* of collapsed_bytes: what the CPU had page-table entries for */
    uint64_t host_faults;                   /* blocks that the CPU fetched from the device */
    uint64_t gained_bytes;                  /* device frames taken */
    uint64_t lost_bytes;                    /* device frames freed, evictions included */
    uint64_t evicted_bytes;                 /* of lost_bytes: frames freed to make room for this operation */
};

struct sc_managed_block {
    struct sc_managed_block *previous, *next; /* eviction order; NULL while not on the device */
    uint32_t bytes;
    uint8_t residency;                /* enum sc_residency, or-ed */
    uint8_t preferred, last_prefetch; /* enum sc_place */
    bool accessed_by_device, accessed_by_host, read_mostly;
    bool hidden;      /* one of two copies: the device wrote to its own, and that went unnoticed */
    bool host_mapped; /* the CPU has page-table entries for it, of a prefetch to the host */
    uint64_t home_ns; /* set when another device recalled the block: its frame counts as used until then
                         (views.h); or 0 */
};

struct sc_managed_range {
    uint64_t begin, bytes; /* begin is a multiple of SC_BLOCK_BYTES */
    size_t block_count;
    struct sc_timeline page_tables; /* when a thread changes the CPU's entries: one after the other */
    struct sc_managed_block blocks[];
};

struct sc_managed {
    uint64_t capacity_bytes, allocated_bytes, resident_bytes;
    uint64_t hide_write; /* so many writes until one to a block with two copies goes unnoticed; 0: none */
    struct sc_managed_range **ranges; /* sorted by begin */
    size_t range_count, range_capacity;
    struct sc_managed_block order; /* sentinel of the eviction list: next is evicted first */
};

void sc_managed_init(struct sc_managed *managed, uint64_t capacity_bytes);
void sc_managed_destroy(struct sc_managed *managed);

/* Adds a range. pre: begin is block-aligned and overlaps no range. false: no memory. */
bool sc_managed_allocate(struct sc_managed *managed, uint64_t begin, uint64_t bytes);
void sc_managed_free(struct sc_managed *managed, uint64_t begin, struct sc_effect *effect);

/* Changes the bytes allocated by cuMemAlloc; an increase evicts managed blocks if the device is full. */
void sc_managed_charge(struct sc_managed *managed, int64_t bytes, struct sc_effect *effect);

/* All of the functions below ignore parts of [address, address + bytes) that are not managed. */
void sc_managed_advise(struct sc_managed *managed, uint64_t address, uint64_t bytes, enum sc_advice advice,
                       enum sc_place place, struct sc_effect *effect);
void sc_managed_prefetch(struct sc_managed *managed, uint64_t address, uint64_t bytes, enum sc_place to,
                         struct sc_effect *effect);

/* Another device needs the block that holds `address`: removes it from this device, even a read-mostly
 * copy. */
void sc_managed_take_home(struct sc_managed *managed, uint64_t address, struct sc_effect *effect);

/* Blocks that lie entirely in the range lose their contents: they are on neither side and nothing is
 * copied. */
void sc_managed_discard(struct sc_managed *managed, uint64_t address, uint64_t bytes,
                        struct sc_effect *effect);

/* A kernel reads and writes this many bytes of the block that holds `address`: migrates the block, or counts
 * the bytes as remote. */
void sc_managed_touch(struct sc_managed *managed, uint64_t address, uint64_t bytes_read,
                      uint64_t bytes_written, struct sc_effect *effect);

/* Call before a copy or a memset writes the range: unpopulated blocks get a frame of the device or, if the
 * advice says so, host memory; read-mostly copies collapse onto the device, by a fault for each block. */
void sc_managed_populate(struct sc_managed *managed, uint64_t address, uint64_t bytes,
                         struct sc_effect *effect);

/* The range and the block that hold `address`, or NULL. */
struct sc_managed_range *sc_managed_range_of(struct sc_managed *managed, uint64_t address);
struct sc_managed_block *sc_managed_find(struct sc_managed *managed, uint64_t address);

/* Bytes of [address, address + bytes) that are on the device. Nothing moves. */
uint64_t sc_managed_resident(struct sc_managed *managed, uint64_t address, uint64_t bytes);

#endif
