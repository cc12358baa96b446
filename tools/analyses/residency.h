/* What of device memory is occupied, followed through a trace: what chunks hold, as the movements say; in a
 * trace without movements, whatever lives. */
#ifndef SLUICE_TOOL_RESIDENCY_H
#define SLUICE_TOOL_RESIDENCY_H

#include "base/map.h"
#include "tools/model/model.h"

struct residency {
    const struct model *model;
    uint64_t bytes;         /* occupied now */
    bool by_lives;          /* nothing was moved */
    size_t next;            /* movement, or change */
    struct sl_map index_of; /* chunk + 1 -> in `held` */
    MODEL_ARRAY(uint64_t) held;
    struct residency_change {
        uint64_t time_ns, bytes;
        bool frees;
    } * changes;
    size_t change_count;
    bool no_memory;
};

/* False when there is no memory. residency_free accepts what is left then. */
bool residency_start(const struct model *model, struct residency *out);

/* Applies all that happened up to `time_ns` and returns when the next change comes, later than that, or
 * UINT64_MAX. pre: times do not go back. */
uint64_t residency_step(struct residency *residency, uint64_t time_ns);

/* Whether the chunk holds anything now. */
bool residency_holds(const struct residency *residency, uint32_t chunk);
void residency_free(struct residency *residency);

/* The most that is occupied at one time. False when there is no memory. */
bool residency_peak(const struct model *model, uint64_t *out);

#endif
