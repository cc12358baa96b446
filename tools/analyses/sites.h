/* Who allocates how much, from a trace. */
#ifndef SLUICE_TOOL_SITES_H
#define SLUICE_TOOL_SITES_H

#include "tools/model/model.h"

struct site_figures {
    uint64_t site;
    const char *frames; /* as the trace has them; NULL: it does not */
    uint64_t allocations, total_bytes;
    uint64_t peak_bytes;             /* the most that its allocations had at one time */
    uint64_t share_bytes;            /* what they had when all sites together had the most */
    uint64_t live_bytes;             /* when the trace ends */
    uint64_t kept;                   /* allocations that were not freed */
    uint64_t lifetime;               /* launches between allocation and free: the median */
    uint64_t refused, refused_bytes; /* allocations that were refused; the largest of these */
};

struct sites {
    struct site_figures *at; /* the largest peak first */
    size_t count;
    uint64_t peak_bytes; /* of all sites together */
};

/* False: no memory; *out is then empty. Otherwise released with sites_free. */
bool sites_find(const struct model *model, struct sites *out);
void sites_free(struct sites *sites);

#endif
