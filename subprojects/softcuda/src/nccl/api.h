/* nccl.h for its own library: what it declares is exported. */
#ifndef SOFTCUDA_NCCL_API_H
#define SOFTCUDA_NCCL_API_H

#pragma GCC visibility push(default)
#include "../../include/nccl.h"
#pragma GCC visibility pop

#endif
