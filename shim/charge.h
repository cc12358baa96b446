/* Device memory that the program takes past sluice: remembered by handle, so that exactly what was charged to
 * the budget is given back. Thread-safe. */
#ifndef SLUICE_SHIM_CHARGE_H
#define SLUICE_SHIM_CHARGE_H

#include <stdint.h>

/* Handles of different kinds may be equal numbers. */
enum sl_charge_kind {
    SL_CHARGE_ADDRESS,
    SL_CHARGE_PHYSICAL,
    SL_CHARGE_ARRAY,
    SL_CHARGE_GRAPH, /* what its memory nodes allocate */
    SL_CHARGE_POOL,  /* what it holds and has not given out */
};

/* Charges `bytes` for `handle`. Without host memory to remember it by, it is not charged. */
void sl_charge(enum sl_charge_kind kind, uint64_t handle, uint64_t bytes);

/* Gives back what was charged for `handle`, if anything. */
void sl_uncharge(enum sl_charge_kind kind, uint64_t handle);

/* The child's part of fork: what the parent charged is not its own. */
void sl_charge_after_fork(void);

#endif
