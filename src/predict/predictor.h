/* What follows: the predictor keeps the program's symbols as one string and a cursor into its past.
 *
 * The prediction at any time is what followed the longest suffix of the present where that suffix occurred
 * before (longest-suffix matching; see the LZ77 family of parsers), or, where that was just wrong, what came
 * three times in a row. It needs no period, and after a misprediction it finds its place again. Not
 * thread-safe: the caller orders the calls.
 */
#ifndef SLUICE_PREDICT_H
#define SLUICE_PREDICT_H

#include "base/types.h"

struct sl_predictor;

/* Keeps at least the last `capacity` symbols. NULL when there is no memory. */
struct sl_predictor *sl_predictor_new(size_t capacity);
/* Forgets the string. What was counted stays. */
void sl_predictor_clear(struct sl_predictor *predictor);
void sl_predictor_delete(struct sl_predictor *predictor); /* accepts NULL */

/* Forgets the string, and takes `symbols`, what another run of the same program was, for the past: that all
 * of it comes again from its first symbol on is the prediction now, and where it ends, that it goes on as it
 * went on last. Counts nothing. At most a quarter of the capacity is taken. False: there is no memory, and no
 * past. */
bool sl_predictor_prime(struct sl_predictor *predictor, const sl_symbol *symbols, size_t count);

/* Copies the first symbols fed since the start, at most `count`, to `out`. Returns how many; 0 when some of
 * them are forgotten already. */
size_t sl_predictor_begun(const struct sl_predictor *predictor, sl_symbol *out, size_t count);

/* Appends what really happened. Returns true if it was what had been predicted, false on a misprediction
 * (also while nothing is predicted). Amortised O(1); allocates nothing. */
bool sl_predictor_feed(struct sl_predictor *predictor, sl_symbol symbol);

/* Copies up to `count` predicted symbols to `out`, the next one first, and returns how many there are.
 * A prediction that reaches the present goes on with what it itself predicts, so that a periodic string can
 * be looked ahead of by any number of periods. 0 while nothing is predicted. `notes` (may be NULL) gets for
 * each what was noted of the symbol that it is predicted from. */
size_t sl_predictor_next(const struct sl_predictor *predictor, sl_symbol *out, uint64_t *notes, size_t count);

/* Notes something about the symbol that was fed last, until it is forgotten; it has no part in what is
 * predicted. Symbols that nothing was noted of, and those of a past that was given, have 0. */
void sl_predictor_note(struct sl_predictor *predictor, uint64_t note);
/* Changes the note of the symbol that the one after `ahead` predicted ones is predicted from. pre: that is
 * less than a period. */
void sl_predictor_renote(struct sl_predictor *predictor, size_t ahead, uint64_t note);
/* The note of the symbol that the next one is predicted from; 0 while nothing is predicted. */
uint64_t sl_predictor_expected_note(const struct sl_predictor *predictor);

/* The same one symbol at a time; SL_NONE at the end. Feeding ends a walk. */
struct sl_predictor_walk {
    uint64_t at, end, period;
};
struct sl_predictor_walk sl_predictor_walk(const struct sl_predictor *predictor);
sl_symbol sl_predictor_step(const struct sl_predictor *predictor, struct sl_predictor_walk *walk);

/* The symbol that the next feed is expected to be, or SL_NONE. */
sl_symbol sl_predictor_expected(const struct sl_predictor *predictor);

/* How many symbols, up to the last one, came before as they came now. 0 while nothing is predicted. */
size_t sl_predictor_match(const struct sl_predictor *predictor);

/* The current period: symbols between the cursor and the present; in a past that was given, its period there,
 * and 0 before it has any. 0 while nothing is predicted. */
size_t sl_predictor_period(const struct sl_predictor *predictor);
/* The current period or, where that is longer, the next that is predicted: what to look ahead by. */
size_t sl_predictor_horizon(const struct sl_predictor *predictor);

struct sl_predictor_counts {
    uint64_t fed, predicted,
        mispredictions; /* predicted: feeds that were predicted; mispredictions: that were not */
};
struct sl_predictor_counts sl_predictor_counts(const struct sl_predictor *predictor);

#endif
