/* Phases of launches and classes of memory, derived from a trace. See phases.c. */
#ifndef SLUICE_TOOL_PHASES_H
#define SLUICE_TOOL_PHASES_H

#include "tools/phases/classes.h"
#include "tools/phases/windows.h"

enum phase {
    PHASE_OTHER, /* before the first batch, or unknown */
    PHASE_FORWARD,
    PHASE_BACKWARD,
    PHASE_PASSES, /* a graph with forward and backward pass */
    PHASE_UPDATE,
    PHASE_EVALUATION,
    PHASE_COPY, /* between host and device */
    PHASE_COLLECTIVE,
    PHASE_COUNT,
};

/* A training step: from its first batch to the end of the work after its update. */
struct step {
    uint32_t begin, end; /* launches */
    bool whole;          /* it has an update */
};

struct phases {
    uint8_t *of_launch; /* enum phase */
    uint8_t *class_of;  /* enum memory_class, of each segment */
    struct segments segments;
    struct step *steps;
    uint32_t step_count;
    bool found;  /* forward and backward passes were recognised */
    bool marked; /* the program's marks contributed */
};

const char *phase_name(enum phase phase);

/* False: out of memory; then pass *out to phases_free. */
bool phases_find(const struct model *model, struct phases *out);
void phases_free(struct phases *phases);

/* The class that most bytes of each slot have (enum memory_class). NULL: out of memory. The caller frees it.
 */
uint8_t *phases_class_of_slots(const struct model *model, const struct phases *phases);

/* steps.c: finds the steps once every launch has its phase. False: out of memory. */
bool steps_find(const struct model *model, struct phases *phases);

/* phase_marks.c: overwrites the phases of launches within the program's own phase marks. True if there were
 * any. */
bool phases_from_marks(const struct model *model, uint8_t *of_launch);

/* The phase that a range of this name denotes, or PHASE_OTHER. */
enum phase phase_of_name(const char *name);

#endif
