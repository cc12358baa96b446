/* Where the program is in what repeats: its launches, allocations and frees are fed to the predictor. Caller
 * holds the order lock. */
#ifndef SLUICE_HISTORY_H
#define SLUICE_HISTORY_H

#include "predict/confidence.h"
#include "predict/interleaver.h"
#include "predict/predictor.h"

#define SL_STEADY_STREAK                                                                                     \
    SL_CONFIDENCE_LEAST /* symbols in a row that were predicted before a prediction is trusted */

struct sl_history {
    struct sl_predictor *predictor;
    uint32_t streak; /* symbols predicted in a row */
    struct sl_confidence confidence;
    struct sl_interleaver *interleaver; /* NULL: streams are not looked at one by one */
    bool interleaved;            /* what is expected is what the interleaver expects, and not the predictor */
    uint64_t interleaver_gained; /* symbols that the interleaver predicted less those that the predictor would
                                    have */
    uint32_t troubles;           /* lately not predicted; */
    uint64_t trouble_at;         /* the last time */
    uint64_t fed;                /* symbols so far */
    uint64_t moves;              /* the placement's, at the last allocation */
    uint64_t strays;             /* allocations that were placed elsewhere than was predicted */
    uint64_t iteration_end;
    uint32_t iterations;   /* that have ended */
    size_t primed_symbols; /* of a profile, that were predicted at the start */
};

/* What is expected to be the stream's next symbol. */
static inline sl_symbol sl_history_expected(const struct sl_history *history, uint32_t stream)
{
    return history->interleaved ? sl_interleaver_expected(history->interleaver, stream)
                                : sl_predictor_expected(history->predictor);
}
/* How many symbols are expected to come again, or, `horizon`, what to look ahead by; 0: nothing is. */
size_t sl_history_period(const struct sl_history *history, bool horizon);
/* What was predicted of all symbols. */
struct sl_predictor_counts sl_history_counts(const struct sl_history *history);

/* For how many symbols what is predicted is believed; SIZE_MAX: no end is in sight. */
size_t sl_history_believed(struct sl_history *history);

/* The rest of sl_history_feed, for a symbol that was not predicted or where streams are looked at one by one:
 * whether it counts as predicted. `whole`: whether by the string of all. */
bool sl_history_feed_rest(struct sl_history *history, sl_symbol symbol, uint32_t stream, bool interleaves,
                          bool whole);

/* Appends a symbol. `stream`: the number of the one that it belongs to. `interleaves`: several streams are in
 * use, and it is worth while to look at each by itself. Whether the symbol was predicted, as the stream's
 * next one. */
static inline bool sl_history_feed(struct sl_history *history, sl_symbol symbol, uint32_t stream,
                                   bool interleaves)
{
    bool hit = sl_predictor_feed(history->predictor, symbol);
    if (hit && !history->interleaver) return true;
    return sl_history_feed_rest(history, symbol, stream, interleaves, hit);
}

/* A symbol that was not predicted, or not planned, was counted. */
void sl_history_break(struct sl_history *history);
/* Whether an iteration ended with the symbol that was just counted. pre: one has not ended since. */
bool sl_history_ends(struct sl_history *history);

/* Counts the symbol that was just fed. `hit`: it was predicted, and came as planned. Whether an iteration
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

/* Forgets what the program did, where tables have reached their bounds. */
void sl_history_forget(struct sl_history *history);

#endif
