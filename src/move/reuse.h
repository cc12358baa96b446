/* Memory that is given out again while the device may still use it for whom it belonged to before.
 *
 * Memory from cuMemAllocAsync is its stream's: that one waits for the points of the frees (frees.h) and for
 * the discard of the chunk, and whoever else uses the memory comes behind it. Memory from cuMemAlloc is
 * anybody's at once, so every stream waits before its next launch, whether that is seen to use the memory or
 * not. Caller holds the order lock.
 */
#ifndef SLUICE_REUSE_H
#define SLUICE_REUSE_H

#include "memory/frees.h"
#include "memory/placement.h"
#include "move/streams.h"

#define SL_MOST_JOINS 64

struct sl_reuse {
    struct sl_lock *order;
    struct sl_migrator *migrator;
    struct sl_streams *streams;
    const struct sl_placement *placement;
    struct sl_frees frees;
    struct sl_join {
        struct sl_wait wait;
        /* Bits of the streams that wait already. A number becomes another stream's only when the program
         * waited for the context since it was used, and then there are no joins. */
        uint64_t joined;
    } joins[SL_MOST_JOINS]; /* what all streams wait for */
    uint32_t join_count;
    uint64_t join_out; /* the same: a movement of the out direction */
};

/* What the owner of `slot`, which was just placed, has to wait for. */
struct sl_reuse_waits {
    struct sl_waits waits;
    uint64_t discard_sequence; /* out movement; 0: none */
};
/* For an owner whose work comes behind stream number `s`; the caller makes the stream wait, without the lock,
 * by sl_reuse_wait. */
void sl_reuse_by_stream(struct sl_reuse *reuse, const struct sl_slot *slot, uint32_t s,
                        struct sl_reuse_waits *waits);
void sl_reuse_wait(struct sl_reuse *reuse, struct sl_reuse_waits *waits, sl_stream stream);
/* For an owner that may use it on any stream. */
void sl_reuse_by_all(struct sl_reuse *reuse, const struct sl_slot *slot);

/* What a stream has to wait for before its next launch, beside what it waits for already. */
struct sl_joining {
    struct sl_waits waits;
    uint64_t out_sequence; /* 0: none */
};
/* For stream number `s`. */
void sl_joins_collect(struct sl_reuse *reuse, uint32_t s, struct sl_joining *joining);
static inline bool sl_joins_any(const struct sl_joining *joining)
{
    return joining->waits.count || joining->out_sequence;
}
/* Makes the stream wait, and only then notes that it does: another thread that launches on it meanwhile makes
 * it wait as well. Enqueues: the order lock must not be held. */
void sl_joins_wait(struct sl_reuse *reuse, uint32_t s, struct sl_joining *joining, sl_stream stream);
/* The host has waited for all of them. */
void sl_joins_end(struct sl_reuse *reuse);

/* The slot's memory was freed at `points`, see sl_frees_add. */
void sl_reuse_freed(struct sl_reuse *reuse, const struct sl_slot *slot, struct sl_points *points);

#endif
