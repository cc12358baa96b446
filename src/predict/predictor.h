/* The predictor: keeps the program's symbols as one string, and a cursor into its past.
 *
 * The prediction is what followed the longest earlier occurrence of the string's current suffix
 * (longest-suffix matching; see the LZ77 family of parsers). Where the string went another way than
 * predicted, and nothing but what was the same before speaks for that to come again, it counts as an
 * exception, and what was predicted is predicted again. No period is needed, and after a misprediction the
 * cursor finds its place again. Not thread-safe: the caller orders the calls.
 */
#ifndef SLUICE_PREDICT_H
#define SLUICE_PREDICT_H

#include "base/types.h"

struct sl_predictor;

/* Keeps at least the last `capacity` symbols. NULL: no memory. */
struct sl_predictor *sl_predictor_new(size_t capacity);
/* Forgets the string, but not the counts. */
void sl_predictor_clear(struct sl_predictor *predictor);
void sl_predictor_delete(struct sl_predictor *predictor); /* accepts NULL */

/* Forgets the string and takes `symbols`, from an earlier run of the same program, as its past. The
 * prediction is then that all of them come again from the first one on, and that the last period repeats
 * after them. Counts nothing. Takes at most a quarter of the capacity. False: no memory; the predictor has no
 * past then. */
bool sl_predictor_prime(struct sl_predictor *predictor, const sl_symbol *symbols, size_t count);

/* Copies the first symbols fed since the start, at most `count`, to `out`. Returns their number; 0: some were
 * overwritten. */
size_t sl_predictor_begun(const struct sl_predictor *predictor, sl_symbol *out, size_t count);

/* Appends the symbol that really came. Returns whether it was predicted. Amortised O(1); allocates
 * nothing. */
bool sl_predictor_feed(struct sl_predictor *predictor, sl_symbol symbol);

/* Some time after each misprediction, follows the latest occurrence that is nearly the same, rather than the
 * one that is longest the same: where steps differ a little, what they have in common is known best from the
 * last one. */
void sl_predictor_prefer_near(struct sl_predictor *predictor);

/* Copies up to `count` predicted symbols to `out`, the next one first, and returns their number; 0: nothing
 * is predicted. A prediction that reaches the present continues with its own symbols, so a periodic string
 * can be predicted for any number of periods. `notes` (may be NULL) gets the notes of the past symbols from
 * which they are predicted. */
size_t sl_predictor_next(const struct sl_predictor *predictor, sl_symbol *out, uint64_t *notes, size_t count);

/* Attaches a note to the symbol fed last, until it is overwritten. Notes do not affect predictions. Symbols
 * without a note, and those of sl_predictor_prime, have 0. */
void sl_predictor_note(struct sl_predictor *predictor, uint64_t note);
/* Changes the notes of the last `most` symbols, and of all from the one on that is predicted next: calls
 * `change` with each symbol and its note, in their order, for its new note. */
void sl_predictor_renote(struct sl_predictor *predictor, size_t most,
                         uint64_t (*change)(void *self, sl_symbol symbol, uint64_t note), void *self);
/* The note of the past symbol from which the next one is predicted; 0: nothing is predicted. */
uint64_t sl_predictor_expected_note(const struct sl_predictor *predictor);

/* Like sl_predictor_next, one symbol at a time; SL_NONE at the end. Feeding a symbol invalidates the walk. */
struct sl_predictor_walk {
    uint64_t at, end, period, match, next_fork;
};
struct sl_predictor_walk sl_predictor_walk(const struct sl_predictor *predictor);
sl_symbol sl_predictor_step(const struct sl_predictor *predictor, struct sl_predictor_walk *walk);

/* The predicted next symbol, or SL_NONE. */
sl_symbol sl_predictor_expected(const struct sl_predictor *predictor);

/* The length of the matching context: so many last symbols equal those before the cursor. 0: nothing is
 * predicted. */
size_t sl_predictor_match(const struct sl_predictor *predictor);

/* The number of symbols between the cursor and the present. Inside the past of sl_predictor_prime: its period
 * there, 0 before it has one. 0 while nothing is predicted. */
size_t sl_predictor_distance(const struct sl_predictor *predictor);
/* The current period: the same; but where steps differ a little (sl_predictor_prefer_near) the length of one
 * step, from however many back the prediction comes. */
size_t sl_predictor_period(const struct sl_predictor *predictor);

struct sl_predictor_counts {
    uint64_t fed, predicted,
        mispredictions; /* feeds so far; those that were predicted; those that were not */
};
struct sl_predictor_counts sl_predictor_counts(const struct sl_predictor *predictor);

#endif
