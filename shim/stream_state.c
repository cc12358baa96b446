#include "stream_state.h"

#include <stdatomic.h>
#include <stdint.h>

#include "capture.h"
#include "device/cuda_call.h"
#include "driver.h"
#include "session.h"

/* Cache of streams that did not capture when the driver was asked; each slot keeps the last stream with its
 * hash. */
enum { KNOWN = 64, HANDLE_SHIFT = 4 };
static _Atomic uintptr_t known[KNOWN]; /* the handle + 1; 0: none */

static _Atomic uintptr_t *place_of(CUstream stream)
{
    uintptr_t handle = (uintptr_t)stream;
    return &known[(handle ^ handle >> HANDLE_SHIFT ^ handle >> 2 * HANDLE_SHIFT) % KNOWN];
}

/* The cache is valid in the managed context, while no stream captures. */
struct sl_answer sl_stream_captures(CUstream stream, CUresult *refused)
{
    bool lasts = sl_session_on() && !sl_captures_any();
    _Atomic uintptr_t *place = place_of(stream);
    if (lasts && atomic_load_explicit(place, memory_order_relaxed) == (uintptr_t)stream + 1)
        return sl_answer_of(false);
    struct sl_answer captures = sl_cuda_capturing(sl_driver_functions(), stream, refused);
    if (sl_is_no(captures) && lasts)
        atomic_store_explicit(place, (uintptr_t)stream + 1, memory_order_relaxed);
    return captures;
}

void sl_stream_state_forget(CUstream stream)
{
    uintptr_t was = (uintptr_t)stream + 1;
    atomic_compare_exchange_strong(place_of(stream), &was, 0);
}
