/* Copies between contexts, and access to other devices' memory. Addresses are unified, so the contexts only
 * have to exist. */
#include "driver.h"

/* Checks the contexts of both sides. */
static CUresult check(CUcontext to, CUcontext from)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    bool known = sc_handle_is(to, SC_HANDLE_CONTEXT) && sc_handle_is(from, SC_HANDLE_CONTEXT);
    return sc_leave(known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

/* The copy must come after all work of both contexts, and before their later work. If they differ, the host
 * waits. */
static CUresult wait_for(CUcontext to, CUcontext from)
{
    CUresult result = check(to, from);
    if (result || to == from) return result;
    result = cuCtxSynchronize_v2(to);
    return result ? result : cuCtxSynchronize_v2(from);
}

static CUresult wait_again(CUcontext to, CUcontext from)
{
    return to == from ? CUDA_SUCCESS : cuCtxSynchronize_v2(NULL);
}

#define PEER_COPY(name, copy)                                                                                \
    CUresult CUDAAPI name(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,    \
                          size_t bytes)                                                                      \
    {                                                                                                        \
        CUresult result = wait_for(to_context, from_context);                                                \
        if (!result) result = copy(to, from, bytes);                                                         \
        return result ? result : wait_again(to_context, from_context);                                       \
    }
PEER_COPY(cuMemcpyPeer, cuMemcpyDtoD_v2)
PEER_COPY(cuMemcpyPeer_ptds, cuMemcpyDtoD_v2_ptds)

CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                   CUcontext from_context, size_t bytes, CUstream stream)
{
    CUresult result = check(to_context, from_context);
    return result ? result : cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

/* The same copy without contexts. */
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
    if (!result) result = wait_for(parameters->dstContext, parameters->srcContext);
    if (!result) result = cuMemcpy3D_v2(&copy);
    return result ? result : wait_again(parameters->dstContext, parameters->srcContext);
}

CUresult CUDAAPI cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER *parameters)
{
    CUDA_MEMCPY3D copy;
    CUresult result = without_contexts(parameters, &copy);
    if (!result) result = wait_for(parameters->dstContext, parameters->srcContext);
    if (!result) result = cuMemcpy3D_v2_ptds(&copy);
    return result ? result : wait_again(parameters->dstContext, parameters->srcContext);
}

CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *parameters, CUstream stream)
{
    CUDA_MEMCPY3D copy;
    CUresult result = without_contexts(parameters, &copy);
    return result ? result : cuMemcpy3DAsync_v2(&copy, stream);
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice from,
                                         CUdevice to)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sc_enter(SC_NEED_INIT);
    if (result) return result;
    const struct sc_device *device = sc_device_at(from), *peer = sc_device_at(to);
    if (!device || !peer || device == peer) return sc_leave(CUDA_ERROR_INVALID_DEVICE);
    bool reaches = sc_device_reaches(device, peer), linked = sc_options()->nvlink_gbps;
    switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
        *value = !linked; /* 0 is the highest rank */
        break;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
        *value = reaches;
        break;
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
        *value = linked;
        break;
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = 0;
        break;
    default:
        return sc_leave(CUDA_ERROR_INVALID_VALUE);
    }
    return sc_leave(CUDA_SUCCESS);
}

/* Enters and checks a context of another device. On success the lock is held. */
static CUresult enter_peer(CUcontext handle, const struct sc_device **out)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    const struct sc_context *peer = (struct sc_context *)handle;
    bool other = sc_handle_is(handle, SC_HANDLE_CONTEXT) && peer != sc_current();
    if (!other) return sc_leave(CUDA_ERROR_INVALID_CONTEXT);
    *out = peer->device;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    const struct sc_device *device;
    CUresult result = enter_peer(peer, &device);
    if (result) return result;
    struct sc_context *own = sc_current();
    if (!sc_device_reaches(own->device, device)) return sc_leave(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    if (own->peers >> device->ordinal & 1) return sc_leave(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    own->peers |= 1u << device->ordinal;
    return sc_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer)
{
    const struct sc_device *device;
    CUresult result = enter_peer(peer, &device);
    if (result) return result;
    struct sc_context *own = sc_current();
    if (!(own->peers >> device->ordinal & 1)) return sc_leave(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    own->peers &= ~(1u << device->ordinal);
    return sc_leave(CUDA_SUCCESS);
}
