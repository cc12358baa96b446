/* The program's history: the numbers of its launches; its launches, allocations and frees, fed to the
 * predictor; and for how long the predictions are trusted. Caller holds the order lock throughout. */
#ifndef SLUICE_HISTORY_H
#define SLUICE_HISTORY_H

#include <stdatomic.h>

#include "base/types.h"
#include "predict/interleaver.h"
#include "predict/predictor.h"

#define SL_ODD_SYMBOLS 16 /* so many mispredicted ones make a period another one */
#define SL_LAST_STRAYS 128
#define SL_OPEN_LAUNCHES 64 /* slots for launches between begin and end, indexed by tick modulo this */

/* The numbers of the launches so far. */
struct sl_ticks {
    sl_tick now;                            /* the last launch that has begun */
    _Atomic sl_tick open[SL_OPEN_LAUNCHES]; /* launches begun and not ended; 0: free */
};

/* The newest tick up to which every launch has ended. */
sl_tick sl_ticks_submitted(const struct sl_ticks *ticks);

/* --- For how long predictions are trusted. A prefetch for a launch that then does not come wastes bandwidth
 * and evicts chunks that are needed.
 *
 * Predictions are trusted without limit until more than a quarter of the recently prefetched bytes were
 * evicted unused. From then on, the current run of predicted symbols is expected to last as long as the
 * median of the recent runs that got as far; an assumed run of twice its length counts among them. If it is
 * longer than all recent runs and at least a period long, predictions are trusted without limit again. */

/* Consecutive predicted symbols before a prediction is trusted; shorter runs do not count. */
#define SL_STEADY_STREAK 4
#define SL_CONFIDENCE_RUNS 16

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

/* --- history */

struct sl_history {
    struct sl_ticks ticks;
    struct sl_predictor *predictor;
    uint32_t streak;                    /* symbols predicted in a row */
    uint64_t broken_at[SL_ODD_SYMBOLS]; /* `fed` at the last ones that were not */
    uint64_t breaks;                    /* their number since the start */
    struct sl_confidence confidence;
    struct sl_interleaver *interleaver; /* NULL: streams are not predicted one by one */
    bool interleaved;                   /* the interleaver's prediction counts, not the predictor's */
    uint64_t interleaver_gained; /* symbols predicted by the interleaver, minus those that the predictor
                                    predicted meanwhile */
    uint32_t troubles;           /* recent mispredictions of symbols that had come before */
    uint64_t trouble_at;         /* symbols fed by the last of them */
    uint64_t fed;                /* symbols so far */
    sl_symbol seen;              /* all symbols that came are less: they are numbered as they come first */
    uint64_t moves;              /* placement.moves at the last allocation */
    uint64_t strays;             /* allocations placed in another chunk than predicted */
    uint64_t strayed_at[SL_LAST_STRAYS]; /* `fed` at the last of them */
    bool vary;                           /* sizes do, from step to step */
    uint64_t iteration_end;
    uint32_t iterations;   /* number of ended iterations */
    size_t primed_symbols; /* taken from a profile at the start */
};

/* The predicted next symbol of the stream. */
static inline sl_symbol sl_history_expected(const struct sl_history *history, uint32_t stream)
{
    return history->interleaved ? sl_interleaver_expected(history->interleaver, stream)
                                : sl_predictor_expected(history->predictor);
}
/* The period in symbols; 0: nothing is predicted. */
size_t sl_history_period(const struct sl_history *history);
/* Counts of symbols fed, predicted and mispredicted. */
struct sl_predictor_counts sl_history_counts(const struct sl_history *history);

/* The number of symbols for which the prediction is trusted; SIZE_MAX: without limit. */
size_t sl_history_believed(struct sl_history *history);

/* The rest of sl_history_feed, for a symbol that the predictor did not predict, or with an interleaver.
 * `whole`: the predictor predicted it. Returns whether the symbol counts as predicted. */
bool sl_history_feed_rest(struct sl_history *history, sl_symbol symbol, uint32_t stream, bool interleaves,
                          bool whole);

/* Appends a symbol. `stream`: the number of its stream. `interleaves`: several streams are in use, so
 * predicting them one by one may help. Returns whether the symbol was predicted, as the stream's next one. */
static inline bool sl_history_feed(struct sl_history *history, sl_symbol symbol, uint32_t stream,
                                   bool interleaves)
{
    bool hit = sl_predictor_feed(history->predictor, symbol);
    if (hit && !history->interleaver) return true;
    return sl_history_feed_rest(history, symbol, stream, interleaves, hit);
}

/* The symbol just counted was not predicted, or not as planned. */
void sl_history_break(struct sl_history *history);
/* The number of symbols since the allocation before which `few` others strayed, at most SL_LAST_STRAYS - 1.
 */
static inline uint64_t sl_history_nearly_in_place(const struct sl_history *history, uint64_t few)
{
    if (few >= SL_LAST_STRAYS) few = SL_LAST_STRAYS - 1;
    return history->strays > few
               ? history->fed - history->strayed_at[(history->strays - few - 1) % SL_LAST_STRAYS]
               : history->fed;
}
/* Whether an iteration ended with the symbol just counted. Precondition: the current iteration's end is
 * due. */
bool sl_history_ends(struct sl_history *history);

/* Counts the symbol that was just fed. `hit`: it was predicted and planned. Returns whether an iteration
 * ended with it. */
static inline bool sl_history_count(struct sl_history *history, bool hit)
{
    history->fed++;
    if (!hit) {
        sl_history_break(history);
        return false;
    }
    history->streak++;
    return history->streak >= SL_STEADY_STREAK && history->fed >= history->iteration_end &&
           sl_history_ends(history);
}

/* Forgets the history, because a table is full. */
void sl_history_forget(struct sl_history *history);

#endif
