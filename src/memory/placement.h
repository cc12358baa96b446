/* Placement: which address an allocation gets, and what its name (slot) is.
 *
 * Where in chunks it lies, suballocator.h says. A slot takes its last place again if that is free, so a
 * program that repeats itself finds every allocation where it was an iteration ago. While the core only
 * records, the driver has chosen the address, and no chunk is involved. Caller holds the order lock
 * throughout.
 */
#ifndef SLUICE_PLACE_H
#define SLUICE_PLACE_H

#include "base/backing.h"
#include "base/map.h"
#include "base/range.h"
#include "memory/arena.h"
#include "memory/suballocator.h"

#define SL_ALLOCATION_ALIGN SL_GRANULE_BYTES

struct sl_slot {
    uint64_t site, bytes; /* as requested */
    uint32_t key;         /* index of its (site, bytes) */
    uint32_t ordinal;     /* among the slots of that key */
    uint32_t age;         /* of a live one: how many of its key are older; where names go by age */
    bool live;
    bool pinned;            /* it lies in pinned memory */
    bool mapped;            /* the program chose where it lies, or lay last */
    bool block;             /* the program's own allocator says where it lies, in memory that it mapped */
    bool leaving;           /* it was freed, and other devices may still use it: core/late_frees.h */
    bool begins;            /* of a mapping: launches were given offset 0, so a tensor begins there */
    uint8_t home;           /* 1 + the number of the stream that it was last allocated for; 0: anybody */
    uint8_t stream;         /* 1 + the number of the first one whose launches were seen to use it; or 0 */
    uint32_t tag;           /* of the live allocation: the shim's */
    uint64_t number;        /* of the live allocation: never another's */
    sl_tick mapped_at;      /* of a mapping: 1 + the last launch that had begun before */
    uint64_t address;       /* where it is, or was last; 0: nowhere yet */
    sl_symbol taken, freed; /* what stands for its allocation and its free; 0: not known yet */
    uint64_t *interior;     /* offsets > 0 that launches were given, sorted: where its inner tensors begin */
    uint32_t interior_count, interior_capacity;
};

struct sl_slot_key {
    uint64_t site, bytes;
    uint32_t site_index; /* in `sites` */
    uint32_t *slots;     /* by ordinal */
    uint32_t count, capacity;
    uint32_t lowest_free; /* no free ordinal lies below */
    uint32_t *by_age;     /* the live slots, the oldest first; where names go by age */
    uint32_t live_count, age_capacity;
    uint8_t home;   /* of all its slots */
    bool by_number; /* names do not go by age */
    bool freed;     /* one of them was freed before: a short life is likely */
    bool pinned;    /* by the rules */
};

struct sl_placement {
    struct sl_arena *arena;
    struct sl_slot *slots;
    uint32_t slot_count, slot_capacity;
    struct sl_slot_key *keys;
    uint32_t key_count, key_capacity;
    struct sl_map key_of; /* hash of (site, bytes) */
    struct sl_suballocator suballocator;
    struct sl_site_groups sites;
    uint64_t live_bytes, peak_live_bytes, live_count;
    uint64_t pinned_live_bytes, peak_pinned_live_bytes;
    uint64_t peak_placed_bytes;      /* of chunks in use, whole 2 MiB blocks; */
    uint64_t live_at_peak;           /* and what lived in them: the rest was waste */
    struct sl_backing backing;       /* the rules; set at the start */
    uint64_t live_chunk_bytes_limit; /* host memory that chunks may take */
    uint64_t promised_bytes;         /* of it, to what the program will map */
    uint64_t version;                /* counts allocations and frees */
    uint64_t allocations;            /* so far */
    uint64_t moves;                  /* counts slots that did not take their last place again */
    uint32_t expected_slot;          /* which the next allocation is expected to take; or SL_NONE */
    uint64_t expected_address;       /* and where it should lie if it does; 0: nothing is known */
    uint32_t stream;                 /* 1 + the number of the one that memory is placed for; 0: anybody */
    bool noted;                      /* allocations are the driver's, and lie in `ranges`; set at the start */
    struct sl_ranges ranges;         /* to the slot */
    uint32_t free_slot, free_slots;  /* the first slot that is nobody's, linked by `key`; how many */
};

void sl_placement_init(struct sl_placement *placement, struct sl_arena *arena, uint64_t limit_bytes);
void sl_placement_close(struct sl_placement *placement);

/* Places `bytes` > 0 bytes from `site`. On SL_OK *slot is its live slot. SL_ERR_NO_MEMORY beyond the limit.
 */
