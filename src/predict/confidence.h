/* For how long predictions are trusted. A prefetch for a launch that then does not come wastes bandwidth and
 * evicts chunks that are needed.
 *
 * Predictions are trusted without limit until more than a quarter of the recently prefetched bytes were
 * evicted unused. From then on, the current run of predicted symbols is expected to last as long as the
 * median of the recent runs that got as far; an assumed run of twice its length counts among them. If it is
 * longer than all recent runs and at least a period long, predictions are trusted without limit again. Caller
 * holds the order lock.
 */
#ifndef SLUICE_CONFIDENCE_H
#define SLUICE_CONFIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_CONFIDENCE_RUNS 16
#define SL_CONFIDENCE_LEAST 4 /* symbols: shorter runs do not count, and are no reason to plan */

struct sl_confidence {
    uint32_t runs[SL_CONFIDENCE_RUNS]; /* a ring of the last ones */
    uint32_t count;                    /* runs ended since the start */
    bool doubted;
    uint64_t ahead_bytes, unused_bytes; /* the parts of both sums that are too old to count */
};

/* A run of `length` predicted symbols has ended. */
void sl_confidence_ended(struct sl_confidence *confidence, uint32_t length);

/* Judges by the bytes prefetched since the start and those of them evicted unused. `enough_bytes`: how many
 * new bytes are needed for a judgement. */
void sl_confidence_judge(struct sl_confidence *confidence, uint64_t ahead_bytes, uint64_t unused_bytes,
                         uint64_t enough_bytes);

/* The number of symbols for which the current run of `length` is expected to continue; SIZE_MAX: without
 * limit. `period`: of the prediction, in symbols; 0: unknown. */
size_t sl_confidence_left(struct sl_confidence *confidence, uint32_t length, size_t period);

#endif
