#include "plan/plan_parts.h"

#include <stdlib.h>
#include <string.h>

/* Goes through the launches from the end: what is known of a chunk so far is the future of earlier
 * accesses. */
static void look_back(const struct sl_plan_input *in, struct sl_outlook *o)
{
    uint32_t access = o->access_count;
    memset(o->first, 0xff, in->chunk_count * sizeof *o->first);
    memset(o->last, 0xff, in->chunk_count * sizeof *o->last);
    memset(o->first_death, 0xff, in->chunk_count * sizeof *o->first_death);
    for (uint32_t t = (uint32_t)in->launch_count; t-- > 0;) {
        const struct sl_plan_launch *launch = &in->launches[t];
        for (uint32_t k = 0; k < launch->death_count; k++)
            o->first_death[in->deaths[launch->first_death + k]] = t;
        for (uint32_t k = launch->access_count; k-- > 0;) {
            sl_chunk chunk = in->accesses[launch->first_access + k].chunk;
            access--;
            o->next[access] = o->first[chunk];
            o->death[access] = o->first_death[chunk];
            o->first[chunk] = t;
            o->first_death[chunk] = SL_NONE;
            if (o->last[chunk] == SL_NONE) o->last[chunk] = t;
        }
    }
}

enum sl_status sl_outlook_make(const struct sl_plan_input *in, const double *launch_ns,
                               struct sl_outlook *out)
{
    size_t accesses = 0;
    for (size_t t = 0; t < in->launch_count; t++) accesses += in->launches[t].access_count;
    size_t chunks = in->chunk_count;
    uint32_t *words = malloc((2 * accesses + 3 * chunks + 1) * sizeof *words);
    if (!words) return SL_ERR_NO_MEMORY;
    uint32_t *of_chunks = words + 2 * accesses;
    struct sl_outlook o = {.next = words,
                           .death = words + accesses,
                           .first = of_chunks,
                           .last = of_chunks + chunks,
                           .first_death = of_chunks + 2 * chunks,
                           .launch_ns = launch_ns,
                           .access_count = (uint32_t)accesses};
    look_back(in, &o);
    *out = o;
    return SL_OK;
}

void sl_outlook_free(struct sl_outlook *outlook)
{
    free(outlook->next);
    *outlook = (struct sl_outlook){0};
}
