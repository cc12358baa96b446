/* One launch of a libnccl kernel in the driver: the functions of struct sc_native_peers (native.h). */
#ifndef SOFTCUDA_NCCL_LAUNCH_H
#define SOFTCUDA_NCCL_LAUNCH_H

#include "native.h"
#include "work.h"

extern const struct sc_native_peers sc_launch_peers;

#endif
