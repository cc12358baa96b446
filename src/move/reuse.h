/* Memory that gets a new owner while the device may still use it for the old one.
 *
 * Memory from cuMemAllocAsync belongs to its stream: that stream waits for the points of the frees (frees.h)
 * and for the discard of the chunk, and all other uses are ordered behind it. Memory from cuMemAlloc may be
 * used on any stream at once, so every stream waits before its next launch, whether or not that is seen to
 * use the memory. This is rule 11 of docs/concurrency.md. Caller holds the order lock.
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
        /* Bits of the streams that wait already. A stream's number is reused only after the program has
         * waited for the context since its last use, and then there are no joins. */
        uint64_t joined;
    } joins[SL_MOST_JOINS]; /* all streams have to wait for these */
    uint32_t join_count;
    uint64_t join_out; /* and for this out movement; 0: none */
};

/* What the owner of the slot, which was just placed, has to wait for. */
struct sl_reuse_waits {
    struct sl_waits waits;
    uint64_t discard_sequence; /* an out movement; 0: none */
};
/* For an owner whose work is ordered behind stream number `s`. The caller releases the lock and makes the
 * stream wait by sl_reuse_wait. */
void sl_reuse_by_stream(struct sl_reuse *reuse, const struct sl_slot *slot, uint32_t s,
                        struct sl_reuse_waits *waits);
/* SL_ERR_DRIVER: the stream does not wait for all of it. */
enum sl_status sl_reuse_wait(struct sl_reuse *reuse, struct sl_reuse_waits *waits, sl_stream stream);
/* For an owner that may use the memory on any stream. False: not all of it can be waited for. */
bool sl_reuse_by_all(struct sl_reuse *reuse, const struct sl_slot *slot);
/* The slot is not given to anybody after all, because it cannot be waited for: its memory is on the list
 * again, and unsure. */
void sl_reuse_refused(struct sl_reuse *reuse, const struct sl_slot *slot);

/* What a stream has to wait for before its next launch, without what it already waits for. */
struct sl_joining {
    struct sl_waits waits;
    uint64_t out_sequence; /* 0: none */
};
/* Collects it for stream number `s`. */
void sl_joins_collect(struct sl_reuse *reuse, uint32_t s, struct sl_joining *joining);
static inline bool sl_joins_any(const struct sl_joining *joining)
{
    return joining->waits.count || joining->out_sequence;
}
/* Makes the stream wait, and only then notes that: another thread that launches on the stream meanwhile makes
 * it wait as well. `beside`: the stream may capture, so rather the host waits. Enqueues: the order lock must
 * not be held. SL_ERR_DRIVER: the stream does not wait for all of it, and nothing is noted. */
enum sl_status sl_joins_wait(struct sl_reuse *reuse, uint32_t s, struct sl_joining *joining, sl_stream stream,
                             bool beside);
/* The host has waited for all joins. */
void sl_joins_end(struct sl_reuse *reuse);

/* The memory of an allocation of `bytes` bytes at `address` was freed at `points`; see sl_frees_add. */
void sl_reuse_freed(struct sl_reuse *reuse, uint64_t address, uint64_t bytes, struct sl_points *points);

#endif
