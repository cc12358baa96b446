/* What the driver reports about a stream, cached while it is valid: programs allocate and free far more often
 * than they make streams or capture. Thread-safe. */
#ifndef SLUICE_SHIM_STREAM_STATE_H
#define SLUICE_SHIM_STREAM_STATE_H

#include <stdbool.h>

#include <cuda.h>

/* Whether the stream takes work at this moment: its handle is valid and it does not capture. `stream` is as
 * returned by sl_work_stream. Asks the driver if the answer is not cached. */
bool sl_stream_takes_work(CUstream stream);

/* Call it before the handle becomes invalid or names another stream. */
void sl_stream_state_forget(CUstream stream);

#endif
