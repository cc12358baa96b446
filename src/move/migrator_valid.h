/* Checks the migrator's accounts, for SL_CHECK_ALL and tests. Changes nothing. */
#ifndef SLUICE_MIGRATOR_VALID_H
#define SLUICE_MIGRATOR_VALID_H

#include "move/migrator.h"

/* In each direction, no more movements are done than were issued, and no chunk names a later one. A chunk is
 * resident exactly if it has a frame, and the frames add up to `occupied_bytes`. No allocation lies in a
 * chunk that is resident and dead, and so may be discarded. Pinned chunks are not counted. Precondition: the
 * policy is not one where the driver moves memory (SL_MEMORY_PAGED). Caller holds the order lock and both
 * directions' locks. */
bool sl_migrator_is_valid(const struct sl_migrator *migrator);

#endif
