/* Memory by allocation site, from a trace. */
#ifndef SLUICE_TOOL_SITES_H
#define SLUICE_TOOL_SITES_H

#include "tools/model/call_stack.h"

struct site_figures {
    uint64_t site;
    const char *frames;                /* as in the trace; NULL: missing */
    const struct model_python *python; /* its frames of Python, innermost first */
    size_t python_count;
    uint64_t allocations, total_bytes;
    uint64_t peak_bytes;             /* most bytes of its allocations at one time */
    uint64_t share_bytes;            /* its bytes at the peak of all sites together */
    uint64_t live_bytes;             /* at the end of the trace */
    uint64_t kept;                   /* allocations never freed */
    uint64_t lifetime;               /* median number of launches from allocation to free */
    uint64_t refused, refused_bytes; /* refused allocations; the largest of them */
};

struct sites {
    struct site_figures *at; /* largest peak first */
    size_t count;
    uint64_t peak_bytes; /* of all sites together */
};

/* False: out of memory, and *out is empty. Otherwise the caller frees it with sites_free. */
bool sites_find(const struct model *model, struct sites *out);
void sites_free(struct sites *sites);

static inline struct site_stack site_stack_of(const struct site_figures *site)
{
    return (struct site_stack){site->site, site->frames, site->python, site->python_count};
}

#endif
