/* Variables of the environment that are others': what the launcher of a distributed job (torchrun, mpirun,
 * srun) states about this process, and what frameworks are to do. */
#ifndef SLUICE_ENVIRONMENT_H
#define SLUICE_ENVIRONMENT_H

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

/* Frameworks cache freed memory and reuse it, so the driver does not see their tensors. Unless the user has
 * chosen otherwise, sluice sets the documented variable that makes PyTorch allocate each tensor in stream
 * order (backend:cudaMallocAsync), and one that has its process groups made by the older of two ways, as the
 * newer (PyTorch 2.15) ends the process with that allocator. Then sluice sees when each tensor begins and
 * ends, and places it. `sluice run` does so for its program; without it, the preloaded object does so for
 * Python. */
#define SL_FRAMEWORK_VARIABLES 3
#define SL_FRAMEWORK_ENTRY 4096 /* bytes; longer values are left alone */

/* Whether PyTorch may be loaded into the process later: it is a Python interpreter. A program linked with
 * PyTorch reads the environment before a preloaded object could change it. */
bool sl_framework_may_come(void);

/* The variables that the environment should have, as "NAME=VALUE", replacing those of the same name. Returns
 * their number: 0 if the user has chosen an allocator, or set what only the caching one obeys. Must be called
 * before main: frameworks read their variables when they are loaded. Allocates nothing. */
size_t sl_framework_settings(char entries[SL_FRAMEWORK_VARIABLES][SL_FRAMEWORK_ENTRY]);

#endif
