/* Three-dimensional copies between devices, and batches of copies. */
#include "copy.h"
#include "state.h"

_Static_assert(sizeof(struct cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP), "handed on as they are");

/* Addresses are unified, so the devices are irrelevant. */
static struct cudaMemcpy3DParms without_devices(const struct cudaMemcpy3DPeerParms *p)
{
    return (struct cudaMemcpy3DParms){
        .srcArray = p->srcArray,
        .srcPos = p->srcPos,
        .srcPtr = p->srcPtr,
        .dstArray = p->dstArray,
        .dstPos = p->dstPos,
        .dstPtr = p->dstPtr,
        .extent = p->extent,
        .kind = cudaMemcpyDefault,
    };
}

static cudaError_t copy(const struct sc_driver *driver, const struct cudaMemcpy3DPeerParms *p)
{
    if (!p) return cudaErrorInvalidValue;
    const struct cudaMemcpy3DParms same = without_devices(p);
    return sc_copy_3d(driver, &same);
}

static cudaError_t copy_async(const struct sc_driver *driver, const struct cudaMemcpy3DPeerParms *p,
                              cudaStream_t stream)
{
    if (!p) return cudaErrorInvalidValue;
    const struct cudaMemcpy3DParms same = without_devices(p);
    return sc_copy_3d_async(driver, &same, stream);
}

SC_STREAM_API(cudaMemcpy3DPeer, _ptds, (const struct cudaMemcpy3DPeerParms *p), copy(driver, p))
SC_STREAM_API(cudaMemcpy3DPeerAsync, _ptsz, (const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream),
              copy_async(driver, p, stream))
SC_STREAM_API(cudaMemcpy3DBatchAsync, _ptsz,
              (size_t count, struct cudaMemcpy3DBatchOp *list, unsigned long long flags, cudaStream_t stream),
              CALL(cuMemcpy3DBatchAsync, count, (CUDA_MEMCPY3D_BATCH_OP *)list, flags, stream))
