/* Placement: the address and the name (slot) of an allocation.
 *
 * suballocator.h chooses the place within chunks. A slot takes its last place again if that is free, so a
 * program that repeats itself finds every allocation where it was an iteration ago. While the core only
 * records, the driver chooses the address, and no chunk is involved. Caller holds the order lock throughout.
 */
#ifndef SLUICE_PLACE_H
#define SLUICE_PLACE_H

#include "base/backing.h"
#include "base/map.h"
#include "memory/arena.h"
#include "memory/site_names.h"
#include "memory/suballocator.h"

#define SL_ALLOCATION_ALIGN SL_GRANULE_BYTES

struct sl_slot {
    uint64_t site, bytes;    /* as requested */
    uint32_t key;            /* index of its (site, bytes) */
    uint32_t ordinal;        /* among the slots of that key */
    uint32_t age;            /* of a live slot: how many slots of its key are older; where names go by age */
    uint32_t number_of_site; /* of a live slot: 1 + its number among its site's, whose sizes vary; or 0 */
    uint32_t stands_for;     /* 1 + the number of its site for which it stands; or 0 */
    bool live;
    bool pinned;            /* in pinned memory */
    bool mapped;            /* the program chose its place, or its last place */
    bool block;             /* the program's own allocator placed it in memory that it mapped */
    bool leaving;           /* freed, but other devices may still use it: core/late_frees.h */
    bool begins;            /* of a mapping: launches were given offset 0, so a tensor begins there */
    uint8_t home;           /* 1 + the number of the stream that it was last allocated for; 0: any */
    uint8_t stream;         /* 1 + the number of the first stream that was seen to use it; 0: none */
    uint32_t tag;           /* of the live allocation: the shim's */
    uint64_t number;        /* of the live allocation: unique */
    sl_tick mapped_at;      /* of a mapping: 1 + the last launch that had begun before it */
    uint64_t address;       /* its place, or last place; 0: none yet */
    sl_symbol taken, freed; /* symbols of its allocation and its free; 0: not known yet */
    uint64_t *interior;     /* offsets > 0 that launches were given, sorted: begins of inner tensors */
    uint32_t interior_count, interior_capacity;
};

struct sl_slot_key {
    uint64_t site, bytes;
    uint32_t site_index; /* in `sites` */
    uint32_t *slots;     /* by ordinal */
    uint32_t count, capacity;
    uint32_t lowest_free; /* all lower ordinals are live */
    uint32_t *by_age;     /* the live slots, oldest first; where names go by age */
    uint32_t live_count, age_capacity;
    uint8_t home;   /* of all its slots */
    bool by_number; /* names do not go by age */
    bool freed;     /* one of them was freed: a short life is likely */
    bool pinned;    /* by the backing rules */
};

/* Where an allocation lay, and its slot, as one number, which is not 0. A slot beyond 2^26 becomes slot 0. */
static inline uint64_t sl_life_note(uint64_t address, uint32_t slot)
{
    return address / SL_GRANULE_BYTES << 26 | (slot >> 26 ? 0 : slot);
}
static inline uint64_t sl_note_address(uint64_t note)
{
    return (note >> 26) * SL_GRANULE_BYTES;
}
static inline uint32_t sl_note_slot(uint64_t note)
{
    return note & (((uint32_t)1 << 26) - 1);
}

struct sl_placement {
    struct sl_arena *arena;
    struct sl_slot *slots;
    uint32_t slot_count, slot_capacity;
    struct sl_slot_key *keys;
    uint32_t key_count, key_capacity;
    struct sl_map key_of; /* hash of (site, bytes) */
    struct sl_suballocator suballocator;
    struct sl_site_groups sites;
    struct sl_site_names names;
    uint64_t live_bytes, peak_live_bytes, live_count;
    uint64_t pinned_live_bytes, peak_pinned_live_bytes;
    uint64_t peak_placed_bytes;      /* of chunks in use, whole 2 MiB blocks */
    uint64_t live_at_peak;           /* live bytes at that peak: the difference was waste */
    struct sl_backing backing;       /* the rules; set at the start */
    uint64_t live_chunk_bytes_limit; /* host memory that chunks may take */
    uint64_t most_bytes;             /* that this limit may become */
    uint64_t promised_bytes;         /* the part of it that is kept for the program's mappings */
    uint64_t version;                /* counts allocations and frees */
    uint64_t allocations;            /* so far */
    uint64_t moves;                  /* counts slots that did not get their last place again */
    uint32_t expected_slot;          /* predicted slot of the next allocation; or SL_NONE */
    uint32_t expected_name;          /* and its name */
    uint64_t expected_address;       /* and the place that it should get; 0: unknown */
    uint32_t stream;                 /* 1 + the number of the stream that memory is placed for; 0: any */
    bool noted;              /* the driver allocates, and allocations are in `ranges`; set at the start */
    struct sl_ranges ranges; /* to the slot */
    uint32_t free_slot, free_slots; /* first unused slot, linked by `key`; number of unused slots */
};

void sl_placement_init(struct sl_placement *placement, struct sl_arena *arena, uint64_t limit_bytes);
void sl_placement_close(struct sl_placement *placement);

