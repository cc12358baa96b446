/* nccl.h for libnccl itself: exports what it declares. */
#ifndef SOFTCUDA_NCCL_API_H
#define SOFTCUDA_NCCL_API_H

#pragma GCC visibility push(default)
#include "../../include/nccl.h"
#pragma GCC visibility pop

#endif
