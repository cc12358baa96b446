/* Checks a schedule, for SL_CHECK_ALL and tests. Changes nothing. */
#ifndef SLUICE_SCHEDULE_VALID_H
#define SLUICE_SCHEDULE_VALID_H

#include "move/schedule.h"

/* No more steps were issued, or taken over, than there are. Steps name chunks of the arena, and a fetch
 * brings at most one chunk's bytes. Evictions are in the order in which they may be issued. Fetches wait for
 * no more evictions than there are, each for at least as many as the one before. If the order of launches is
 * certain, fetches that were not issued are in the order of their deadlines, and each may be issued before
 * its deadline. The tables match the steps: they never fall, end with at most all steps, count exactly the
 * evictions that may be issued before a launch, and let each fetch be issued before it must be. No more
 * launches are served than the plan has. Caller holds the order lock or a direction's lock. */
bool sl_schedule_is_valid(const struct sl_schedule *schedule);

/* About the number of elements that it checks. */
size_t sl_schedule_elements(const struct sl_schedule *schedule);

#endif
