/* What the steps of planning hand to each other. plan_search.c tries several ways and keeps the best; for
 * each of them plan_choose.c decides which chunks leave and come, plan_schedule.c when, and plan_prices.c
 * learns from the result where the link was the bottleneck.
 *
 * A moment is a point between launches: moment 0 lies before launches[0], moment m after launches[m - 1].
 */
#ifndef SLUICE_PLAN_INTERNAL_H
#define SLUICE_PLAN_INTERNAL_H

#include "plan/plan.h"
#include "plan/plan_relax.h"

/* What the input says of the future, the same for every way. */
struct sl_outlook {
    uint32_t *next; /* for each access, in the order of the launches: the chunk's next use, or SL_NONE */
    uint32_t *next_access; /* where that stands among the accesses */
    uint32_t *death;       /* and the launch after which it dies before that, or SL_NONE */
    uint32_t *first_access;
    uint32_t *first, *last;  /* for each chunk: the launches that use it first and last, or SL_NONE */
    uint32_t *first_death;   /* the launch after which it dies before its first use, or SL_NONE */
    const double *launch_ns; /* how long each launch runs */
    uint32_t access_count;
};

/* On SL_OK released with sl_outlook_free. */
enum sl_status sl_outlook_make(const struct sl_plan_input *input, const double *launch_ns,
                               struct sl_outlook *out);
void sl_outlook_free(struct sl_outlook *outlook); /* accepts a zeroed one */

/* A frame that becomes free. */
struct sl_release {
    sl_chunk chunk;
    uint32_t moment;          /* earliest: after the chunk's last use, or its death */
    uint32_t launch;          /* the first launch that needs the room */
    uint32_t request;         /* the first request that does; SL_NONE: the budget became less */
    uint32_t access;          /* its last use, among all accesses; SL_NONE: none in this window */
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

/* What a launch that exceeds the budget uses in place, over the link. */
struct sl_remote {
    uint32_t launch;
    uint64_t in_bytes, out_bytes;
};

struct sl_choice {
    struct sl_remote *in_place; /* in the order of the launches */
    uint32_t remote_count;
    struct sl_release *releases;
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

/* Fills credit: for each access, what a copy out behind it saves later, because then the copy in host memory
 * is still good: the chunk is not written until it leaves again, as it did in `choice`. */
void sl_prices_credit(const struct sl_prices *prices, const struct sl_plan_input *input,
                      const struct sl_outlook *outlook, const struct sl_choice *choice, double least_price,
                      double *credit);

/* How victims are ranked. Without prices the chunk leaves whose next use is furthest (Belady 1966), which
 * copies least. With them the one whose frame is free longest for what its copies cost: the best one first,
 * as in caching with known costs (Young 1994). */
struct sl_policy {
    const struct sl_prices *prices; /* or NULL */
    const double *credit;           /* for each access, off the price of a copy out behind it; or NULL */
    const double *start; /* when each launch starts, and the end of the last; NULL with `prices` NULL */
    double least_price;  /* of a copy that nobody waits for; not 0 */
    const struct sl_guide *guide; /* whose victims cost little; or NULL */
    double weight_of_rest;        /* of the time since a chunk's last use, in how long its frame is free */
    /* Of what a launch that exceeds the budget lacks: so much comes, as far as others can leave for it. */
    double part_of_lacking;
};

/* Decides. Expects valid input. On SL_OK the choice is released with sl_choice_free. */
enum sl_status sl_plan_choose(const struct sl_plan_input *input, const struct sl_outlook *outlook,
                              const struct sl_policy *policy, struct sl_choice *out);
void sl_choice_free(struct sl_choice *choice); /* accepts a zeroed choice */

/* Lets nothing move earlier than `when` allows. */
void sl_choice_hold_back(struct sl_choice *choice, enum sl_plan_when when);

/* When everything happens, in ns from moment 0, as the schedule expects it. A release's place is that in the
 * queue of releases. */
struct sl_course {
    double *start;               /* of each launch, and the end of the last */
    double *in_end;              /* of each request */
    uint32_t *frame;             /* of each request: the place of the release that it waits for; SL_NONE */
    double *out_begin, *out_end; /* by place */
    uint32_t *out_moment;        /* by place: after which moment the release was issued */
    double first_bytes;          /* what went over the link when a third of the launches have run, */
    double most_ns, most_bytes;  /* and when two thirds have, and when that is, */
    double all_bytes;            /* and in the end */
};

/* On SL_OK released with sl_course_free. */
enum sl_status sl_course_new(size_t launches, size_t accesses, size_t chunks, struct sl_course *out);
void sl_course_free(struct sl_course *course); /* accepts a zeroed one */

/* Decides when: writes the actions, and what the plan says about itself, into a zeroed plan, and the course
 * into the arrays of *course. */
enum sl_status sl_plan_schedule(const struct sl_plan_input *input, const double *launch_ns,
                                const struct sl_choice *choice, struct sl_plan *plan,
                                struct sl_course *course);

/* Moves the prices towards what the course's critical path says, which is what its end waits for: all the way
 * with `rate` 1, not at all with 0. */
void sl_prices_learn(struct sl_prices *prices, const struct sl_plan_input *input, const double *launch_ns,
                     const struct sl_choice *choice, const struct sl_course *course, double rate);

/* Tries `input->attempts` ways beside Belady's, and keeps the best: see plan_search.c. As sl_plan_make. */
enum sl_status sl_plan_search(const struct sl_plan_input *input, const double *launch_ns,
                              struct sl_plan_lessons *lessons, struct sl_plan *out);

#endif