/* Places `bytes` > 0 bytes from `site`. On SL_OK *slot is its live slot. SL_ERR_NO_MEMORY beyond the
 * limit. */
enum sl_status sl_place(struct sl_placement *placement, uint64_t bytes, uint64_t site, uint32_t *slot);

/* Keeps host memory free for `bytes` bytes of later sl_place_at calls. SL_ERR_NO_MEMORY beyond the limit. */
enum sl_status sl_placement_promise(struct sl_placement *placement, uint64_t bytes);
/* Ends such a promise, because the memory is used or not wanted. */
void sl_placement_unpromise(struct sl_placement *placement, uint64_t bytes);

/* Places an allocation where the program wants it: whole 2 MiB blocks of reserved addresses. SL_ERR_INVALID:
 * the addresses are not reserved, or something lies there. */
enum sl_status sl_place_at(struct sl_placement *placement, uint64_t address, uint64_t bytes, uint64_t site,
                           uint32_t *slot);

/* The same for memory that the program's own allocator hands out in reserved memory, at a multiple of 512. As
 * with sl_place, the slot does not depend on the address. */
enum sl_status sl_place_block(struct sl_placement *placement, uint64_t address, uint64_t bytes, uint64_t site,
                              uint32_t *slot);

/* Names an allocation that the driver made. SL_ERR_INVALID: it overlaps a live one, or lies beyond 47 bits of
 * address. Precondition: placement->noted. */
enum sl_status sl_place_noted(struct sl_placement *placement, uint64_t address, uint64_t bytes, uint64_t site,
                              uint32_t *slot);

/* Frees the allocation that starts at `address`; *slot is its slot. An empty chunk is given back to the arena
 * with its content dead (resident or not). SL_ERR_INVALID: none starts there. */
enum sl_status sl_unplace(struct sl_placement *placement, uint64_t address, uint32_t *slot);

/* Adds `count` slots of one site and size that have not lived yet, in the order of their ordinals; they get
 * the next slot numbers. `freed`: short lives are likely. False: out of memory. Precondition: nothing was
 * forgotten or freed. */
bool sl_placement_remember(struct sl_placement *placement, uint64_t site, uint64_t bytes, uint32_t count,
                           bool freed);

/* The number of slots that are not live, and only remember a place. */
uint32_t sl_placement_remembered(const struct sl_placement *placement);
/* Forgets those slots, and the symbols of the live ones. Live slots keep their numbers and places. */
void sl_placement_forget(struct sl_placement *placement);

/* The slot's name for comparison with other iterations. This is the slot itself, with two exceptions:
 * - Allocations of a site whose sizes vary have the number among the live ones of their site (site_names.h).
 * - Tiny allocations are named by age: the oldest live one has the name of the key's first slot, the next one
 *   that of the second. If a program frees the last step's loss only after it has allocated this step's, the
 *   two swap slots in every step; by name, all steps are alike. Where several streams have such allocations,
 *   their ages depend on chance, and the slots themselves are the names. */
uint32_t sl_slot_name(const struct sl_placement *placement, uint32_t slot);
/* The slot's name at its free: where names go by age, that of the youngest, whichever is freed. Otherwise
 * tensors that are freed oldest first would all have one name, and their frees would look like a period. */
uint32_t sl_slot_freed_name(const struct sl_placement *placement, uint32_t slot);
/* Whether this name stands for allocations of any size. */
static inline bool sl_name_is_of_any_size(const struct sl_placement *placement, uint32_t name)
{
    return placement->slots[name].stands_for;
}
/* The most bytes that an allocation of such a name had; 0: the name is not of any size. */
uint64_t sl_name_most_bytes(const struct sl_placement *placement, uint32_t name);
/* The live slot with this name, or SL_NONE. */
uint32_t sl_slot_named(const struct sl_placement *placement, uint32_t name);

/* The slot of the live allocation that holds `address`, or SL_NONE. */
uint32_t sl_place_find(const struct sl_placement *placement, uint64_t address);

/* The chunks that hold the slot's bytes [offset, offset + bytes) at its place or last place; none if it has
 * no place. Limited to the slot's end, unless mappings may follow it. */
struct sl_chunk_range {
    sl_chunk first;
    uint32_t count;
};
struct sl_chunk_range sl_slot_chunks(const struct sl_placement *placement, const struct sl_slot *slot,
                                     uint64_t offset, uint64_t bytes);
/* The same for a slot placed at `address`. */
struct sl_chunk_range sl_slot_chunks_at(const struct sl_placement *placement, const struct sl_slot *slot,
                                        uint64_t address, uint64_t offset, uint64_t bytes);

/* The number of bytes of [address, address + bytes) in the `i`th of the chunks that this range reaches. */
static inline uint64_t sl_part_in_chunk(const struct sl_arena *arena, uint64_t address, uint64_t bytes,
                                        uint32_t i)
{
    uint64_t first = address & (arena->chunk_bytes - 1), from = i ? 0 : first,
             to = first + bytes - i * arena->chunk_bytes;
    return (to < arena->chunk_bytes ? to : arena->chunk_bytes) - from;
}

#endif
