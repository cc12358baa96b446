/* The parts of planning, in the order in which a plan passes them. Private to src/plan/ and its tests. */
#ifndef SLUICE_PLAN_PARTS_H
#define SLUICE_PLAN_PARTS_H

#include "plan/plan.h"

/* --- plan_uses.c: when chunks are used, the same for all attempts of a plan */

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

/* --- plan_choose.c: which chunks are evicted and fetched, under one policy */

/* The resident chunks that may be evicted. Live ones are ranked by the time for which the frame becomes free,
 * divided by the cost of the copies:
 *
 *   (deadline - now + weight * (now - last)) / price
 *
 * Among chunks of one price, the order does not change with `now`. So prices are rounded to a few classes,
 * each with a heap, and only the heads of the heaps are compared. Dead chunks are in the order of their
 * deaths. */
enum { SL_PRICE_CLASSES = 48 };

struct sl_victims {
    double weight; /* of the time since the last use */
    double price[SL_PRICE_CLASSES];
    struct sl_victim_heap {
        struct sl_candidate {
            double merit; /* deadline - weight * last; the highest is evicted first */
            sl_chunk chunk;
        } * at;
        uint32_t count, room;
    } heaps[SL_PRICE_CLASSES];
    struct sl_victim_place {
        uint32_t place, price; /* index in its heap, or UINT32_MAX; the heap's class */
        uint32_t prev, next;   /* neighbours among the dead */
    } * of;                    /* by chunk */
    uint32_t dead_first, dead_last;
};

/* For chunks 0 to count - 1. On SL_OK release *out with sl_victims_free. */
enum sl_status sl_victims_new(size_t count, double weight, struct sl_victims *out);
void sl_victims_free(struct sl_victims *victims); /* accepts a zeroed one */

/* Adds a live chunk, unless it is there: last used at `last` ns, used again or dead at `deadline` ns.
 * `price`: cost of its copies, in any unit. False: no memory. */
bool sl_victims_add(struct sl_victims *victims, sl_chunk chunk, double deadline, double last, double price);
/* Removes the chunk if it is there. */
void sl_victims_remove(struct sl_victims *victims, sl_chunk chunk);
/* The best live victim at time `now`, or SL_NONE. */
sl_chunk sl_victims_best(const struct sl_victims *victims, double now);

void sl_victims_add_dead(struct sl_victims *victims, sl_chunk chunk);
void sl_victims_remove_dead(struct sl_victims *victims, sl_chunk chunk);

/* A frame that becomes free. */
struct sl_eviction {
    sl_chunk chunk;
    uint32_t moment;          /* earliest: after the chunk's last use or its death */
    uint32_t launch;          /* the first launch that needs the room */
    uint32_t request;         /* the first request that needs it; SL_NONE: the budget shrank */
    enum sl_action_kind kind; /* EVICT or DISCARD */
};

/* A missing chunk that a launch needs. In the order of the launches. */
struct sl_request {
    sl_chunk chunk;
    uint32_t launch;
    uint32_t moment;  /* earliest: when its content last died or came alive */
    uint32_t release; /* its last eviction before; SL_NONE: none */
    bool copy;        /* it has content and is copied in */
};

/* What a byte used in place costs on the link, in copied bytes: it crosses in cache lines, when the kernel
 * asks for it, and again at each use. */
#define SL_IN_PLACE_COST 1.25

/* The bytes that a launch uses in place, over the link. */
struct sl_remote {
    uint32_t launch;
    bool chosen; /* the launch fits the budget */
    uint64_t in_bytes, out_bytes;
};

struct sl_choice {
    struct sl_remote *remotes; /* in the order of the launches */
    uint32_t remote_count;
    struct sl_eviction *evictions;
    struct sl_request *requests;
    uint32_t eviction_count, request_count;
    int64_t room_bytes; /* free at moment 0; negative if more than the budget is resident */
    size_t oversize_launches;
};

/* Prices of a nanosecond on the link: of a copy in, by the launch that needs it; of a copy out, by the moment
 * from which it may start. 1: the whole program waits for the copy; 0: nothing does. */
struct sl_prices {
    double *in, *out;
};

