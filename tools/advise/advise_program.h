/* Advice about the program: the trace cannot be replayed with such a change, so each item is a bound. */
#ifndef SLUICE_TOOL_ADVISE_PROGRAM_H
#define SLUICE_TOOL_ADVISE_PROGRAM_H

#include "tools/advise/advice.h"
#include "tools/advise/situation.h"

/* What one step of training does, by its phases and the classes of its memory. */
struct step_profile {
    bool found;            /* the trace has steps of training */
    uint64_t kept_bytes;   /* parameters and optimizer state */
    uint64_t frozen_bytes; /* parameters that a step reads and does not update */
    uint64_t gradient_bytes;
    uint64_t batch_bytes; /* at the peak: activations and workspaces, which grow with the batch */
    uint64_t peak_bytes;
    uint64_t update_ns;     /* of the update's kernels */
    uint64_t update_bytes;  /* that these touch, counted as often as they are touched */
    uint64_t update_once;   /* parameters, gradients and optimizer state that they touch, counted once */
    uint64_t update_tensor; /* the most of that which kernels use together, as of one tensor */
    uint64_t update_launches;
    bool lists;             /* the update runs PyTorch's kernels over lists of tensors (foreach) */
    bool cached;            /* most memory is in segments of PyTorch's caching allocator */
    uint64_t graph_bytes;   /* of the graph launch that touches most */
    uint64_t collective_ns; /* of a step's collectives, with their waits */
    uint64_t input_bytes;   /* copied to the device by the program */
};

/* Of one rank's trace. False: out of memory; an error was printed. */
bool step_profile_find(const struct replay_program *program, struct step_profile *out);

/* Adds what applies. */
void advise_program(const struct situation *situation, const struct step_profile *profile,
                    struct advice_list *list);

#endif
