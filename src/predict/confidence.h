/* How far ahead predictions are worth believing: what is fetched for a launch that then does not come is
 * carried in vain, and pushes out what is needed.
 *
 * Predictions are believed for as far as plans go, until more than a quarter of what was lately fetched ahead
 * was taken away again unused. From then on the runs, stretches of symbols that came as predicted, say how
 * long the present one goes on: as long as half of the last ones that got as far did, among which one counts
 * that goes on as long again. One that is longer than all of them and went through a whole period is believed
 * for good. Caller holds the order lock.
 */
#ifndef SLUICE_CONFIDENCE_H
#define SLUICE_CONFIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_CONFIDENCE_RUNS 16
#define SL_CONFIDENCE_LEAST 4 /* symbols: what is shorter is no run, and no reason to plan */

struct sl_confidence {
    uint32_t runs[SL_CONFIDENCE_RUNS]; /* the last ones, a ring */
    uint32_t count;                    /* that have ended since the start */
    bool doubted;
    uint64_t ahead_bytes, unused_bytes; /* what does not count any more */
};

/* A run of `length` symbols has ended. */
void sl_confidence_ended(struct sl_confidence *confidence, uint32_t length);

/* So much was fetched ahead since the start, and so much of it taken away unused. `enough_bytes` bear a
 * judgement.
 */
void sl_confidence_judge(struct sl_confidence *confidence, uint64_t ahead_bytes, uint64_t unused_bytes,
                         uint64_t enough_bytes);

/* For how many symbols the present run of `length` is expected to go on; SIZE_MAX: no end is in sight.
 * `period` of what is predicted, in symbols; 0: unknown. */
size_t sl_confidence_left(struct sl_confidence *confidence, uint32_t length, size_t period);

#endif
