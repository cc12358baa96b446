/* Managed memory on a machine with several devices. Each device has a view of all managed memory (managed.h):
 * a block is on at most one device; all other views have it on the host or, after a discard, nowhere. Before
 * a device uses a block that another device holds, the block moves to the host, as between devices without
 * peer access.
 *
 * pre: all functions: the driver's lock is held, and calls are in submission order. */
#ifndef SOFTCUDA_VIEWS_H
#define SOFTCUDA_VIEWS_H

#include "devices.h"

void sc_views_allocate(const struct sc_span *span);
void sc_views_free(const struct sc_span *span, uint64_t at_ns);
/* span->to and span->ordinal: the place that the advice names. */
void sc_views_advise(const struct sc_span *span, enum sc_advice advice, uint64_t at_ns);

/* Moves to the host all blocks of the span that other devices hold, before `device` uses or discards them.
 * Returns the time from which `device` can use the span: at least `ready_ns`. */
uint64_t sc_views_recall(struct sc_device *device, const struct sc_span *span, uint64_t ready_ns);
/* `device` uses the span from `at_ns` on, in its own time. If a peer recalled a block at a later time, this
 * corrects the footprint so that the block is not counted twice between the two times. */
void sc_views_settle(struct sc_device *device, const struct sc_span *span, uint64_t at_ns);
/* The CPU accesses the block that begins at `address`: if only a device has it, it moves to the host. Returns
 * when the access is over. */
uint64_t sc_views_host_fault(uint64_t address, uint64_t at_ns);
void sc_views_forget(const struct sc_device *device, const struct sc_span *span, uint64_t at_ns);

#endif
