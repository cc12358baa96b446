/* Managed memory on a machine of several devices. Each device has its view of all managed memory (managed.h):
 * a block is on at most one device, and all other views have it on the host or, after a discard, nowhere. A
 * block that another device holds goes home to the host before it is used here, as between devices without
 * direct access.
 *
 * pre: the driver's lock is held, everywhere; in submission order. */
#ifndef SOFTCUDA_VIEWS_H
#define SOFTCUDA_VIEWS_H

#include "devices.h"

void sc_views_allocate(const struct sc_span *span);
void sc_views_free(const struct sc_span *span, uint64_t at_ns);
/* `to`: whom the advice names. */
void sc_views_advise(const struct sc_span *span, enum sc_advice advice, uint64_t at_ns);

/* `device` is about to use the span, or to lose it with its contents. Returns when it can: `ready_ns`, or
 * when the last block has come home. */
uint64_t sc_views_recall(struct sc_device *device, const struct sc_span *span, uint64_t ready_ns);
/* `device` works with the span from `at_ns` on, in its own time: what peers called home later than that, in
 * theirs, is away by then, so that no block counts twice on it. */
void sc_views_settle(struct sc_device *device, const struct sc_span *span, uint64_t at_ns);
void sc_views_forget(const struct sc_device *device, const struct sc_span *span, uint64_t at_ns);

#endif
