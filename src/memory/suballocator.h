/* The suballocator: where allocations lie in chunks.
 *
 * An allocation smaller than a chunk lies in a packed chunk, beside others of its group. A larger one has
 * whole chunks to itself, a run; its remainder lies at the beginning of a packed chunk after them. Where
 * memory is short, allocations begin wherever there is room and go on in the next chunk. The size of a packed
 * chunk is the highest end of any allocation in it since it was empty, in whole 2 MiB blocks. Caller holds
 * the order lock throughout.
 */
#ifndef SLUICE_SUBALLOCATOR_H
#define SLUICE_SUBALLOCATOR_H

#include "memory/arena.h"
#include "memory/site_groups.h"

/* Small allocations among large ones would leave gaps that no large one fits into. */
#define SL_TINY_BYTES (128 * SL_KIB)

/* Which allocations lie together: those with similar lifetimes, as far as these are known, and those of a
 * site that fills chunks. */
enum sl_group_kind {
    SL_GROUP_LASTING,
    SL_GROUP_FREED,
    SL_GROUP_TINY,
    SL_GROUP_PINNED,
    SL_GROUP_MAPPED, /* the program places them */
    SL_GROUP_OF_SITE /* the first of SL_SITE_GROUPS; overflow may go to SL_GROUP_LASTING */
};
#define SL_GROUPS (SL_GROUP_OF_SITE + SL_SITE_GROUPS)

#define SL_PARTIAL 64

struct sl_group {
    sl_chunk partial[SL_PARTIAL]; /* packed chunks with room; the most recently changed is last */
    uint32_t partial_count;
    sl_chunk newest; /* the packed chunk that was begun last */
};

struct sl_suballocator {
    struct sl_arena *arena;
    bool dense; /* new places may begin at the end of a chunk and go on in the next ones */
    struct sl_group groups[SL_GROUPS];
};

void sl_suballocator_init(struct sl_suballocator *suballocator, struct sl_arena *arena);

/* Takes a new place for `slot`. Chunks in use may grow by `room_bytes` in all; for pinned memory
 * (SL_GROUP_PINNED) `room_bytes` limits the request to the backend. SL_ERR_NO_MEMORY, or the backend's
 * error. */
enum sl_status sl_suballocator_take(struct sl_suballocator *suballocator, uint64_t bytes, uint32_t group,
                                    uint64_t room_bytes, uint32_t slot, uint64_t *address);

/* Takes a place again that sl_suballocator_take gave, or another one outside reserved addresses. `group`: of
 * a packed chunk if one has to be begun. False: the place is occupied, or there is too little room. */
bool sl_suballocator_retake(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes,
                            uint32_t group, uint64_t room_bytes, uint32_t slot);

/* Frees the place, which was taken or mapped with as many bytes. Empty chunks are given back to the arena. */
void sl_suballocator_give_back(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes);

/* Takes the place [address, address + bytes), multiples of 512 of reserved addresses (sl_arena_reserve), for
 * `slot`. SL_ERR_INVALID: the addresses are not reserved, something lies there, or host memory is short. */
enum sl_status sl_suballocator_map(struct sl_suballocator *suballocator, uint64_t address, uint64_t bytes,
                                   uint32_t slot);

/* The slot whose place, rounded up to whole granules, holds `address`; SL_NONE: none does. */
uint32_t sl_suballocator_slot(const struct sl_arena *arena, uint64_t address);

/* The least size that the place gives the chunk `number` of those that it spans. */
uint64_t sl_suballocator_chunk_bytes(const struct sl_arena *arena, uint64_t address, uint64_t bytes,
                                     uint32_t number);

#endif