enum sl_status sl_place(struct sl_placement *placement, uint64_t bytes, uint64_t site, uint32_t *slot);

/* Host memory for `bytes` bytes that are to be placed by sl_place_at. SL_ERR_NO_MEMORY beyond the limit. */
enum sl_status sl_placement_promise(struct sl_placement *placement, uint64_t bytes);
/* It is not wanted any more, or is used now. */
void sl_placement_unpromise(struct sl_placement *placement, uint64_t bytes);

/* Places an allocation where the program wants it: whole 2 MiB blocks of reserved addresses. SL_ERR_INVALID
 * where they are not reserved, or something lies there. */
enum sl_status sl_place_at(struct sl_placement *placement, uint64_t address, uint64_t bytes, uint64_t site,
                           uint32_t *slot);

/* The same for what an allocator of the program's hands out in reserved memory: from a multiple of 512 on.
 * As with sl_place, its slot does not depend on where it lies. */
enum sl_status sl_place_block(struct sl_placement *placement, uint64_t address, uint64_t bytes, uint64_t site,
                              uint32_t *slot);

/* Names an allocation of the driver's. SL_ERR_INVALID where it overlaps one that is live, or lies beyond 47
 * bits of address. pre: placement->noted. */
enum sl_status sl_place_noted(struct sl_placement *placement, uint64_t address, uint64_t bytes, uint64_t site,
                              uint32_t *slot);

/* Frees the allocation that starts at `address`; *slot is its slot. A chunk that holds nothing any more is
 * given back to the arena with its content dead (resident or not). SL_ERR_INVALID when none starts there. */
enum sl_status sl_unplace(struct sl_placement *placement, uint64_t address, uint32_t *slot);

/* Remembers `count` more slots of one site and size before any of them lived, in the order of their ordinals;
 * the next slot numbers are theirs. `freed`: short lives are likely. False: out of memory. pre: nothing was
 * forgotten or freed. */
bool sl_placement_remember(struct sl_placement *placement, uint64_t site, uint64_t bytes, uint32_t count,
                           bool freed);

/* How many slots only remember where an allocation was. */
uint32_t sl_placement_remembered(const struct sl_placement *placement);
/* Forgets those, and the symbols of the live ones. Live slots keep their numbers and places. */
void sl_placement_forget(struct sl_placement *placement);

/* What a slot is called where it is compared with another iteration's: a slot of the same site and size. It
 * is the slot itself, but for tiny allocations, which go by their age: the oldest live one is called as the
 * first slot, the next one as the second. A program that frees the last step's loss when it has this step's
 * finds each in the other's slot in every step, and nothing else differs: by name its steps are alike. Not
 * where several streams have such allocations: which is the older is chance then. */
uint32_t sl_slot_name(const struct sl_placement *placement, uint32_t slot);
/* The same for its free: what goes by age is called as the youngest, whichever is freed. Else tensors that
 * are freed the oldest first would all be called alike, and their frees a period. */
uint32_t sl_slot_freed_name(const struct sl_placement *placement, uint32_t slot);
/* The live slot that is called so, or SL_NONE. */
uint32_t sl_slot_named(const struct sl_placement *placement, uint32_t name);

/* The live allocation that holds `address`: its slot, or SL_NONE. */
uint32_t sl_place_find(const struct sl_placement *placement, uint64_t address);

/* Chunks that a slot's bytes [offset, offset + bytes) lie in when it is at its (last) place; none where it
 * has none. What lies behind its end is left out, unless mappings may follow it. */
struct sl_chunk_range {
    sl_chunk first;
    uint32_t count;
};
struct sl_chunk_range sl_slot_chunks(const struct sl_placement *placement, const struct sl_slot *slot,
                                     uint64_t offset, uint64_t bytes);
/* The same if it were at `address`. */
struct sl_chunk_range sl_slot_chunks_at(const struct sl_placement *placement, const struct sl_slot *slot,
                                        uint64_t address, uint64_t offset, uint64_t bytes);

/* How many of `bytes` bytes from `address` on lie in chunk `i` of those that they reach. */
static inline uint64_t sl_part_in_chunk(const struct sl_arena *arena, uint64_t address, uint64_t bytes,
                                        uint32_t i)
{
    uint64_t first = address & (arena->chunk_bytes - 1), from = i ? 0 : first,
             to = first + bytes - i * arena->chunk_bytes;
    return (to < arena->chunk_bytes ? to : arena->chunk_bytes) - from;
}

#endif
