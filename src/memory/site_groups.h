/* Which sites get packed chunks of their own. A launch that touches all tensors of one kind, as an
 * optimizer's does, needs every chunk that holds one of them; if kinds share chunks, these are at least twice
 * as many. A site allocates one kind of tensor. So a site gets its own chunks once its allocations fill a
 * chunk and alternate with those of other sites: consecutive allocations of one site share chunks anyway.
 * Caller holds the order lock. */
#ifndef SLUICE_SITE_GROUPS_H
#define SLUICE_SITE_GROUPS_H

#include "base/map.h"
#include "base/types.h"

#define SL_SITE_GROUPS 64 /* all other sites use the common chunks */

struct sl_site_groups {
    struct sl_site_lives {
        uint64_t live_bytes;
        uint64_t count, turns; /* allocations; those that followed another site's */
        uint32_t group;        /* 1 + its number; 0: none yet */
    } * sites;
    uint32_t count, capacity;
    uint32_t groups; /* assigned so far */
    uint32_t last;   /* 1 + the index of the site that allocated last */
    struct sl_map index_of;
};

void sl_site_groups_free(struct sl_site_groups *groups); /* accepts zeroed ones */

/* The site's index; SL_NONE: out of memory. */
uint32_t sl_site_groups_index(struct sl_site_groups *groups, uint64_t site);

/* The group for `bytes` more of the site, below SL_SITE_GROUPS; SL_NONE: the common chunks. */
uint32_t sl_site_group(struct sl_site_groups *groups, uint32_t index, uint64_t bytes, uint64_t chunk_bytes);

/* An allocation of the site that is smaller than a chunk begins or ends. */
void sl_site_begins(struct sl_site_groups *groups, uint32_t index, uint64_t bytes);
void sl_site_ends(struct sl_site_groups *groups, uint32_t index, uint64_t bytes);

#endif
