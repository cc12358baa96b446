/* What the driver reports about a stream, cached while it is valid: programs allocate and free far more often
 * than they make streams or capture. Thread-safe. */
#ifndef SLUICE_SHIM_STREAM_STATE_H
#define SLUICE_SHIM_STREAM_STATE_H

#include <cuda.h>

#include "device/backend.h"

/* Whether the stream captures at this moment. `stream` is as returned by sl_work_stream. Asks the driver if
 * the answer is not cached. Unknown: the driver refuses, for example because the handle is not valid;
 * *refused, which may be NULL, is its status. */
struct sl_answer sl_stream_captures(CUstream stream, CUresult *refused);

/* Call it before the handle becomes invalid or names another stream. */
void sl_stream_state_forget(CUstream stream);

#endif
