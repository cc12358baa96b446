/* Whether what the migrator keeps account of is valid, for SL_CHECK_ALL and tests. Nothing is changed. */
#ifndef SLUICE_MIGRATOR_VALID_H
#define SLUICE_MIGRATOR_VALID_H

#include "move/migrator.h"

/* Of each direction no more movements are done than were issued, and no chunk names a later one. A chunk is
 * resident if it has a frame, and only then, and what frames hold adds up to `occupied_bytes`. What is dead
 * and resident, and so may be discarded, is nobody's. What is pinned is in no account. pre: the driver moves
 * nothing by itself (SL_MEMORY_PAGED). Caller holds the order lock and both directions' locks. */
bool sl_migrator_is_valid(const struct sl_migrator *migrator);

#endif
