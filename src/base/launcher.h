/* What the launcher of a distributed job (torchrun, mpirun, srun) says of this process, by the environment.
 */
#ifndef SLUICE_LAUNCHER_H
#define SLUICE_LAUNCHER_H

#include "base/types.h"

#define SL_LOCAL_RANKS_MOST 1024

struct sl_launcher {
    uint32_t local_rank; /* among the job's processes on this machine */
    uint32_t local_size; /* how many these are; 0: nobody says */
    uint64_t job;        /* equal in all of them, and another in other jobs; not 0 where local_size is not */
};

/* Reads it. Of several launchers the one that started the process last counts. What is not a rank below a
 * size of SL_LOCAL_RANKS_MOST at most is as if it were not there. Not thread-safe. */
void sl_launcher_note(void);

/* What was noted; all zero before. */
const struct sl_launcher *sl_launcher(void);

#endif
