/* A launch of which only some blocks are executed, and what the others would have cost.
 *
 * Executed are a block at a corner of the grid, one in the middle of each dimension, the last block, another
 * one that only checks, and, where the last block differs, the last ones of each dimension. Each counter, and
 * for each instruction its least address and its bytes, must be affine functions of the block's coordinates.
 * If counters are not, or if an instruction accesses all of its memory in another order, blocks spread over
 * the grid give the mean. Otherwise a grid of one dimension is parted until each piece is linear, and if that
 * takes too many blocks, or the grid has more dimensions, all blocks are executed.
 *
 * Only kernels whose results do not depend on the order of blocks, and those that compute with floats and do
 * not wait for other blocks: what they add up in whatever order are numbers, not the indices that a sort
 * gives to later kernels.
 * Short kernels, whose other blocks cost hardly anything, are executed wholly, as those that compute indices
 * are short.
 * The memory that the other blocks would have written stays as it is. Thread safety: one sample, one thread.
 */
#ifndef SOFTCUDA_ENGINE_SAMPLE_H
#define SOFTCUDA_ENGINE_SAMPLE_H

#include "engine.h"

struct sc_sample;
struct sc_worker;

/* Whether blocks of this launch may be left out. */
bool sc_sample_may(const struct sc_launch *launch);

/* NULL: no memory. Frees: sc_sample_free, which accepts NULL. */
struct sc_sample *sc_sample_new(const struct sc_launch *launch);
void sc_sample_free(struct sc_sample *sample);

/* The next block to be executed, by its linear index, by a worker whose member `sample` is set. `worker` has
 * executed the ones before. False: no more; sc_sample_fits says whether they are enough. */
bool sc_sample_next(struct sc_sample *sample, const struct sc_worker *worker, uint64_t *block);
bool sc_sample_fits(const struct sc_sample *sample);
/* Whether the block was executed. */
bool sc_sample_has(const struct sc_sample *sample, uint64_t block);
uint64_t sc_sample_count(const struct sc_sample *sample);

/* Sets the counters of *cost, and its traffic, to those of the whole grid. False: no memory. Precondition:
 * the sample fits. */
bool sc_sample_cost(const struct sc_sample *sample, struct sc_cost *cost);

/* Calls launch->scrap for what the executed blocks wrote. */
void sc_sample_scrap(const struct sc_sample *sample);

/* Instruction `op` of the program is about to be executed; it accessed [address, address + bytes); and it is
 * over. */
void sc_sample_enter(struct sc_sample *sample, uint32_t op, const struct sc_worker *worker);
void sc_sample_note(struct sc_sample *sample, uint64_t address, uint64_t bytes);
void sc_sample_leave(struct sc_sample *sample, const struct sc_worker *worker);

#endif
