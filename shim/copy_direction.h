/* Direction of a copy, for the trace. */
#ifndef SLUICE_COPY_DIRECTION_H
#define SLUICE_COPY_DIRECTION_H

#include <cuda.h>

#include "trace/events.h"

enum sl_side { SL_SIDE_UNKNOWN, SL_SIDE_HOST, SL_SIDE_DEVICE };

/* The side of a unified address. Asks the driver unless it is memory of ours. Unknown for the program's
 * managed memory, which may be on either side. */
enum sl_side sl_side_of(CUdeviceptr address);

/* The side of one end of a shaped copy; `address` matters only if `type` is unified. */
enum sl_side sl_side_of_type(CUmemorytype type, CUdeviceptr address);

enum sl_copy_direction sl_link_direction(enum sl_side to, enum sl_side from);

#endif
