/* The memory accesses of libnccl's launches. */
#ifndef SOFTCUDA_NCCL_DESCRIBE_H
#define SOFTCUDA_NCCL_DESCRIBE_H

#include "native.h"
#include "rank.h"

/* The kernels' `describe` (native.h). */
bool sc_describe(struct sc_native_launch *launch);

/* The works of a launch. NULL: it was launched already and may not be launched again. pre: the rank's lock is
 * held. */
const struct sc_work *sc_works_of(struct sc_rank *rank, const struct sc_parameters *parameters);

#endif
