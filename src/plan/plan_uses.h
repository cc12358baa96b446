/* When chunks are used: the future uses of each, the same for all attempts of a plan; and the events of each
 * chunk in a repeating period of launches, its uses and deaths in order, and which chunks have the same
 * events. */
#ifndef SLUICE_PLAN_USES_H
#define SLUICE_PLAN_USES_H

#include "plan/plan.h"

/* The future uses of the chunks. A moment is a point between launches: moment 0 is before launches[0], moment
 * m after launches[m - 1]. */
struct sl_outlook {
    uint32_t *next;          /* by access, in the order of the launches: the chunk's next use, or SL_NONE */
    uint32_t *death;         /* by access: the launch after which the chunk dies before that, or SL_NONE */
    uint32_t *first, *last;  /* by chunk: the first and last launches that use it, or SL_NONE */
    uint32_t *first_death;   /* by chunk: the launch after which it dies before its first use, or SL_NONE */
    const double *launch_ns; /* duration of each launch */
    uint32_t access_count;
};

/* On SL_OK release *out with sl_outlook_free. */
enum sl_status sl_outlook_make(const struct sl_plan_input *input, const double *launch_ns,
                               struct sl_outlook *out);
void sl_outlook_free(struct sl_outlook *outlook); /* accepts a zeroed one */

enum sl_event_kind { SL_EVENT_USE, SL_EVENT_DEATH };

struct sl_chunk_event {
    uint32_t launch, access; /* index in the order of the launches; SL_NONE for a death */
    enum sl_event_kind kind;
};

struct sl_uses {
    size_t period;
    uint64_t hash; /* of all events, and of the budget */
    uint32_t chunk_count, access_count;
    uint32_t *first_event; /* by chunk, and one more: index of its first event */
    struct sl_chunk_event *events;
    sl_chunk *order;                 /* all chunks; chunks with the same events are adjacent */
    uint32_t *rank_of, *alike_count; /* by chunk: position among its likes, and their number */
};

/* Reads the first `period` launches of valid input. SL_ERR_UNSUPPORTED: the next launches do not repeat them,
 * or they have no accesses or more than `most_accesses`. SL_ERR_NO_MEMORY. On SL_OK release *out with
 * sl_uses_free. */
enum sl_status sl_uses_make(const struct sl_plan_input *input, size_t period, size_t most_accesses,
                            struct sl_uses *out);
void sl_uses_free(struct sl_uses *uses); /* accepts a zeroed one */

/* Whether the first launches of this input have the same events. O(accesses of a period). */
bool sl_uses_fit(const struct sl_uses *uses, const struct sl_plan_input *input);

#endif
