/* Device memory that the program allocates outside sluice, recorded by handle so that exactly the charged
 * bytes are returned to the budget. Thread-safe. */
#ifndef SLUICE_SHIM_CHARGE_H
#define SLUICE_SHIM_CHARGE_H

#include <stdint.h>

#include <cuda.h>

/* Handles of different kinds may be equal numbers. */
enum sl_charge_kind {
    SL_CHARGE_ADDRESS,
    SL_CHARGE_PHYSICAL, /* used by physical.c */
    SL_CHARGE_ARRAY,
    SL_CHARGE_EXTERNAL,
    SL_CHARGE_IPC,    /* one charge for each time it is opened */
    SL_CHARGE_GRAPHS, /* memory nodes of all graphs of a device */
    SL_CHARGE_POOL,   /* memory that the pool holds but has not given out */
    SL_CHARGE_MODULE, /* of modules and of libraries */
};

/* Charges `bytes` for `handle`, replacing an earlier charge. Charges nothing for 0 bytes, or without host
 * memory for the record. */
void sl_charge(enum sl_charge_kind kind, uint64_t handle, uint64_t bytes);

/* Returns the charge of `handle` to the budget and returns its size, 0 if there is none. Call it before the
 * driver frees: afterwards another thread may get the same handle. */
uint64_t sl_uncharge(enum sl_charge_kind kind, uint64_t handle);

/* The context ends, and with it the memory that was charged while it was current, except for that of pools
 * and of cuMemCreate. */
void sl_charge_context_gone(CUcontext context);

/* For the child after fork: the charges belong to the parent. */
void sl_charge_after_fork(void);

#endif
