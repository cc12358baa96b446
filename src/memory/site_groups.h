/* Which sites get packed chunks of their own. A launch that passes over all tensors of one kind, as those of
 * optimizers do, needs every chunk that one of them lies in: where kinds share chunks that is twice as much
 * and more. A site has one kind of tensor, so what it takes lies by itself once it fills a chunk, if it takes
 * turns with other sites: what one site allocates in a row lies by itself anyway. Caller holds the order
 * lock. */
#ifndef SLUICE_SITE_GROUPS_H
#define SLUICE_SITE_GROUPS_H

#include "base/map.h"
#include "base/types.h"

#define SL_SITE_GROUPS 64 /* what other sites take lies in the common chunks */

struct sl_site_groups {
    struct sl_site_lives {
        uint64_t live_bytes;
        uint64_t count, turns; /* allocations; those that did not follow another one of the site */
        uint32_t group;        /* 1 + its number; 0: none yet */
    } * sites;
    uint32_t count, capacity;
    uint32_t groups; /* given away */
    uint32_t last;   /* 1 + the index of the site that allocated last */
    struct sl_map index_of;
};

void sl_site_groups_free(struct sl_site_groups *groups); /* accepts zeroed ones */

/* The site's index; SL_NONE: out of memory. */
uint32_t sl_site_groups_index(struct sl_site_groups *groups, uint64_t site);

/* The number of the group in which `bytes` more of the site are to lie, below SL_SITE_GROUPS; SL_NONE: in the
 * common chunks. */
uint32_t sl_site_group(struct sl_site_groups *groups, uint32_t index, uint64_t bytes, uint64_t chunk_bytes);

/* An allocation of the site, which is smaller than a chunk, begins or ends. */
void sl_site_begins(struct sl_site_groups *groups, uint32_t index, uint64_t bytes);
void sl_site_ends(struct sl_site_groups *groups, uint32_t index, uint64_t bytes);

#endif
