/* Copies between contexts. Addresses are unified and there is one device, so a context only has to exist. */
#include "driver.h"

/* The contexts of both ends. */
static CUresult check(CUcontext to, CUcontext from)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    bool known = sc_handle_is(to, SC_HANDLE_CONTEXT) && sc_handle_is(from, SC_HANDLE_CONTEXT);
    return sc_leave(known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                              size_t bytes)
{
    CUresult result = check(to_context, from_context);
    return result ? result : cuMemcpyDtoD_v2(to, from, bytes);
}

CUresult CUDAAPI cuMemcpyPeer_ptds(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                   CUcontext from_context, size_t bytes)
{
    CUresult result = check(to_context, from_context);
    return result ? result : cuMemcpyDtoD_v2_ptds(to, from, bytes);
}

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                   CUcontext from_context, size_t bytes, CUstream stream)
{
    CUresult result = check(to_context, from_context);
    return result ? result : cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

/* The same copy without the contexts. */
static CUresult without_contexts(const CUDA_MEMCPY3D_PEER *p, CUDA_MEMCPY3D *out)
{
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    *out = (CUDA_MEMCPY3D){
        .srcXInBytes = p->srcXInBytes,
        .srcY = p->srcY,
        .srcZ = p->srcZ,
        .srcLOD = p->srcLOD,
        .srcMemoryType = p->srcMemoryType,
        .srcHost = p->srcHost,
        .srcDevice = p->srcDevice,
        .srcArray = p->srcArray,
        .srcPitch = p->srcPitch,
        .srcHeight = p->srcHeight,
        .dstXInBytes = p->dstXInBytes,
        .dstY = p->dstY,
        .dstZ = p->dstZ,
        .dstLOD = p->dstLOD,
        .dstMemoryType = p->dstMemoryType,
        .dstHost = p->dstHost,
        .dstDevice = p->dstDevice,
        .dstArray = p->dstArray,
        .dstPitch = p->dstPitch,
        .dstHeight = p->dstHeight,
        .WidthInBytes = p->WidthInBytes,
        .Height = p->Height,
        .Depth = p->Depth,
    };
    return check(p->dstContext, p->srcContext);
}

CUresult CUDAAPI cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *parameters)
{
    CUDA_MEMCPY3D copy;
    CUresult result = without_contexts(parameters, &copy);
    return result ? result : cuMemcpy3D_v2(&copy);
}

CUresult CUDAAPI cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER *parameters)
{
    CUDA_MEMCPY3D copy;
    CUresult result = without_contexts(parameters, &copy);
    return result ? result : cuMemcpy3D_v2_ptds(&copy);
}

CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *parameters, CUstream stream)
{
    CUDA_MEMCPY3D copy;
    CUresult result = without_contexts(parameters, &copy);
    return result ? result : cuMemcpy3DAsync_v2(&copy, stream);
}

/* No other device is there to be reached. */
CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice from,
                                         CUdevice to)
{
    (void)attribute, (void)from, (void)to;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    return result ? result : sc_leave(CUDA_ERROR_INVALID_DEVICE);
}

static CUresult check_peer(CUcontext peer)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    bool other = sc_handle_is(peer, SC_HANDLE_CONTEXT) && (struct sc_context *)peer != sc_current();
    return sc_leave(other ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_peer(peer);
    return result ? result : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer)
{
    CUresult result = check_peer(peer);
    return result ? result : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
