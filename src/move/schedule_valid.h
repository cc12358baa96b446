/* Whether a schedule is valid, for SL_CHECK_ALL and tests. Nothing is changed. */
#ifndef SLUICE_SCHEDULE_VALID_H
#define SLUICE_SCHEDULE_VALID_H

#include "move/schedule.h"

/* No more steps were issued, or taken over, than there are. Steps name chunks of the arena; fetches bring a
 * chunk at the most. Evictions are in the order in which they may be issued. Fetches wait for
 * no more evictions than there are, each for no fewer than the one before; those that were not issued are in
 * the order of their deadlines, and may be issued before them, where the order of the launches is certain.
 * The tables are those of a plan with these steps: they never fall, end with all the steps at the most, count
 * as many evictions as may be issued before the launch, and let each fetch be issued before it must be. No
 * more launches are served than the plan has. Caller holds the order lock, or that of a direction. */
bool sl_schedule_is_valid(const struct sl_schedule *schedule);

/* So many elements it goes through, about. */
size_t sl_schedule_elements(const struct sl_schedule *schedule);

#endif
