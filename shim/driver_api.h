/* Declarations from driver_api.def: a function type, a real pointer and a hook for each intercepted function.
 */
#ifndef SLUICE_SHIM_DRIVER_API_H
#define SLUICE_SHIM_DRIVER_API_H

#include <cuda.h>

/* cuda.h maps these names to their newest version; the table also names the oldest. */
#undef cuGetProcAddress
#undef cuCtxCreate
#undef cuCtxDestroy
#undef cuCtxPopCurrent
#undef cuCtxPushCurrent
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuEventDestroy
#undef cuIpcOpenMemHandle
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync
#undef cuStreamBeginCapture
#undef cuStreamBatchMemOp
#undef cuStreamDestroy
#undef cuStreamUpdateCaptureDependencies
#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuGraphAddNode
#undef cuGraphInstantiate
#undef cuGraphExecUpdate
#undef cuGraphExecKernelNodeSetParams

/* How a call came in. */
struct sl_call {
    const void *caller;      /* the return address in the program */
    CUstream default_stream; /* the meaning of a NULL stream in this variant: NULL, or CU_STREAM_PER_THREAD */
};

/* sl_fn_SYMBOL: the type of the function. */
#define SL_ROW0(symbol, name, version) typedef CUresult(CUDAAPI sl_fn_##symbol)(void);
#define SL_ROW(symbol, name, version, declarations, arguments)                                               \
    typedef CUresult(CUDAAPI sl_fn_##symbol) declarations;
#define SL_PAIR(symbol, suffix, name, version, thread_version, declarations, arguments)                      \
    typedef CUresult(CUDAAPI sl_fn_##symbol) declarations;
#include "driver_api.def"
#undef SL_ROW0
#undef SL_ROW
#undef SL_PAIR

/* f_SYMBOL: the vendor's function, NULL if this driver lacks it. Set once, by driver.c. */
struct sl_real {
#define SL_ROW0(symbol, name, version) sl_fn_##symbol *f_##symbol;
#define SL_ROW(symbol, name, version, declarations, arguments) sl_fn_##symbol *f_##symbol;
#define SL_PAIR(symbol, suffix, name, version, thread_version, declarations, arguments)                      \
    sl_fn_##symbol *f_##symbol, *f_##symbol##_##suffix;
#include "driver_api.def"
#undef SL_ROW0
#undef SL_ROW
#undef SL_PAIR
};
extern struct sl_real sl_real;

/* sl_hook_SYMBOL: called by the symbol's entry; `real` is the variant that the program requested, never NULL.
 */
#define SL_MORE(...) , __VA_ARGS__
#define SL_ROW0(symbol, name, version) CUresult sl_hook_##symbol(struct sl_call call, sl_fn_##symbol *real);
#define SL_ROW(symbol, name, version, declarations, arguments)                                               \
    CUresult sl_hook_##symbol(struct sl_call call, sl_fn_##symbol *real SL_MORE declarations);
#define SL_PAIR(symbol, suffix, name, version, thread_version, declarations, arguments)                      \
    CUresult sl_hook_##symbol(struct sl_call call, sl_fn_##symbol *real SL_MORE declarations);
#include "driver_api.def"
#undef SL_ROW0
#undef SL_ROW
#undef SL_PAIR

#endif
