/* Rules for where an allocation lives (SLUICE_BACKING): in unified memory, which moves; in pinned host
 * memory, which the device reads and writes over the link (zero-copy); or in the driver's device memory,
 * which does not move and can be exported to other processes.
 *
 *   RULES  RULE[,RULE]...     the first matching rule decides; unified if none matches
 *   RULE   site:HASH=BACKING  allocations of one site, as `sluice trace sites` names it
 *          from:SIZE=BACKING  allocations of at least that many bytes
 *   BACKING  unified, pinned or device
 */
#ifndef SLUICE_BACKING_H
#define SLUICE_BACKING_H

#include "base/types.h"

#define SL_MOST_BACKING_RULES 64

enum sl_backing_kind { SL_BACKING_UNIFIED, SL_BACKING_PINNED, SL_BACKING_DEVICE };

struct sl_backing {
    struct sl_backing_rule {
        bool by_site;
        enum sl_backing_kind kind;
        uint64_t value; /* site, or bytes */
    } rules[SL_MOST_BACKING_RULES];
    uint32_t count;
};

/* Parses `text`; "" has no rules. False: `text` is not a list of rules, or too long; *out is unchanged
 * then. */
bool sl_backing_parse(const char *text, struct sl_backing *out);

/* Where an allocation lives. */
enum sl_backing_kind sl_backing_of(const struct sl_backing *backing, uint64_t site, uint64_t bytes);

/* Appends the rules of `from` that say `device`, as far as there is room. */
void sl_backing_add_device(struct sl_backing *backing, const struct sl_backing *from);

/* Inserts a first rule that puts allocations of the site in device memory. Drops the last rule if there is no
 * room. */
void sl_backing_put_device(struct sl_backing *backing, uint64_t site);

#endif
