/* How much of the device a footprint needs. Caller holds the order lock. */
#ifndef SLUICE_FOOTPRINT_BYTES_H
#define SLUICE_FOOTPRINT_BYTES_H

#include "launch/access.h"

/* Bytes of the chunks that a launch with this footprint would use now and that take frames; UINT64_MAX when
 * there is no memory to count them. Learns where inner tensors begin, as the launch would. */
uint64_t sl_footprint_bytes(struct sl_scanner *scanner, const struct sl_footprint *footprint);

#endif
