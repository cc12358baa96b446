#include "move/planned_uses.h"

#include <stdlib.h>

void sl_planned_uses_free(struct sl_planned_uses *uses)
{
    free(uses->first);
    free(uses->launch);
    *uses = (struct sl_planned_uses){0};
}

static const struct sl_plan_access *accesses_of(const struct sl_plan_input *input, size_t launch)
{
    return &input->accesses[input->launches[launch].first_access];
}

/* Counting sort by chunk, which keeps the order of launches. */
enum sl_status sl_planned_uses_new(const struct sl_plan_input *input, struct sl_planned_uses *out)
{
    struct sl_planned_uses uses = {.chunk_count = input->chunk_count};
    size_t count = 0;
    for (size_t l = 0; l < input->launch_count; l++) count += input->launches[l].access_count;
    uses.first = calloc(input->chunk_count + 2, sizeof *uses.first);
    uses.launch = malloc((count + 1) * sizeof *uses.launch);
    if (!uses.first || !uses.launch) {
        sl_planned_uses_free(&uses);
        return SL_ERR_NO_MEMORY;
    }
    uint32_t *next = uses.first + 1; /* in the end, the index where each chunk's launches end */
    for (size_t l = 0; l < input->launch_count; l++)
        for (uint32_t k = 0; k < input->launches[l].access_count; k++)
            next[accesses_of(input, l)[k].chunk + 1]++;
    for (size_t c = 1; c <= input->chunk_count; c++) next[c] += next[c - 1];
    for (size_t l = 0; l < input->launch_count; l++)
        for (uint32_t k = 0; k < input->launches[l].access_count; k++)
            uses.launch[next[accesses_of(input, l)[k].chunk]++] = (uint32_t)l;
    *out = uses;
    return SL_OK;
}

uint32_t sl_planned_uses_next(const struct sl_planned_uses *uses, sl_chunk chunk, size_t launch)
{
    if (!uses->first || chunk >= uses->chunk_count) return UINT32_MAX;
    uint32_t low = uses->first[chunk], high = uses->first[chunk + 1], end = high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (uses->launch[middle] < launch)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end ? uses->launch[low] : UINT32_MAX;
}
