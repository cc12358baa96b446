/* Work that waits for something other than the device: host functions, words in memory, other interfaces.
 * Until it is done, the core makes no movement wait for a stream of the program; see sl_runtime_hold. */
#ifndef SLUICE_SHIM_HOLD_H
#define SLUICE_SHIM_HOLD_H

#include "driver_api.h"

struct sl_held;

/* Call these before and after the driver's call that gives such work to the stream. The second takes the
 * result of the first, which may be NULL, and returns the driver's answer. A capturing stream is given
 * nothing. */
struct sl_held *sl_hold(struct sl_call call, CUstream stream);
CUresult sl_let_go_behind(struct sl_call call, CUstream stream, struct sl_held *held, CUresult result);

#endif
