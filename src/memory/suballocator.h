/* The suballocator: where in chunks allocations lie.
 *
 * What is smaller than a chunk lies in a packed chunk, beside others of its group; what is larger has whole
 * chunks to itself, a run, and what is left of it lies at the beginning of a packed chunk behind them. A
 * packed chunk is as large as what has lain in it since it was empty reaches, in whole 2 MiB blocks. Caller
 * holds the order lock throughout.
 */
#ifndef SLUICE_SUBALLOCATOR_H
#define SLUICE_SUBALLOCATOR_H

#include "memory/arena.h"
#include "memory/site_groups.h"

/* Small ones among large ones would leave gaps that no large one fits into. */
#define SL_TINY_BYTES (128 * SL_KIB)

/* Which allocations lie together: by how long they live, as far as that is known, and what one site fills
 * chunks with. */
enum sl_group_kind {
    SL_GROUP_LASTING,
    SL_GROUP_FREED,
    SL_GROUP_TINY,
    SL_GROUP_PINNED,
    SL_GROUP_MAPPED, /* the program says where they lie */
    SL_GROUP_OF_SITE /* the first of SL_SITE_GROUPS; what has no room there may lie among what lasts */
};
#define SL_GROUPS (SL_GROUP_OF_SITE + SL_SITE_GROUPS)

#define SL_PARTIAL 64

struct sl_group {
    sl_chunk partial[SL_PARTIAL]; /* packed chunks with room; where something came or went last stands last */
    uint32_t partial_count;
    sl_chunk newest; /* packed chunk that was begun last */
};

struct sl_suballocator {
    struct sl_arena *arena;
    struct sl_group groups[SL_GROUPS];
};

void sl_suballocator_init(struct sl_suballocator *suballocator, struct sl_arena *arena);

/* Takes a new place for `slot`. Chunks in use may become larger by `room_bytes` in all; of pinned memory
 * (SL_GROUP_PINNED) that is what the backend may be asked for. SL_ERR_NO_MEMORY, or the backend's error. */
enum sl_status sl_suballocator_take(struct sl_suballocator *suballocator, uint64_t bytes, uint32_t group,
                                    uint64_t room_bytes, uint32_t slot, uint64_t *address);

/* Takes one again that sl_suballocator_take gave, for as many bytes. `group`: of a packed chunk that has to
 * be begun. False: something else lies there, or there is too little room. */
bool sl_suballocator_retake(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes,
                            uint32_t group, uint64_t room_bytes, uint32_t slot);

/* Leaves it. Chunks in which nothing lies any more are given back to the arena. */
void sl_suballocator_give_back(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes);

/* Takes the place [address, address + bytes), multiples of 512 of addresses that are reserved
 * (sl_arena_reserve), for `slot`. SL_ERR_INVALID where they are not, something lies there, or there is no
 * host memory to note it. */
enum sl_status sl_suballocator_map(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes,
                                   uint32_t slot);
/* Leaves it. */
void sl_suballocator_unmap(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes);

/* Whose place holds `address`, to the end of its last 512 bytes at the most; SL_NONE: nobody's. */
uint32_t sl_suballocator_slot(const struct sl_arena *arena, uint64_t address);

/* How large the place makes chunk `number` of those that it lies in, at the least. */
uint64_t sl_suballocator_chunk_bytes(const struct sl_arena *arena, uint64_t address, uint64_t bytes,
                                     uint32_t number);

#endif
