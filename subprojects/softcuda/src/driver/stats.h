/* SOFTCUDA_STATS: what the simulated device did, as JSON. */
#ifndef SOFTCUDA_STATS_H
#define SOFTCUDA_STATS_H

/* Writes the file that SOFTCUDA_STATS names, if it is set. */
void sc_stats_write(void);

/* The same once a second, where kernels are executed in part: for one who watches a long run, and may end it.
 * Precondition: the lock is held. */
void sc_stats_go_on(void);

#endif
