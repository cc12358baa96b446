#include "stream_state.h"

#include <stdatomic.h>
#include <stdint.h>

#include "capture.h"
#include "driver.h"
#include "session.h"

/* Cache of streams that took work when the driver was asked; each slot keeps the last stream with its
 * hash. */
enum { KNOWN = 64, HANDLE_SHIFT = 4 };
static _Atomic uintptr_t known[KNOWN]; /* the handle + 1; 0: none */

static _Atomic uintptr_t *place_of(CUstream stream)
{
    uintptr_t handle = (uintptr_t)stream;
    return &known[(handle ^ handle >> HANDLE_SHIFT ^ handle >> 2 * HANDLE_SHIFT) % KNOWN];
}

static bool ask(CUstream stream)
{
    const struct sl_cuda_driver *driver = sl_driver_functions();
    CUstreamCaptureStatus status;
    CUresult result = driver->stream_is_capturing(stream, &status);
    if (result == CUDA_ERROR_UNKNOWN && driver->stream_get_capture_info)
        result = driver->stream_get_capture_info(stream, &status, NULL, NULL, NULL, NULL);
    return result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_NONE;
}

/* The cache is valid in the managed context, while no stream captures. */
bool sl_stream_takes_work(CUstream stream)
{
    bool lasts = sl_session_on() && !sl_captures_any();
    _Atomic uintptr_t *place = place_of(stream);
    if (lasts && atomic_load_explicit(place, memory_order_relaxed) == (uintptr_t)stream + 1) return true;
    bool takes = ask(stream);
    if (takes && lasts) atomic_store_explicit(place, (uintptr_t)stream + 1, memory_order_relaxed);
    return takes;
}

void sl_stream_state_forget(CUstream stream)
{
    uintptr_t was = (uintptr_t)stream + 1;
    atomic_compare_exchange_strong(place_of(stream), &was, 0);
}
