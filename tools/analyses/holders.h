/* Who holds memory: at some times of an interval, the allocation sites with the most live bytes. */
#ifndef SLUICE_TOOL_HOLDERS_H
#define SLUICE_TOOL_HOLDERS_H

#include "tools/phases/phases.h"

enum { HOLDERS_SHOWN = 6 }; /* at each time */

/* The live allocations of one site and class, on the device or on the host. */
struct holder {
    uint64_t site, bytes, largest_bytes; /* largest_bytes: of the largest slot that was ever one of them */
    uint32_t count;
    uint8_t class; /* enum memory_class, of most bytes of each */
};

struct holders {
    struct holder *at; /* HOLDERS_SHOWN for each time, most bytes first; fewer end with bytes 0 */
    uint32_t times;
};

/* At the ends of `times` equal parts of [begin_ns, end_ns), as in a timeline of as many intervals. False: out
 * of memory. The caller frees *out with holders_free in any case. */
bool holders_find(const struct model *model, const struct phases *phases, uint64_t begin_ns, uint64_t end_ns,
                  uint32_t times, struct holders *out);
void holders_free(struct holders *holders);

#endif
