/* Device memory that the program takes past sluice: remembered by handle, so that exactly what was charged to
 * the budget is given back. Thread-safe. */
#ifndef SLUICE_SHIM_CHARGE_H
#define SLUICE_SHIM_CHARGE_H

#include <stdint.h>

/* Handles of different kinds may be equal numbers. */
enum sl_charge_kind {
    SL_CHARGE_ADDRESS,
    SL_CHARGE_PHYSICAL, /* by physical.c */
    SL_CHARGE_ARRAY,
    SL_CHARGE_GRAPH, /* what its memory nodes allocate */
    SL_CHARGE_EXTERNAL,
    SL_CHARGE_IPC,           /* opened as often as charged */
    SL_CHARGE_GRAPH_RESERVE, /* what the driver holds for graphs beyond that */
    SL_CHARGE_POOL,          /* what it holds and has not given out */
};

/* Charges `bytes` for `handle`, in place of what was charged for it before. Without host memory to remember
 * it by, it is not charged; nor are 0 bytes. */
void sl_charge(enum sl_charge_kind kind, uint64_t handle, uint64_t bytes);

/* Gives back what was charged for `handle`, if anything, and returns it. To be called before the driver
 * frees: afterwards another thread may get the same handle. */
uint64_t sl_uncharge(enum sl_charge_kind kind, uint64_t handle);

/* The child's part of fork: what the parent charged is not its own. */
void sl_charge_after_fork(void);

#endif
