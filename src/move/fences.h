/* The fences that the schedule's evictions wait for: one behind each launch after which something leaves.
 *
 * A fence is never recorded anew while a release may still wait for it: it serves again when all evictions of
 * its launch have been issued. When as many are needed as there can be, launches get none, and what leaves
 * behind them waits for nobody. Thread-safe.
 */
#ifndef SLUICE_FENCES_H
#define SLUICE_FENCES_H

#include "move/migrator.h"

#define SL_FENCES 4096 /* at once */

struct sl_fences {
    struct sl_lock lock;
    const struct sl_backend *backend;
    struct sl_fence *ring[SL_FENCES]; /* by launch, the oldest first: from `first` up to `next` */
    uint64_t first, next;             /* modulo SL_FENCES */
    struct sl_fence *spare[SL_FENCES];
    uint32_t spare_count, made;
};

enum sl_status sl_fences_init(struct sl_fences *fences, const struct sl_backend *backend);
void sl_fences_close(struct sl_fences *fences, bool device_gone); /* accepts a zeroed or half-built one */

/* A fence to be recorded and handed to sl_fences_put, or NULL. `oldest`: no release of an earlier launch is
 * left. */
struct sl_fence *sl_fences_new(struct sl_fences *fences, sl_tick oldest);
/* It is not needed any more. */
void sl_fences_give(struct sl_fences *fences, struct sl_fence *fence);
/* It was recorded behind launch `tick`. */
void sl_fences_put(struct sl_fences *fences, struct sl_fence *fence, sl_tick tick);
/* The fence behind launch `tick`, or NULL. */
const struct sl_fence *sl_fences_find(struct sl_fences *fences, sl_tick tick);

#endif
