/* Functions that concern all parts of the shim. */
#ifndef SLUICE_SHIM_INIT_H
#define SLUICE_SHIM_INIT_H

/* For the child after fork: no lock is held, no thread is waited for, nothing is managed. Frees nothing,
 * because another thread of the parent may have held the allocator's lock when the child was cloned. */
void sl_after_fork(void);

#endif
