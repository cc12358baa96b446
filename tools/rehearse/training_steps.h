/* The training steps that a program has made, in a trace that it may still write. */
#ifndef SLUICE_TOOL_TRAINING_STEPS_H
#define SLUICE_TOOL_TRAINING_STEPS_H

#include "tools/analyses/steady.h"

/* The repetitions at the trace's end that are alike: as many launches, the same memory for the most part, as
 * much left allocated, and each has a kernel or a graph and uses a third of `need_bytes`, the most memory
 * that the program had. What initialises a model layer by layer, or passes through its layers, repeats
 * itself, too, but leaves gradients or activations behind, or only copies. They are looked for among the
 * repetitions that sluice saw end, which may be of several steps, and among the training steps that the
 * phases tell. Returns their number, or 0 if no two are alike; *out gets the later half of them. A program
 * that changes its steps from time to time begins anew each time. Out of memory: 0. Precondition: the trace
 * has launches. */
uint32_t training_find(const struct model *model, const struct phases *phases, uint64_t need_bytes,
                       struct steady *out);

/* Their number in a file; 0: it cannot be read. */
uint32_t training_steps(const char *path, uint64_t need_bytes);

#endif
