/* What a launch of libnccl's accesses. */
#ifndef SOFTCUDA_NCCL_DESCRIBE_H
#define SOFTCUDA_NCCL_DESCRIBE_H

#include "native.h"
#include "rank.h"

/* The kernels' `describe` (native.h). */
bool sc_describe(struct sc_native_launch *launch);

/* Where a launch's works are; NULL: it was launched already, and not to be launched again. pre: the rank's
 * lock is held. */
const struct sc_work *sc_works_of(struct sc_rank *rank, const struct sc_parameters *parameters);

#endif
