/* How the clocks of ranks stand against that of the first one. A collective ends on all ranks that take part
 * at about one time, so its ends, pair by pair, tell offset and drift. Ends that are far off (a rank that was
 * suspended, a broadcast whose root was done before the others) do not count, as long as they are fewer than
 * a quarter.
 *
 * The ends are the device's, so its clock has to be tied to the host's. That of a device in software is not:
 * by it launches run before they are launched. There, and where no collective was timed, the clocks are taken
 * to agree on the time since 1970, which each trace's header has: that is exact on one machine, and as good
 * as their NTP on several.
 */
#ifndef SLUICE_TOOL_CLOCKS_H
#define SLUICE_TOOL_CLOCKS_H

#include "tools/analyses/meetings.h"

enum clock_basis { CLOCK_IS_FIRST, CLOCK_BY_COLLECTIVES, CLOCK_BY_REALTIME };

/* first = own + offset_ns + drift * (own - origin_ns) */
struct clock {
    double offset_ns, drift;
    uint64_t origin_ns; /* of the own clock: its first pair */
    uint64_t error_ns;  /* the median distance of the pairs from this */
    size_t pairs;       /* that it was fitted to */
    enum clock_basis basis;
    bool own_device_clock; /* the device's times are not the host's */
};

/* For each rank of the meetings, *out is theirs, to be freed. False: there is no memory. */
bool clocks_find(const struct meetings *meetings, struct clock **out);

/* A moment of the own clock on the first rank's; what that cannot hold is its least or most. */
uint64_t clock_on_first(const struct clock *clock, uint64_t own_ns);

/* The moment of the own clock that is this one on the first rank's; the same. */
uint64_t clock_from_first(const struct clock *clock, uint64_t first_ns);

/* When the rank came to a collective, on its own clock: when it began on the device, or, where that is not
 * known or another clock's, when it was launched. */
uint64_t clock_arrived(const struct clock *clock, const struct meeting_entry *entry);

/* Fits a clock to pairs: own_ns[i] and first_ns[i] are one moment. pre: own_ns ascends. The drift is the
 * median slope of pairs that lie half of all pairs apart (Theil 1950, the incomplete form), the offset the
 * median of what is left. With fewer than CLOCK_DRIFT_PAIRS, or where the slope is that of no clock, the
 * drift is taken to be 0. False, and *out is as it was: there is no pair, or no memory. */
enum { CLOCK_DRIFT_PAIRS = 16 };
bool clock_fit(const uint64_t *own_ns, const uint64_t *first_ns, size_t count, struct clock *out);

#endif
