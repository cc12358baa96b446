#ifndef SHARING_H
#define SHARING_H

#include <cuda.h>

/* Memory that is mapped at an address of its own, in the order in which NCCL does it; and its end. */
__attribute__((visibility("default"))) CUresult sharing_make(CUmemGenericAllocationHandle *handle,
                                                             CUdeviceptr *address, size_t bytes);
__attribute__((visibility("default"))) CUresult sharing_end(CUmemGenericAllocationHandle handle,
                                                            CUdeviceptr address, size_t bytes);
/* cuMemAlloc, called from here. */
__attribute__((visibility("default"))) CUresult sharing_allocate(CUdeviceptr *address, size_t bytes);

#endif
