/* The resident chunks that may be evicted. Live ones are ranked by the time for which the frame becomes free,
 * divided by the cost of the copies:
 *
 *   (deadline - now + weight * (now - last)) / price
 *
 * Among chunks of one price, the order does not change with `now`. So prices are rounded to a few classes,
 * each with a heap, and only the heads of the heaps are compared. Dead chunks are in the order of their
 * deaths. Private to the planner; not thread-safe.
 */
#ifndef SLUICE_PLAN_VICTIMS_H
#define SLUICE_PLAN_VICTIMS_H

#include "base/types.h"

enum { SL_PRICE_CLASSES = 48 };

struct sl_victims {
    double weight; /* of the time since the last use */
    double price[SL_PRICE_CLASSES];
    struct sl_victim_heap {
        struct sl_candidate {
            double merit; /* deadline - weight * last; the highest is evicted first */
            sl_chunk chunk;
        } * at;
        size_t count, room;
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

#endif
