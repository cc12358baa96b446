/* Which memory a launch may touch, and its signature. Caller holds the order lock. */
#ifndef SLUICE_ACCESS_H
#define SLUICE_ACCESS_H

#include "core.h"

/* Sets core->accesses to what the launch may touch and returns its symbol. *kernel is its number, or 0.
 * Every aligned 8-byte word of a kernel's parameters that lies in a live allocation is an access; by-value
 * structs are scanned whole. Copies and sets name their ranges themselves. A launch that is the expected one
 * is recognised by comparison: no search, no look-up of its signature; a kernel by its face (face.h). */
sl_symbol sl_access_scan(struct sl_core *core, const struct sl_launch *launch, uint32_t *kernel);

/* What the launch may touch, noted for later launches; NULL when there is no memory. */
struct sl_footprint *sl_access_footprint(struct sl_core *core, const struct sl_launch *launch);

/* Where an access ends: what the launch itself said, or the end of the tensor that begins at its offset,
 * widened to what the grid covers at least. */
uint64_t sl_access_end(const struct sl_slot *slot, const struct sl_access *access);

/* Sets core->touched to the chunks of the launch that was just scanned, each once. */
void sl_access_chunks(struct sl_core *core, const struct sl_launch *launch, sl_symbol symbol,
                      uint32_t kernel);

#endif
