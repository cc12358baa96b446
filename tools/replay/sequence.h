/* Iterations as the core saw them, launch by launch, in chunks: for solvers and benchmarks of policies.
 *
 *   {"kind": "sluice sequence", "name": "...", "chunk_bytes": [of chunk 0, ...], "alive": [chunks],
 *    "launches": [{"ns": ..., "reads": [chunks], "writes": [chunks], "deaths": [chunks]}, ...]}
 *
 * They come again and again. `alive` have content before the first launch; `reads` are used and surely not
 * written, `writes` are used and perhaps written; what is in `deaths` has no content from behind that launch
 * on, and new content for nothing when it is used again.
 */
#ifndef SLUICE_TOOL_SEQUENCE_H
#define SLUICE_TOOL_SEQUENCE_H

#include <stdio.h>

#include "base/types.h"

#define SEQUENCE_KIND "sluice sequence"

struct sequence;

struct sequence *sequence_new(void);             /* NULL when there is no memory */
void sequence_delete(struct sequence *sequence); /* accepts NULL */

/* Has content before the first launch. */
void sequence_alive(struct sequence *sequence, sl_chunk chunk);

/* The next launch and what it uses, each chunk once. */
void sequence_launch(struct sequence *sequence, uint64_t took_ns);
void sequence_use(struct sequence *sequence, sl_chunk chunk, uint64_t bytes, bool writes);
/* Behind the last launch; before the first one: behind the last of all. */
void sequence_death(struct sequence *sequence, sl_chunk chunk);

/* False: there was no memory for it, or it cannot be written (errno says why). */
bool sequence_write(struct sequence *sequence, const char *name, FILE *to);

#endif
