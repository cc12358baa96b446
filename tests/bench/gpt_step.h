/* The accesses of a GPT training step, to plan for: forward, backward with accumulation, AdamW. Activations
 * die in backward, gradients at the end of the step. */
#ifndef SLUICE_TESTS_GPT_STEP_H
#define SLUICE_TESTS_GPT_STEP_H

#include "plan/plan.h"

struct gpt_shape {
    unsigned layers, accumulate, tokens;
    double parameters, activation_bytes, flops_per_s;
    uint64_t chunk_bytes;
    bool sweep; /* the optimizer sweeps its state once for each elementary operation */
};

struct gpt_step {
    struct sl_plan_launch *launches; /* of one step, or of several: steps share accesses and deaths */
    struct sl_plan_access *accesses;
    sl_chunk *deaths;
    uint64_t *chunk_bytes;
    size_t launch_count, access_count, death_count, chunk_count;
    uint64_t compute_ns; /* of one step */
};

/* Steps one after another. False: no memory. */
bool gpt_step_make(const struct gpt_shape *shape, unsigned steps, struct gpt_step *out);
void gpt_step_free(struct gpt_step *step);

#endif
