/* Which chunks leave and come: one of the ways to plan. */
#ifndef SLUICE_PLAN_CHOOSE_H
#define SLUICE_PLAN_CHOOSE_H

#include "plan/plan_outlook.h"
#include "plan/plan_relax.h"

/* A frame that becomes free. */
struct sl_eviction {
    sl_chunk chunk;
    uint32_t moment;          /* earliest: after the chunk's last use, or its death */
    uint32_t launch;          /* the first launch that needs the room */
    uint32_t request;         /* the first request that does; SL_NONE: the budget became less */
    uint32_t access;          /* its last use, among all accesses; SL_NONE: none in this window */
    enum sl_action_kind kind; /* EVICT or DISCARD */
};

/* A chunk that a launch needs and that is not resident. In the order of the launches. */
struct sl_request {
    sl_chunk chunk;
    uint32_t launch;
    uint32_t moment;  /* earliest: before, it had content where it now has none, or the reverse */
    uint32_t release; /* of the same chunk, the last before; SL_NONE */
    bool copy;        /* it has content: copied in */
};

/* What a byte that a kernel uses in place takes on the link, in copied bytes: it comes in pieces of a cache
 * line, when the kernel asks for it, and each time that it does. */
#define SL_IN_PLACE_COST 1.25

/* What a launch that exceeds the budget uses in place, over the link. */
struct sl_remote {
    uint32_t launch;
    uint64_t in_bytes, out_bytes;
};

struct sl_choice {
    struct sl_remote *remotes; /* in the order of the launches */
    uint32_t remote_count;
    struct sl_eviction *evictions;
    struct sl_request *requests;
    uint32_t eviction_count, request_count;
    int64_t room_bytes; /* free before moment 0; negative if more than the budget is resident */
    size_t oversize_launches;
};

/* What a nanosecond on the link costs, by launch: of a copy in, by the launch that needs it; of a copy out,
 * by the moment after which it may start. 1: the whole program waits for it; 0: nobody does. */
struct sl_prices {
    double *in, *out;
};

/* How victims are ranked. Without prices the chunk leaves whose next use is furthest (Belady 1966), which
 * copies least. With them the one whose frame is free longest for what its copies cost: the best one first,
 * as in caching with known costs (Young 1994). */
struct sl_policy {
    const struct sl_prices *prices; /* or NULL */
    double least_price;             /* of a copy that nobody waits for; not 0 */
    const struct sl_guide *guide;   /* whose victims cost little; or NULL */
    double weight_of_rest;          /* of the time since a chunk's last use, in how long its frame is free */
    /* Of what a launch that exceeds the budget lacks: so much comes, as far as others can leave for it. */
    double part_of_lacking;
};

/* Decides. Expects valid input. On SL_OK the choice is released with sl_choice_free. */
enum sl_status sl_plan_choose(const struct sl_plan_input *input, const struct sl_outlook *outlook,
                              const struct sl_policy *policy, struct sl_choice *out);
void sl_choice_free(struct sl_choice *choice); /* accepts a zeroed choice */

/* Lets nothing move earlier than `when` allows. */
void sl_choice_hold_back(struct sl_choice *choice, enum sl_plan_when when);

#endif
