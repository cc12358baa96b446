/* The clocks of ranks relative to that of the first rank. A collective ends on all its ranks at about the
 * same time, so pairs of its ends give offset and drift. Outliers (a suspended rank, a broadcast whose root
 * finished before the others) do not matter while they are fewer than a quarter.
 *
 * The ends are on the device's clock, which therefore has to be tied to the host's. That of a software device
 * is not: by its clock, launches run before they are launched. In that case, and if no collective was timed,
 * the clocks are assumed to agree on the time since 1970 in each trace's header: exact on one machine, and as
 * good as NTP on several. */
#ifndef SLUICE_TOOL_CLOCKS_H
#define SLUICE_TOOL_CLOCKS_H

#include "tools/analyses/meetings.h"

enum clock_basis { CLOCK_IS_FIRST, CLOCK_BY_COLLECTIVES, CLOCK_BY_REALTIME };

/* first = own + offset_ns + drift * (own - origin_ns) */
struct clock {
    double offset_ns, drift;
    uint64_t origin_ns; /* of the own clock at the first pair */
    uint64_t error_ns;  /* median distance of the pairs from the fit */
    size_t pairs;       /* pairs used for the fit */
    enum clock_basis basis;
    bool own_device_clock; /* the device's times are not on the host's clock */
};

/* *out has a clock for each rank of the meetings; the caller frees it. False: out of memory. */
bool clocks_find(const struct meetings *meetings, struct clock **out);

/* Converts a time on the own clock to the first rank's clock; saturates. */
uint64_t clock_on_first(const struct clock *clock, uint64_t own_ns);

/* Converts a time on the first rank's clock to the own clock; saturates. */
uint64_t clock_from_first(const struct clock *clock, uint64_t first_ns);

/* The arrival of the rank at a collective, on its own clock: the collective's start on the device or, if that
 * is unknown or on another clock, its launch. */
uint64_t clock_arrived(const struct clock *clock, const struct meeting_entry *entry);

/* Fits a clock to pairs: own_ns[i] and first_ns[i] are the same moment. Precondition: own_ns ascends. The
 * drift is the median slope of pairs half of all pairs apart (Theil 1950, the incomplete form), the offset
 * the median of the residuals. With fewer than CLOCK_DRIFT_PAIRS, or with an implausible slope, the drift is
 * 0. False, and *out is unchanged: there is no pair, or out of memory. */
enum { CLOCK_DRIFT_PAIRS = 16 };
bool clock_fit(const uint64_t *own_ns, const uint64_t *first_ns, size_t count, struct clock *out);

#endif
