/* Attributes of streams. They are hints to hardware that this device does not simulate, or were set at
 * creation: they can be read back, but have no effect. */
#include "driver.h"

static CUresult enter_stream(CUstream handle, struct sc_stream **out)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    if (result) return result;
    *out = sc_stream_find(handle);
    return *out ? CUDA_SUCCESS : sc_leave(CUDA_ERROR_INVALID_HANDLE);
}

static CUresult set(struct sc_stream *stream, CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
    switch (attribute) {
    case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        if (value->syncPolicy < CU_SYNC_POLICY_AUTO || value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC)
            return CUDA_ERROR_INVALID_VALUE;
        stream->synchronization_policy = value->syncPolicy;
        return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        stream->access_policy = value->accessPolicyWindow;
        return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_PRIORITY:
        sc_stream_set_priority(stream, value->priority);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult CUDAAPI cuStreamSetAttribute(CUstream handle, CUstreamAttrID attribute,
                                      const CUstreamAttrValue *value)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    struct sc_stream *stream;
    CUresult result = enter_stream(handle, &stream);
    return result ? result : sc_leave(set(stream, attribute, value));
}

CUresult CUDAAPI cuStreamGetAttribute(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue *value)
{
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    struct sc_stream *stream;
    CUresult result = enter_stream(handle, &stream);
    if (result) return result;
    switch (attribute) {
    case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        value->syncPolicy =
            stream->synchronization_policy ? stream->synchronization_policy : CU_SYNC_POLICY_AUTO;
        break;
    case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        value->accessPolicyWindow = stream->access_policy;
        break;
    case CU_STREAM_ATTRIBUTE_PRIORITY:
        value->priority = stream->priority;
        break;
    default:
        result = CUDA_ERROR_INVALID_VALUE;
    }
    return sc_leave(result);
}

CUresult CUDAAPI cuStreamCopyAttributes(CUstream to_handle, CUstream from_handle)
{
    struct sc_stream *to;
    CUresult result = enter_stream(to_handle, &to);
    if (result) return result;
    struct sc_stream *from = sc_stream_find(from_handle);
    if (!from) return sc_leave(CUDA_ERROR_INVALID_HANDLE);
    to->synchronization_policy = from->synchronization_policy;
    to->access_policy = from->access_policy;
    sc_stream_set_priority(to, from->priority);
    return sc_leave(CUDA_SUCCESS);
}

/* There is no L2 cache to reset. */
CUresult CUDAAPI cuCtxResetPersistingL2Cache(void)
{
    CUresult result = sc_enter(SC_NEED_CONTEXT);
    return result ? result : sc_leave(CUDA_SUCCESS);
}
