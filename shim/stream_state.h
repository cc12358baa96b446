/* What the driver says of a stream, remembered as long as it holds: programs allocate and free far more often
 * than they make streams or capture. Thread-safe.
 */
#ifndef SLUICE_SHIM_STREAM_STATE_H
#define SLUICE_SHIM_STREAM_STATE_H

#include <stdbool.h>

#include <cuda.h>

/* Whether the stream takes work now: its handle is good and it does not capture. `stream` is as
 * sl_work_stream has it. Asks the driver where it is not known. */
bool sl_stream_takes_work(CUstream stream);

/* To be called before the handle means nothing, or another stream. */
void sl_stream_state_forget(CUstream stream);

#endif
