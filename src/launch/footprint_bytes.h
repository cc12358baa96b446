/* How much device memory a footprint needs. Caller holds the order lock. */
#ifndef SLUICE_FOOTPRINT_BYTES_H
#define SLUICE_FOOTPRINT_BYTES_H

#include "launch/access.h"

/* Bytes of the chunks that need frames for a launch with this footprint at present; UINT64_MAX: out of
 * memory. Learns where inner tensors begin, as the launch would. */
uint64_t sl_footprint_bytes(struct sl_scanner *scanner, const struct sl_footprint *footprint);

#endif
