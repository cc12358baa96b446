/* What is carried out of copies and memsets where kernels are executed in part (SOFTCUDA_EXECUTE=sample):
 * contents are wrong anyway, and memory is not to be filled. Thread-safe. */
#ifndef SC_SAMPLED_CONTENTS_H
#define SC_SAMPLED_CONTENTS_H

#include "queue.h"

/* The part of *work that is carried out: 1 MiB, so that indices are whole; all of what the host copies within
 * its own memory. */
struct sc_copy_work sc_sampled_copy(const struct sc_copy_work *work);
struct sc_set_work sc_sampled_set(const struct sc_set_work *work);

/* Whether the contents of cost->blocks[i] may go after the launch: the launch wrote all of the block, and so
 * much in all that these are no indices. */
bool sc_sampled_is_scrap(const struct sc_cost *cost, size_t i);

/* After a copy from the device: programs stop when a loss is not a number, but nobody computed it. Infinities
 * and NaNs among the destination's bytes become 1. They are told by their bits alone, as 16-bit
 * numbers where the copy has 2 bytes, doubles in place of two floats where it has a multiple of 8 bytes. */
void sc_sampled_make_finite(const struct sc_copy_work *work);

#endif
