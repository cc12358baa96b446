/* What happens to each chunk in a period of launches that repeats: its uses and deaths in order, and which
 * chunks are used alike. */
#ifndef SLUICE_PLAN_USES_H
#define SLUICE_PLAN_USES_H

#include "plan/plan.h"

enum sl_event_kind { SL_EVENT_USE, SL_EVENT_DEATH };

struct sl_chunk_event {
    uint32_t launch, access; /* access: in the order of the launches; none for a death */
    enum sl_event_kind kind;
};

struct sl_uses {
    size_t period;
    uint64_t hash; /* of all of it, the budget included */
    uint32_t chunk_count, access_count;
    uint32_t *first_event; /* by chunk, and one more, into: */
    struct sl_chunk_event *events;
    sl_chunk *order;                 /* the chunks, those that are used alike behind one another */
    uint32_t *rank_of, *alike_count; /* by chunk: its place among those, and how many they are */
};

/* Of the first `period` launches of valid input. On SL_OK released with sl_uses_free. SL_ERR_UNSUPPORTED: the next launches do not repeat them, or there are
 * more than `most_accesses`. SL_ERR_NO_MEMORY. */
enum sl_status sl_uses_make(const struct sl_plan_input *input, size_t period, size_t most_accesses,
                            struct sl_uses *out);
void sl_uses_free(struct sl_uses *uses); /* accepts zeroed ones */

/* Whether they are those of this input's first launches, too. O(accesses of a period). */
bool sl_uses_fit(const struct sl_uses *uses, const struct sl_plan_input *input);

#endif
