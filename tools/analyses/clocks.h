/* How the clock of one rank stands against that of another. A collective ends on all ranks that take part at
 * about one time, so the ends of those that both have, pair by pair, tell the offset and the drift. Ends that
 * are far off (a record written late, a rank that was suspended) do not count, as long as they are fewer than
 * a quarter.
 */
#ifndef SLUICE_TOOL_CLOCKS_H
#define SLUICE_TOOL_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* reference = own + offset_ns + drift * (own - origin_ns) */
struct clock_fit {
    double offset_ns, drift;
    uint64_t origin_ns;  /* of the own clock: its first pair */
    uint64_t scatter_ns; /* the median distance of the pairs from this */
    size_t pairs;
};

/* own_ns[i] and reference_ns[i] are one moment, in the order of the own clock. With fewer than
 * CLOCK_DRIFT_PAIRS the drift is taken to be 0. False, and *out is as it was: there is no pair, or no memory.
 */
enum { CLOCK_DRIFT_PAIRS = 16 };
bool clock_fit(const uint64_t *own_ns, const uint64_t *reference_ns, size_t count, struct clock_fit *out);

/* A moment of the own clock on the reference's; 0 where that is before its zero. */
uint64_t clock_on_reference(const struct clock_fit *fit, uint64_t own_ns);

#endif
