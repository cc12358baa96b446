/* What the steps of planning hand to each other: plan.c orders them, plan_choose.c decides which chunks leave
 * and come, plan_assign.c when, plan_time.c says how long that takes.
 *
 * A moment is a point between launches: moment 0 lies before launches[0], moment m after launches[m - 1].
 */
#ifndef SLUICE_PLAN_INTERNAL_H
#define SLUICE_PLAN_INTERNAL_H

#include "plan.h"

#define SL_NONE UINT32_MAX

/* A frame that becomes free. */
struct sl_release {
    sl_chunk chunk;
    uint32_t moment;          /* earliest: after the chunk's last use, or its death */
    uint32_t launch;          /* the first launch that needs the room */
    uint32_t request;         /* the first request that does; SL_NONE: the budget became less */
    enum sl_action_kind kind; /* EVICT, DROP or LEAVE */
};

/* A chunk that a launch needs and that is not resident. In the order of the launches. */
struct sl_request {
    sl_chunk chunk;
    uint32_t launch;
    uint32_t moment;  /* earliest: before, it had content where it now has none, or the reverse */
    uint32_t release; /* of the same chunk, the last before; SL_NONE */
    bool copy;        /* it has content: copied in */
};

struct sl_choice {
    struct sl_release *releases;
    struct sl_request *requests;
    uint32_t release_count, request_count;
    int64_t room_bytes; /* free before moment 0; negative if more than the budget is resident */
    size_t oversize_launches;
};

/* How victims are ranked. With the weight at 0 the chunk leaves whose next use is furthest (Belady 1966),
 * which copies least; at 1 the one that rests longest between two uses, which leaves time to copy.
 * doomed_first: what dies without another use leaves before anything else, though it must be copied out: it
 * need never be copied in. */
struct sl_policy {
    double weight_of_rest;
    bool doomed_first;
};

/* Decides. Expects valid input, and how long each launch runs. On SL_OK the choice is released with
 * sl_choice_free. */
enum sl_status sl_plan_choose(const struct sl_plan_input *input, const double *launch_ns,
                              const struct sl_policy *policy, struct sl_choice *out);
void sl_choice_free(struct sl_choice *choice); /* accepts a zeroed choice */

/* Lets nothing move earlier than `when` allows. */
void sl_choice_hold_back(struct sl_choice *choice, enum sl_plan_when when);

/* Decides when: writes the actions, and what the plan says about itself, into a zeroed plan. *half_ns is when
 * the first half of the launches has run. */
enum sl_status sl_plan_schedule(const struct sl_plan_input *input, const double *launch_ns,
                                const struct sl_choice *choice, struct sl_plan *plan, uint64_t *half_ns);

#endif
