/* The training steps that a program has made so far, in the trace that it still writes. */
#ifndef SLUICE_TOOL_TRAINING_STEPS_H
#define SLUICE_TOOL_TRAINING_STEPS_H

#include <stdint.h>

/* The number of whole steps at the trace's end each of which uses a third of `need_bytes`, the most memory
 * that the program had, and most of that again which the one before used. What initialises a model layer by
 * layer, or a layer of it, may look like steps, but does not. 0: the trace cannot be read. */
uint64_t training_steps(const char *path, uint64_t need_bytes);

#endif
