/* What of device memory chunks occupy, followed through a trace's movements. */
#ifndef SLUICE_TOOL_RESIDENCY_H
#define SLUICE_TOOL_RESIDENCY_H

#include "map.h"
#include "model.h"

/* Set `model`, zero the rest. */
struct residency {
    const struct model *model;
    uint64_t bytes;         /* occupied now */
    size_t next;            /* movement */
    struct sl_map index_of; /* chunk + 1 -> in `held` */
    MODEL_ARRAY(uint64_t) held;
    bool no_memory;
};

/* Applies all movements up to `time_ns` and returns when the next one comes, later than that, or UINT64_MAX.
 * pre: times do not go back. */
uint64_t residency_step(struct residency *residency, uint64_t time_ns);
void residency_free(struct residency *residency);

#endif
