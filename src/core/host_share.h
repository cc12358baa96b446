/* How much of the machine's host memory this process may have, beside the other managed processes of the user
 * (node/page.h).
 *
 *   SLUICE_HOST_LIMIT says it      that; the others see what is taken of it
 *   a launcher said how many       an equal part of what there is for all of them: promised at the start,
 *   ranks the machine has          and never asked about again
 *   else                           what the others were not promised and have not taken: claimed piece by
 *                                  piece, as allocations need it, and given back
 *
 * A claim takes no lock: whoever raises his own first and finds then that all of them are too much takes it
 * back. Of two who claim the last bytes at one time neither may get them, but never do both.
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
    SL_HOST_LENT, /* another core's: the process's share is the first one's, see host_lending.h */
};

struct sl_host_share {
    struct sl_node node; /* not registered: there are no others */
    enum sl_host_share_kind kind;
    uint64_t pool, total_bytes;         /* of all processes */
    uint64_t limit_bytes;               /* the most that this one may ever have */
    uint64_t claimed_bytes;             /* of that, what it may have now; all where nothing is claimed */
    uint64_t taken_bytes, pinned_bytes; /* as the others know */
    struct sl_placement *placement;     /* whose limit follows what is claimed */
    uint64_t device, link;              /* as struct sl_node_entry has them */
    uint64_t lent_bytes;                /* of what is claimed, to other cores of the process */
    bool left;                          /* its own core has nothing any more */
};

/* The most that this process may have, from what is known now; it need not be registered. Thread-safe. */
uint64_t sl_host_share_foresee(const struct sl_options *options);

/* Registers the process where `device` is a device of this machine (backend.h, place), and decides. */
void sl_host_share_begin(struct sl_host_share *share, const struct sl_options *options,
                         const struct sl_backend *device);

/* A further core's, of a process whose share is `first`: it has nothing yet. */
void sl_host_share_begin_lent(struct sl_host_share *share, const struct sl_host_share *first,
                              const struct sl_options *options, const struct sl_backend *device);

/* From now on the placement's limit follows, and is `most_bytes` at most. What it has already is taken. */
void sl_host_share_limit(struct sl_host_share *share, struct sl_placement *placement, uint64_t most_bytes);

/* Before `bytes` bytes are placed or promised: claims ahead if there is little room. Mostly compares numbers.
 * Caller holds the order lock, in these four. */
void sl_host_share_prepare(struct sl_host_share *share, uint64_t bytes);
/* There was no room for them: looks whether somebody died, and claims. True: it is worth another try. */
bool sl_host_share_more(struct sl_host_share *share, uint64_t bytes);
/* After any change of what is placed or promised. */
void sl_host_share_changed(struct sl_host_share *share);
/* How many registered processes have devices at the end of this link to the host, this one included, whose
 * share it is. */
uint32_t sl_host_share_of_link(const struct sl_host_share *share, uint64_t link);
/* Of the first core's: `bytes` are another core's from now on, or come back. False: there is no room. Of
 * another one's: they were lent to it; what of it is not in use is given up, or all of it. Caller holds the
 * order lock of the share's core. */
bool sl_host_share_lend(struct sl_host_share *share, uint64_t bytes);
void sl_host_share_take_back(struct sl_host_share *share, uint64_t bytes);
void sl_host_share_borrowed(struct sl_host_share *share, uint64_t bytes);
uint64_t sl_host_share_spare(struct sl_host_share *share);
uint64_t sl_host_share_returned(struct sl_host_share *share);

/* The process takes nothing any more. */
void sl_host_share_end(struct sl_host_share *share);

/* In a child: the parent's is none of its own. */
void sl_host_share_after_fork(struct sl_host_share *share);

#endif
