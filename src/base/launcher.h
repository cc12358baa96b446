/* What the launcher of a distributed job (torchrun, mpirun, srun) states about this process in the
 * environment. */
#ifndef SLUICE_LAUNCHER_H
#define SLUICE_LAUNCHER_H

#include "base/types.h"

#define SL_LOCAL_RANKS_MOST 1024

struct sl_launcher {
    uint32_t local_rank; /* among the job's processes on this machine */
    uint32_t local_size; /* their number; 0: unknown */
    uint64_t job;        /* equal in all of them, different in other jobs; not 0 if local_size is not 0 */
};

/* Reads the environment. Of several launchers the one that started the process last counts. A rank must be
 * below the size, and the size at most SL_LOCAL_RANKS_MOST; other values are ignored. Not thread-safe. */
void sl_launcher_note(void);

/* The values read by sl_launcher_note; all zero before. */
const struct sl_launcher *sl_launcher(void);

#endif
