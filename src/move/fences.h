/* The fences that evictions wait for: one behind each launch after which chunks are evicted.
 *
 * A fence is reused only when all evictions of its launch have been issued, and no mover still waits for one
 * of its events on the host (struct sl_users): recorded anew, these would stand behind later work, or belong
 * to a capture. If SL_FENCES are in use, further launches get none, and the
 * evictions after them wait for no stream. Thread-safe.
 */
#ifndef SLUICE_FENCES_H
#define SLUICE_FENCES_H

#include "move/migrator.h"

#define SL_FENCES 4096 /* in use at the same time */

struct sl_fences {
    struct sl_lock lock;
    const struct sl_backend *backend;
    struct sl_fence *ring[SL_FENCES]; /* indices `first` to `next` - 1, by launch, the oldest first */
    uint64_t first, next;             /* used modulo SL_FENCES */
    struct sl_fence *spare[SL_FENCES];
    uint32_t spare_count, made;
};

enum sl_status sl_fences_init(struct sl_fences *fences, const struct sl_backend *backend);
void sl_fences_close(struct sl_fences *fences, bool device_gone); /* accepts a zeroed or half-built one */

/* A fence to record and to pass to sl_fences_put, or NULL. `oldest`: all evictions of earlier launches have
 * been issued. */
struct sl_fence *sl_fences_new(struct sl_fences *fences, sl_tick oldest);
/* Returns a fence that is not needed any more. */
void sl_fences_give(struct sl_fences *fences, struct sl_fence *fence);
/* The fence was recorded behind launch `tick`. */
void sl_fences_put(struct sl_fences *fences, struct sl_fence *fence, sl_tick tick);
/* The fence behind launch `tick`, or NULL. */
struct sl_fence *sl_fences_find(struct sl_fences *fences, sl_tick tick);

#endif
