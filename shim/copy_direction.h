/* Which way a copy goes, for the trace. */
#ifndef SLUICE_COPY_DIRECTION_H
#define SLUICE_COPY_DIRECTION_H

#include <cuda.h>

#include "trace/events.h"

enum sl_side { SL_SIDE_UNKNOWN, SL_SIDE_HOST, SL_SIDE_DEVICE };

/* Where a unified address is. Asks the driver where it is not memory of ours. The program's managed memory
 * may be on either side: unknown. */
enum sl_side sl_side_of(CUdeviceptr address);

/* Where one side of a shaped copy is: `address` counts where `type` says unified. */
enum sl_side sl_side_of_type(CUmemorytype type, CUdeviceptr address);

enum sl_copy_direction sl_link_direction(enum sl_side to, enum sl_side from);

#endif
