/* Segments: every slot is cut wherever a launch's range begins or ends. Each tensor of a slab is then one or
 * more segments, and a launch touches a segment as a whole or not at all. */
#ifndef SLUICE_TOOL_SEGMENTS_H
#define SLUICE_TOOL_SEGMENTS_H

#include "tools/model/model.h"

struct segment {
    uint64_t offset, bytes;
    uint32_t slot;
};

struct segments {
    struct segment *at; /* by slot and offset */
    uint32_t count;
    struct model_set *of_range; /* the segments of each of the model's ranges */
    uint32_t *first_of_slot;    /* slots + 1 entries */
};

/* False: out of memory; then pass *out to segments_free. */
bool segments_make(const struct model *model, struct segments *out);
void segments_free(struct segments *segments);

/* The first segment of the slot that ends after `offset`, else the first of the next slot. */
uint32_t segment_at(const struct segments *segments, uint32_t slot, uint64_t offset);

/* Calls body for each segment that a launch of `shape` may touch, more than once if several ranges share it.
 */
#define FOR_SEGMENTS(model, segments, shape, segment)                                                        \
    for (uint32_t set_ = (shape)->set, i_ = 0; i_ < (model)->sets.at[set_].count; i_++)                      \
        for (const struct model_set *run_ =                                                                  \
                 &(segments)->of_range[(model)->set_ranges.at[(model)->sets.at[set_].first + i_]];           \
             run_; run_ = NULL)                                                                              \
            for (uint32_t segment = run_->first; segment < run_->first + run_->count; segment++)

#endif
