/* Which chunk an address lies in. */
#ifndef SLUICE_CHUNK_AT_H
#define SLUICE_CHUNK_AT_H

#include "tools/model/model.h"

/* The chunk at `address`, and its end; SL_NONE and UINT64_MAX: the trace does not place one there. */
uint32_t chunk_at(const struct model *model, uint64_t address, uint64_t *end);

#endif
