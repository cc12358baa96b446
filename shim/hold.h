/* Work that waits for something else than the device: host functions, words in memory, other interfaces.
 * Until it is done the core lets no movement wait for a stream of the program, see sl_runtime_hold. */
#ifndef SLUICE_SHIM_HOLD_H
#define SLUICE_SHIM_HOLD_H

#include <stdbool.h>

#include "driver_api.h"

/* Around the driver's call that gives such work to the stream. What the first returned goes to the second,
 * which hands the driver's answer on. A stream that captures is given nothing. */
bool sl_hold(struct sl_call call, CUstream stream);
CUresult sl_let_go_behind(struct sl_call call, CUstream stream, bool held, CUresult result);

#endif
