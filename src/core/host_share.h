/* How much of the machine's host memory this process may use, beside the user's other managed processes
 * (node/page.h).
 *
 *   SLUICE_HOST_LIMIT is set     that much; the others see what it has claimed
 *   a launcher told the number   an equal part for each rank, computed when the first of them starts
 *   of ranks on the machine
 *   otherwise                    what the others have not claimed, and what is not kept for ranks
 *
 * node/page.h has the rules. Each process claims what it needs in steps, under the lock of the page, and
 * gives back what it does not use. Each core of the process may use a part of the claim, which is the limit
 * of its placement. A core whose part is used up claims more; where there is no more, other cores give up
 * what they do not use (room.h).
 *
 * The limit shrinks when the program pins memory, or takes it otherwise, and when others do: what there is is
 * looked at again before much more of it is claimed.
 */
#ifndef SLUICE_HOST_SHARE_H
#define SLUICE_HOST_SHARE_H

#include <pthread.h>

#include "base/host_memory.h"
#include "base/options.h"
#include "memory/placement.h"
#include "node/page.h"

/* The process's. `lock` guards all of it; the limit is read without. */
struct sl_host_share {
    pthread_mutex_t lock;
    const struct sl_options *options;
    struct sl_node node;          /* if not registered, no other process is known */
    struct sl_node_table table;   /* as it was last read */
    struct sl_node_entry entry;   /* what the process states; claimed_bytes is the sum of its parts */
    bool told;                    /* the limit is the user's, or nothing limits host memory */
    bool watched;                 /* its memory is this machine's: the limit is looked at again */
    bool of_device;               /* the device's memory is host memory */
    uint64_t most_bytes;          /* as decided at the start: the limit never exceeds it */
    uint64_t there_bytes;         /* there for this process, as of the last look; UINT64_MAX: unknown */
    uint64_t looked_to_bytes;     /* up to so much is claimed without another look */
    uint64_t pinnable_bytes;      /* that the program may still pin before another look */
    uint64_t looked_at_ns;        /* CLOCK_MONOTONIC */
    _Atomic uint64_t limit_bytes; /* the most that the process may claim now */
};
extern struct sl_host_share sl_process_share; /* begins with the first core */

/* A core's part. Its limit is its placement's, and guarded by the core's order lock. */
struct sl_host_part {
    struct sl_host_share *share;
    struct sl_placement *placement;
    uint64_t step_bytes;   /* is claimed ahead of need */
    uint64_t pinned_bytes; /* as stated to the others */
    uint64_t link;         /* of the core's device, as in struct sl_node_entry */
    bool is_full;          /* the last claim got less than it wanted */
    bool has_ended;        /* the core's memory is gone, and it gets no more */
};

/* The most that this process may have, as far as is known before it registers. Thread-safe. */
uint64_t sl_host_share_foresee(const struct sl_options *options);

/* Why nothing is left: what is free, and what the reserve takes of it. Returns `out`. */
#define SL_HOST_SHARE_WHY 160
const char *sl_host_share_why_nothing(const struct sl_options *options, char out[SL_HOST_SHARE_WHY]);

/* Registers the process if `device` belongs to this machine (`place` in backend.h), and decides the share,
 * which never exceeds `most_bytes`. */
void sl_host_share_begin(struct sl_host_share *share, const struct sl_options *options,
                         const struct sl_backend *device, uint64_t most_bytes);
/* The process uses no host memory any more: leaves the page. */
void sl_host_share_end(struct sl_host_share *share);

/* Any thread. The first looks again what host memory there is if the last look was long ago, and returns the
 * bytes that no core has claimed. The second gives the program `bytes` bytes to pin; false: half of the
 * reserve, or what chunks were promised, would then be missing. The third returns the most that memory of the
 * device may take of the host's, as of the last look (UINT64_MAX: it takes none); the fourth the number of
 * other registered processes with a device on this link. */
uint64_t sl_host_share_unclaimed(struct sl_host_share *share);
bool sl_host_share_take_pinnable(struct sl_host_share *share, uint64_t bytes);
uint64_t sl_host_share_device_room(struct sl_host_share *share);
uint32_t sl_host_share_others_on_link(struct sl_host_share *share, uint64_t link);

/* States what the process does with its device, and returns who else is on it. Any thread. */
struct sl_device_users sl_host_share_on_device(struct sl_host_share *share, const struct sl_node_device *own);

/* The bytes that the process may claim, and what limits them, in words. Any thread. */
uint64_t sl_host_share_most(struct sl_host_share *share, const char **by);

/* From now on the placement's limit is the part. What the placement already holds counts. `first`: the
 * process's first core. Caller holds the core's order lock, for this function and the following ones. */
void sl_host_part_begin(struct sl_host_part *part, struct sl_host_share *share,
                        struct sl_placement *placement, const struct sl_backend *device, bool first);
/* Call it before `bytes` bytes are placed or promised: claims ahead if little room is left. Usually only
 * compares numbers. */
void sl_host_part_prepare(struct sl_host_part *part, uint64_t bytes);
/* `bytes` bytes found no room: looks what there is, and claims. True: try again. */
bool sl_host_part_more(struct sl_host_part *part, uint64_t bytes);
/* Call it after any change of what is placed or promised: gives back what is claimed far beyond that. Usually
 * only compares numbers. */
void sl_host_part_changed(struct sl_host_part *part);
/* The bytes of the part that are not used. */
uint64_t sl_host_part_unused(const struct sl_host_part *part);
/* Gives back all of them. False: there are none. */
bool sl_host_part_trim(struct sl_host_part *part);
/* The core's memory is gone, and it gets no more. Accepts a part that never began. */
void sl_host_part_end(struct sl_host_part *part);

#endif
