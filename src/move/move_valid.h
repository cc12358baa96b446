/* Whether schedule and migrator are valid, for SL_CHECK_ALL and tests. The functions change nothing. */
#ifndef SLUICE_MOVE_VALID_H
#define SLUICE_MOVE_VALID_H

#include "move/schedule.h"

/* No more steps were issued, or taken over, than there are. Steps name chunks of the arena, and a fetch
 * brings at most one chunk's bytes. Evictions are in the order in which they may be issued. Fetches wait for
 * no more evictions than there are, each for at least as many as the one before. If the order of launches is
 * certain, fetches that were not issued are in the order of their deadlines, and each may be issued before
 * its deadline. The tables match the steps: they never fall, end with at most all steps, count exactly the
 * evictions that may be issued before a launch, and let each fetch be issued before it must be. No more
 * launches are served than the plan has. Caller holds the order lock or a direction's lock. */
bool sl_schedule_is_valid(const struct sl_schedule *schedule);

/* About how many elements sl_schedule_is_valid visits. */
size_t sl_schedule_elements(const struct sl_schedule *schedule);

/* In each direction, no more movements are done than were issued, and no chunk names a later one. A chunk is
 * resident exactly if it has a frame, and the frames add up to `occupied_bytes`. No allocation lies in a
 * chunk that is resident and dead, and so may be discarded. Pinned chunks are not counted. Precondition: the
 * policy is not one where the driver moves memory (SL_MEMORY_PAGED). Caller holds the order lock and both
 * directions' locks. */
bool sl_migrator_is_valid(const struct sl_migrator *migrator);

#endif
