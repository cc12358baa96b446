/* The engines of the simulated device, and transfers over the link. */
#ifndef SOFTCUDA_TRANSFERS_H
#define SOFTCUDA_TRANSFERS_H

#include "timing.h"

/* The first moment from `ready_ns` on at which the engine is free for `length_ns`, behind what `order` has
 * there. */
uint64_t sc_engine_gap(const struct sc_timing *timing, enum sc_timing_engine engine,
                       const struct sc_order *order, uint64_t ready_ns, uint64_t length_ns);

/* The first moment from `ready_ns` on that lies behind everything on the engine. */
uint64_t sc_engine_behind(const struct sc_timing *timing, enum sc_timing_engine engine, uint64_t ready_ns);

/* The engine is busy from `start_ns` to `end_ns`. */
void sc_engine_book(struct sc_timing *timing, enum sc_timing_engine engine, struct sc_order *order,
                    uint64_t start_ns, uint64_t end_ns);

/* Places a transfer of `bytes` at `factor` times the link's rate; without bytes it does not use the engine.
 * Returns its end. */
uint64_t sc_transfer(struct sc_timing *timing, enum sc_timing_engine direction, struct sc_order *order,
                     uint64_t ready_ns, uint64_t bytes, double factor, uint64_t *start_ns);

#endif
