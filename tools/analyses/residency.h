/* The occupied device memory through a trace: by the movements of chunks or, in a trace without movements, by
 * live allocations. */
#ifndef SLUICE_TOOL_RESIDENCY_H
#define SLUICE_TOOL_RESIDENCY_H

#include "base/map.h"
#include "tools/model/model.h"

struct residency {
    const struct model *model;
    uint64_t bytes;         /* occupied at this time */
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

/* False: out of memory; then pass *out to residency_free. */
bool residency_start(const struct model *model, struct residency *out);

/* Applies all events up to `time_ns` and returns the time of the next change, or UINT64_MAX. Precondition:
 * times do not decrease. */
uint64_t residency_step(struct residency *residency, uint64_t time_ns);

/* Whether the chunk holds data at this time. */
bool residency_holds(const struct residency *residency, uint32_t chunk);
void residency_free(struct residency *residency);

/* The most memory occupied at one time. False: out of memory. */
bool residency_peak(const struct model *model, uint64_t *out);

#endif
