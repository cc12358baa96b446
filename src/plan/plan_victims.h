/* The resident chunks that may leave. Those with content are ranked by for how long their frame is free, for
 * what their copies cost:
 *
 *   (deadline - now + weight * (now - last)) / price
 *
 * Among chunks of one price the order does not change as time goes on. So prices are rounded to a few
 * classes, each with a heap, and only the heaps' first are compared. The dead ones are in the order of their
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
            double merit; /* deadline - weight * last: the highest leaves first */
            sl_chunk chunk;
        } * at;
        size_t count, room;
    } heaps[SL_PRICE_CLASSES];
    struct sl_victim_place {
        uint32_t place, price; /* in which heap, and where; or none */
        uint32_t prev, next;   /* neighbours among the dead */
    } * of;                    /* for each chunk */
    uint32_t dead_first, dead_last;
};

/* For chunks 0 to count - 1. On SL_OK released with sl_victims_free. */
enum sl_status sl_victims_new(size_t count, double weight, struct sl_victims *out);
void sl_victims_free(struct sl_victims *victims); /* accepts a zeroed one */

/* Adds a chunk with content, if it is not there: used last at `last` ns, and again, or dead, at `deadline`;
 * its copies cost `price`, of any unit. False when there is no memory. */
bool sl_victims_add(struct sl_victims *victims, sl_chunk chunk, double deadline, double last, double price);
/* Removes it if it is there. */
void sl_victims_remove(struct sl_victims *victims, sl_chunk chunk);
/* The best victim with content at `now`, or SL_NONE. */
sl_chunk sl_victims_best(const struct sl_victims *victims, double now);

void sl_victims_add_dead(struct sl_victims *victims, sl_chunk chunk);
void sl_victims_remove_dead(struct sl_victims *victims, sl_chunk chunk);

#endif
