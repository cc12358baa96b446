/* What concerns every part of the shim at once. */
#ifndef SLUICE_SHIM_INIT_H
#define SLUICE_SHIM_INIT_H

/* The child's part of fork: no lock is held, no thread is waited for, nothing is managed. Frees nothing: in a
 * child of clone() another thread may have held the allocator's lock. */
void sl_after_fork(void);

#endif
