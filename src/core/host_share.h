/* How much of the machine's host memory this process may use, beside the user's other managed processes
 * (node/page.h).
 *
 *   SLUICE_HOST_LIMIT is set     that much; the others see how much of it is used
 *   a launcher told the number   an equal part for each rank: promised at the start and never changed
 *   of ranks on the machine
 *   otherwise                    what the others were not promised and have not taken: claimed bit by bit, as
 *                                allocations need it, and given back
 *
 * A claim takes no lock: the process raises its own promise first, then adds up all of them, and takes its
 * claim back if the sum is too large. Of two processes that claim the last bytes at the same time, perhaps
 * neither gets them, but never both.
 */
#ifndef SLUICE_HOST_SHARE_H
#define SLUICE_HOST_SHARE_H

#include "base/host_memory.h"
#include "base/options.h"
#include "memory/placement.h"
#include "node/page.h"

enum sl_host_share_kind {
    SL_HOST_TOLD,
    SL_HOST_PROMISED,
    SL_HOST_CLAIMED,
    SL_HOST_LENT, /* a further core's, lent by the first core, whose share is the process's: see
                     host_lending.h */
};

struct sl_host_share {
    struct sl_node node; /* if not registered, no other process is known */
    enum sl_host_share_kind kind;
    uint64_t pool, total_bytes;         /* for all processes of the pool together */
    uint64_t limit_bytes;               /* the most that this process may ever have */
    uint64_t claimed_bytes;             /* the part that may be used now; all if nothing is claimed */
    uint64_t taken_bytes, pinned_bytes; /* as last stated to the others */
    struct sl_placement *placement;     /* its limit follows `claimed_bytes` */
    uint64_t device, link;              /* as in struct sl_node_entry */
    uint64_t lent_bytes;                /* the part of `claimed_bytes` lent to other cores of the process */
    bool left;                          /* the core's own memory is gone with its device */
};

/* The most that this process may have, as far as is known before it registers. Thread-safe. */
uint64_t sl_host_share_foresee(const struct sl_options *options);

/* Registers the process if `device` belongs to this machine (`place` in backend.h), and decides the share. */
void sl_host_share_begin(struct sl_host_share *share, const struct sl_options *options,
                         const struct sl_backend *device);

/* The share of a further core of the process, whose first core's share is `first`. It has no memory yet. */
void sl_host_share_begin_lent(struct sl_host_share *share, const struct sl_host_share *first,
                              const struct sl_options *options, const struct sl_backend *device);

/* From now on the placement's limit follows what is claimed, `most_bytes` at most. What the placement already
 * holds counts as taken. */
void sl_host_share_limit(struct sl_host_share *share, struct sl_placement *placement, uint64_t most_bytes);

/* Call it before `bytes` bytes are placed or promised: claims ahead if little room is left. Usually only
 * compares numbers. Caller holds the order lock for this function and the next three. */
void sl_host_share_prepare(struct sl_host_share *share, uint64_t bytes);
/* `bytes` bytes found no room: clears the slots of dead processes and claims. True: try again. */
bool sl_host_share_more(struct sl_host_share *share, uint64_t bytes);
/* Call it after any change of what is placed or promised. */
void sl_host_share_changed(struct sl_host_share *share);
/* The number of registered processes with a device on this link to the host, including this process. */
uint32_t sl_host_share_of_link(const struct sl_host_share *share, uint64_t link);
/* Caller holds the order lock of the share's core. For the first core's share: lends `bytes` to another core
 * (false: no room), or takes them back. For another core's share: notes `bytes` as borrowed, gives up the
 * unused part, or gives up everything; the last two return the bytes given up. */
bool sl_host_share_lend(struct sl_host_share *share, uint64_t bytes);
void sl_host_share_take_back(struct sl_host_share *share, uint64_t bytes);
void sl_host_share_borrowed(struct sl_host_share *share, uint64_t bytes);
uint64_t sl_host_share_spare(struct sl_host_share *share);
uint64_t sl_host_share_returned(struct sl_host_share *share);

/* The process uses no host memory any more: leaves the page. */
void sl_host_share_end(struct sl_host_share *share);

/* In a child after fork: drops the parent's registration. */
void sl_host_share_after_fork(struct sl_host_share *share);

#endif