/* How victims are ranked. Without prices, the victim has the furthest next use (Belady 1966), which needs the
 * fewest copies. With prices, its frame becomes free longest for the cost of its copies, as in weighted
 * caching (Young 1994). */
struct sl_choose_options {
    const struct sl_prices *prices; /* may be NULL */
    double least_price;             /* of a copy that nothing waits for; not 0 */
    double weight_of_rest; /* weight of the time since the last use, in the time for which the frame counts as
                              free */
    /* The part of its missing chunks that a launch beyond the budget gets, as far as other chunks can be
     * evicted. */
    double part_of_lacking;
    /* Launches with an in_place_cost use what they lack in host memory, if it would be the next victim. */
    enum sl_in_place_choice {
        SL_FETCH_ALL,
        SL_STAY_AWAY,    /* unless there is room for it now */
        SL_STAY_FAR_AWAY /* even then: others may need the room before it is used again */
    } in_place;
};

/* Chooses for valid input. On SL_OK release *out with sl_choice_free. */
enum sl_status sl_plan_choose(const struct sl_plan_input *input, const struct sl_outlook *outlook,
                              const struct sl_choose_options *policy, struct sl_choice *out);
void sl_choice_free(struct sl_choice *choice); /* accepts a zeroed choice */

/* Delays all movements to the earliest moment that `when` allows. */
void sl_choice_hold_back(struct sl_choice *choice, enum sl_plan_when when);

/* --- plan_schedule.c: when the chosen chunks are evicted and fetched */

/* Bytes over the link, both directions, after a third, two thirds and all of the launches. */
struct sl_copied {
    double first, most, all;
};

/* The prediction of these bytes, and of the time after two thirds. */
struct sl_course {
    struct sl_copied bytes;
    double most_ns;
};

/* Writes the actions and the plan's predictions into a zeroed plan, and the course. */
enum sl_status sl_plan_schedule(const struct sl_plan_input *input, const double *launch_ns,
                                const struct sl_choice *choice, struct sl_plan *plan,
                                struct sl_course *course);

/* --- plan_search.c: tries several choices and keeps the best plan.
 *
 * Where the budget is full, each fetch waits for an eviction, which waits for a launch. So a choice may leave
 * a part of the budget free, the slack: fetches take it at once, and evictions of what launches have just
 * used make up for it meanwhile. This copies a little more, and is kept if that is faster.
 *
 * What one launch uses once a step, such as an optimizer's moments, need not come at all: the launch can use
 * it in host memory, over both directions of the link at once, and nothing has to leave for it. So Belady's
 * choice is also tried without fetching what would be evicted first, for launches of which it is known what
 * that costs.
 *
 * How copies count when plans are compared by time. Belady's choice copies least. Other choices may copy a
 * little more, and once much more.
 *
 * The first two thirds of a window of three periods count, because what a plan saves near its end may have to
 * be paid directly after it. The first third may copy more, once: this moves other chunks to where a choice
 * wants them, and the time for it is counted. The second third shows what such a choice copies in every
 * period, which must stay within the bound. Until the excess is made up for, each further plan with an excess
 * has to save enough time for it; otherwise every plan would have its one excess.
 */

/* Tries Belady's choice and then up to `input->attempts` others, and returns the best plan. Otherwise as
 * sl_plan_make. */
enum sl_status sl_plan_search(const struct sl_plan_input *input, const double *launch_ns,
                              struct sl_plan_lessons *lessons, struct sl_plan *out);

#define SL_MOST_BYTES 1.015 /* times the bytes of Belady's choice */

/* The bytes that a period copies beyond the bound, at least; 0: it is within the bound. */
double sl_excess_bytes(struct sl_copied by, struct sl_copied least);

/* The bytes that the plans so far copied in their served parts, the first thirds, beyond the bound, including
 * the plan with `by`; 0: none, or made up for. */
double sl_over_bytes(double over_before, struct sl_copied by, struct sl_copied least);

/* The cost of a plan that takes `most_ns` for two periods. With excess copies, the time that these have to
 * save at least is added: half of their time on the link, and 2 % of all the time, because a real run saves
 * less than the plan promises. */
double sl_plan_cost_ns(double most_ns, double excess_bytes, double bytes_per_s);

#endif
