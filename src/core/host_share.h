/* How much of the machine's host memory this process may use, beside the user's other managed processes
 * (node/page.h).
 *
 *   SLUICE_HOST_LIMIT is set     that much; the others see how much of it is used, and a little more
 *   a launcher told the number   an equal part for each rank: promised at the start and never changed
 *   of ranks on the machine
 *   otherwise                    what the others were not promised and have not taken: claimed bit by bit, as
 *                                allocations need it, and given back
 *
 * The limit shrinks when the program pins memory, or takes it otherwise, and when others do: what there is is
 * looked at again before much more of it is used.
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
    const struct sl_options *options;
    struct sl_node node; /* if not registered, no other process is known */
    enum sl_host_share_kind kind;
    uint64_t pool, total_bytes; /* for all processes of the pool together */
    uint64_t first_total_bytes,
        first_limit_bytes;              /* as decided at the start: the next two never exceed them */
    uint64_t limit_bytes;               /* the most that this process may have now */
    uint64_t claimed_bytes;             /* the part that may be used now; all if nothing is claimed */
    uint64_t taken_bytes, pinned_bytes; /* as last stated to the others */
    struct sl_placement *placement;     /* its limit follows `claimed_bytes` */
    uint64_t device, link;              /* as in struct sl_node_entry */
    uint64_t lent_bytes;                /* the part of `claimed_bytes` lent to other cores of the process */
    bool left;                          /* the core's own memory is gone with its device */
    bool watched;                       /* its memory is this machine's: the limit is looked at again */
    uint64_t looked_to_bytes;           /* up to so much is used without another look */
    uint64_t pinnable_bytes;            /* that the program may still pin before another look */
    bool of_device;                     /* the device's memory is host memory */
    uint64_t looked_at_ns;
};

/* The most that this process may have, as far as is known before it registers. Thread-safe. */
uint64_t sl_host_share_foresee(const struct sl_options *options);

/* Why nothing is left: what is free, and what the reserve takes of it. Returns `out`. */
#define SL_HOST_SHARE_WHY 160
const char *sl_host_share_why_nothing(const struct sl_options *options, char out[SL_HOST_SHARE_WHY]);

/* Registers the process if `device` belongs to this machine (`place` in backend.h), and decides the share. */
void sl_host_share_begin(struct sl_host_share *share, const struct sl_options *options,
                         const struct sl_backend *device);

/* The share of a further core of the process, whose first core's share is `first`. It has no memory yet. */
void sl_host_share_begin_lent(struct sl_host_share *share, const struct sl_host_share *first,
                              const struct sl_options *options, const struct sl_backend *device);

/* From now on the placement's limit follows what is claimed, `most_bytes` at most. What the placement already
 * holds counts as taken. */
void sl_host_share_limit(struct sl_host_share *share, struct sl_placement *placement, uint64_t most_bytes);

/* Looks at what host memory there is now, and lowers the limit to that, or raises it again. Reads some files
 * of the kernel, and samples which pages of the arenas exist. Caller holds the order lock for this function
 * and the next eight. */
void sl_host_share_look(struct sl_host_share *share);
/* The same if the last look was long ago. */
void sl_host_share_look_again(struct sl_host_share *share);
/* Gives the program `bytes` bytes to pin. False: half of the reserve, or what chunks were promised, would
 * then be missing. The next allocation looks what is left. */
bool sl_host_share_take_pinnable(struct sl_host_share *share, uint64_t bytes);
/* The most that memory of the device may take of the host's, as of the last look; UINT64_MAX: it takes none.
 */
uint64_t sl_host_share_device_room(const struct sl_host_share *share);

/* Call it before `bytes` bytes are placed or promised: looks and claims ahead if little room is left. Usually
 * only compares numbers. */
void sl_host_share_prepare(struct sl_host_share *share, uint64_t bytes);
/* `bytes` bytes found no room: clears the slots of dead processes and claims. True: try again. */
bool sl_host_share_more(struct sl_host_share *share, uint64_t bytes);
/* Call it after any change of what is placed or promised. The statement on the page follows in steps: writing
 * it costs more than most allocations. */
void sl_host_share_changed(struct sl_host_share *share);
/* The bytes that are neither used nor promised, as of the last look; of a further core, of what it borrowed.
 */
uint64_t sl_host_share_room(const struct sl_host_share *share);
/* The number of registered processes with a device on this link to the host, including this process. */
uint32_t sl_host_share_of_link(struct sl_host_share *share, uint64_t link);
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
