/* SOFTCUDA_STATS: what the simulated device did, as JSON. */
#ifndef SOFTCUDA_STATS_H
#define SOFTCUDA_STATS_H

/* Writes the file that SOFTCUDA_STATS names, if it is set. */
void sc_stats_write(void);

#endif
