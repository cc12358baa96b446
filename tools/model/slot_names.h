/* What PyTorch called the tensors in allocations (SLUICE_TRACE_NAME). */
#ifndef SLUICE_TOOL_SLOT_NAMES_H
#define SLUICE_TOOL_SLOT_NAMES_H

#include "tools/model/model.h"

struct slot_name {
    uint32_t slot;
    uint64_t site, bytes; /* of the slot; of the tensor */
    const char *text;     /* of the model; defused */
};

struct slot_names {
    struct slot_name *at; /* by slot, the largest tensor of each first */
    size_t count;
};

/* The names of the allocations that lived where and when a tensor was named. False: out of memory; then *out
 * is empty. */
bool slot_names_find(const struct model *model, struct slot_names *out);
void slot_names_free(struct slot_names *names);

/* The names of a slot, and how many there are; NULL: none. */
const struct slot_name *slot_names_of(const struct slot_names *names, uint32_t slot, size_t *count);

/* The name of the slot's largest tensor; NULL: it has none. */
const char *slot_name(const struct slot_names *names, uint32_t slot);

#endif
