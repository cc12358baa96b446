/* How fast the link carries data, from movements whose times are known. While both directions run each has
 * SL_LINK_SHARED of its speed: what a movement shared with the other direction is taken into account, as far
 * as that one was measured as well. Each direction is written under its own lock. */
#ifndef SLUICE_LINK_SPEED_H
#define SLUICE_LINK_SPEED_H

#include "base/types.h"

#define SL_LINK_SHARED 0.92
#define SL_LINK_SPANS 32 /* the last movements of each direction that count */
#define SL_LINK_LEAST 8  /* fewer say nothing */

struct sl_link_lane {
    struct sl_link_span {
        uint64_t begin_ns, end_ns, bytes;
    } spans[SL_LINK_SPANS];
    uint64_t count; /* that were ever noted */
};

struct sl_link {
    struct sl_link_lane in, out;
};

/* `bytes` went over the link from begin_ns to end_ns, on one clock for both directions. */
void sl_link_note(struct sl_link_lane *lane, uint64_t begin_ns, uint64_t end_ns, uint64_t bytes);

/* Bytes a second of each direction while both run; both outputs stay as they were while neither is known, and
 * where only one is, the other is taken to be equal. Caller holds both directions' locks. */
void sl_link_speeds(const struct sl_link *link, uint64_t *in_bytes_per_s, uint64_t *out_bytes_per_s);

#endif
