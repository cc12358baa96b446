/* Segments: every slot cut wherever a launch's range begins or ends, so that each tensor of a slab is one or
 * some of them, and a launch touches a segment whole or not at all. */
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
    uint32_t *first_of_slot;    /* slots + 1 of them */
};

/* False when there is no memory. segments_free accepts what is left then, and zeroes. */
bool segments_make(const struct model *model, struct segments *out);
void segments_free(struct segments *segments);

/* The first segment of the slot that ends behind `offset`; the next slot's first if there is none. */
uint32_t segment_at(const struct segments *segments, uint32_t slot, uint64_t offset);

/* Calls body for each segment that a launch of `shape` may touch; one that several of its ranges share comes
 * more than once. */
#define FOR_SEGMENTS(model, segments, shape, segment)                                                        \
    for (uint32_t set_ = (shape)->set, i_ = 0; i_ < (model)->sets.at[set_].count; i_++)                      \
        for (const struct model_set *run_ =                                                                  \
                 &(segments)->of_range[(model)->set_ranges.at[(model)->sets.at[set_].first + i_]];           \
             run_; run_ = NULL)                                                                              \
            for (uint32_t segment = run_->first; segment < run_->first + run_->count; segment++)

#endif
