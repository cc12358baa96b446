/* Iterations as the core saw them, launch by launch, in chunks: input for solvers and benchmarks of policies.
 *
 *   {"kind": "sluice sequence", "name": "...", "chunk_bytes": [of chunk 0, ...], "alive": [chunks],
 *    "launches": [{"ns": ..., "reads": [chunks], "writes": [chunks], "deaths": [chunks]}, ...]}
 *
 * The iterations repeat. Chunks in `alive` have content before the first launch. Those in `reads` are used
 * and certainly not written, those in `writes` are used and possibly written. Chunks in `deaths` lose their
 * content after the launch, and get new content without a copy at their next use. */
#ifndef SLUICE_TOOL_SEQUENCE_H
#define SLUICE_TOOL_SEQUENCE_H

#include <stdio.h>

#include "base/types.h"

#define SEQUENCE_KIND "sluice sequence"

struct sequence;

struct sequence *sequence_new(void);             /* NULL when there is no memory */
void sequence_delete(struct sequence *sequence); /* accepts NULL */

/* The chunk has content before the first launch. */
void sequence_alive(struct sequence *sequence, sl_chunk chunk);

/* The next launch and what it uses, each chunk once. */
void sequence_launch(struct sequence *sequence, uint64_t took_ns);
void sequence_use(struct sequence *sequence, sl_chunk chunk, uint64_t bytes, bool writes);
/* The content dies after the last launch given so far; before the first launch: after the last one of all. */
void sequence_death(struct sequence *sequence, sl_chunk chunk);

/* The least bytes that have to come to the device in an iteration with this budget (floor.h), in whole blocks
 * of SL_BLOCK_BYTES. Of a chunk whose allocations change, what is in use at all of its uses counts. False:
 * out of memory. */
bool sequence_least_bytes(const struct sequence *sequence, uint64_t budget_bytes, uint64_t *out);

/* False: out of memory, or the file cannot be written (errno). */
bool sequence_write(struct sequence *sequence, const char *name, FILE *to);

#endif
