#include "device/cuda_capturing.h"

enum { TRIES = 8 };

/* Whether another call would be answered in the same way. */
static bool is_final(CUresult result)
{
    switch (result) {
    case CUDA_SUCCESS:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEINITIALIZED:
        return true;
    default:
        return false;
    }
}

struct sl_answer sl_cuda_capturing(const struct sl_cuda_driver *driver, CUstream stream, CUresult *refused)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = driver->stream_is_capturing(stream, &status);
    for (int t = 1; t < TRIES && !is_final(result); t++)
        result = t % 2 && driver->stream_get_capture_info
                     ? driver->stream_get_capture_info(stream, &status, NULL, NULL, NULL, NULL)
                     : driver->stream_is_capturing(stream, &status);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return sl_answer_of(true);
    if (result != CUDA_SUCCESS) {
        if (refused) *refused = result;
        return sl_no_answer();
    }
    return sl_answer_of(status != CU_STREAM_CAPTURE_STATUS_NONE);
}
