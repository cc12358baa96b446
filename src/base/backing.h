/* Rules that say where an allocation lives (SLUICE_BACKING): in unified memory, which moves, or in pinned
 * host memory, which the device reads and writes over the link (zero-copy).
 *
 *   RULES  RULE[,RULE]...     the first that fits an allocation decides; unified where none does
 *   RULE   site:HASH=BACKING  allocations of one site, as `sluice trace sites` names it
 *          from:SIZE=BACKING  allocations of at least that many bytes
 *   BACKING  pinned or unified
 */
#ifndef SLUICE_BACKING_H
#define SLUICE_BACKING_H

#include "base/types.h"

#define SL_MOST_BACKING_RULES 64

struct sl_backing {
    struct sl_backing_rule {
        bool by_site, pinned;
        uint64_t value; /* site, or bytes */
    } rules[SL_MOST_BACKING_RULES];
    uint32_t count;
};

/* False: `text` is no list of rules, or too long a one; *out stays as it was then. "" has no rules. */
bool sl_backing_parse(const char *text, struct sl_backing *out);

/* Whether an allocation lives in pinned memory. */
bool sl_backing_is_pinned(const struct sl_backing *backing, uint64_t site, uint64_t bytes);

#endif
