/* The link's speed, from movements whose times are known. While both directions run, each has SL_LINK_SHARED
 * of its speed; for each movement, the time it shared with measured movements of the other direction is taken
 * into account. Each direction's data are written under its own lock. */
#ifndef SLUICE_LINK_SPEED_H
#define SLUICE_LINK_SPEED_H

#include "base/types.h"

#define SL_LINK_SHARED 0.92
#define SL_LINK_SPANS 32 /* the last movements of each direction that are used */
#define SL_LINK_LEAST 8  /* fewer movements give no speed */

struct sl_link_lane {
    struct sl_link_span {
        uint64_t begin_ns, end_ns, bytes;
    } spans[SL_LINK_SPANS];
    uint64_t count; /* movements noted so far */
};

struct sl_link {
    struct sl_link_lane in, out;
};

/* `bytes` crossed the link from begin_ns to end_ns, on one clock for both directions. */
void sl_link_note(struct sl_link_lane *lane, uint64_t begin_ns, uint64_t end_ns, uint64_t bytes);

/* The speed of each direction while both run. If neither is known, the outputs stay as they are; if only one
 * is, the other gets the same value. Caller holds both directions' locks. */
void sl_link_speeds(const struct sl_link *link, uint64_t *in_bytes_per_s, uint64_t *out_bytes_per_s);

#endif
