#include "core/history.h"

#include "base/test_hooks.h"

/* So many recent mispredictions start an interleaver. Their count is halved for every FORGOTTEN symbols. */
enum { TROUBLES = 16, FORGOTTEN = 64 };

/* --- numbers of launches */

sl_tick sl_ticks_submitted(const struct sl_ticks *ticks)
{
    sl_tick until = ticks->now;
    for (int i = 0; i < SL_OPEN_LAUNCHES; i++) {
        sl_tick open = atomic_load_explicit(&ticks->open[i], memory_order_acquire);
        if (open && open <= until) until = open - 1;
    }
    return until;
}

/* --- confidence */

void sl_confidence_ended(struct sl_confidence *confidence, uint32_t length)
{
    if (length >= SL_STEADY_STREAK) confidence->runs[confidence->count++ % SL_CONFIDENCE_RUNS] = length;
}

void sl_confidence_judge(struct sl_confidence *confidence, uint64_t ahead_bytes, uint64_t unused_bytes,
                         uint64_t enough_bytes)
{
    if (confidence->doubted) { /* only prefetches after the return of trust will count */
        confidence->ahead_bytes = ahead_bytes;
        confidence->unused_bytes = unused_bytes;
        return;
    }
    uint64_t ahead = ahead_bytes - confidence->ahead_bytes, unused = unused_bytes - confidence->unused_bytes;
    if (ahead < enough_bytes) return;
    if (unused > ahead / 4) confidence->doubted = true;
    if (ahead < 2 * enough_bytes) return;
    confidence->ahead_bytes += ahead / 2;
    confidence->unused_bytes += unused / 2;
}

size_t sl_confidence_left(struct sl_confidence *confidence, uint32_t length, size_t period)
{
    uint32_t as_long[SL_CONFIDENCE_RUNS + 1], count = 0;
    uint32_t known = confidence->count < SL_CONFIDENCE_RUNS ? confidence->count : SL_CONFIDENCE_RUNS;
    if (!confidence->doubted) return SIZE_MAX;
    for (uint32_t i = 0; i <= known; i++) { /* the last one is the assumed run of twice the length */
        uint32_t run = i < known ? confidence->runs[i] : 2 * length, at = count;
        if (run < length) continue;
        for (; at > 0 && as_long[at - 1] > run; at--) as_long[at] = as_long[at - 1];
        as_long[at] = run;
        count++;
    }
    if (count > 1 || !period || length < period) return as_long[(count - 1) / 2] - length;
    confidence->doubted = false;
    return SIZE_MAX;
}

/* --- history */

size_t sl_history_period(const struct sl_history *history)
{
    return history->interleaved ? sl_interleaver_period(history->interleaver)
                                : sl_predictor_period(history->predictor);
}

struct sl_predictor_counts sl_history_counts(const struct sl_history *history)
{
    struct sl_predictor_counts counts = sl_predictor_counts(history->predictor);
    counts.predicted += history->interleaver_gained;
    counts.mispredictions -= history->interleaver_gained;
    return counts;
}

size_t sl_history_believed(struct sl_history *history)
{
    if (!SL_HAS(CONFIDENCE)) return SIZE_MAX;
    uint32_t streak = history->streak > SL_STEADY_STREAK ? history->streak : SL_STEADY_STREAK;
    return sl_confidence_left(&history->confidence, streak, sl_history_period(history));
}

/* Several streams are in use, and a symbol that had come before was mispredicted again. */
static void note_trouble(struct sl_history *history)
{
    uint64_t halves = (history->fed - history->trouble_at) / FORGOTTEN;
    history->troubles = (halves < 32 ? history->troubles >> halves : 0) + 1;
    history->trouble_at = history->fed;
    if (history->troubles < TROUBLES) return;
    history->troubles = 0;
    history->interleaver = sl_interleaver_new();
}

static void drop_interleaver(struct sl_history *history)
{
    sl_interleaver_delete(history->interleaver);
    history->interleaver = NULL;
    history->interleaved = false;
}

/* Whether the symbol was predicted, by whichever of interleaver and predictor predicts more lately. `whole`:
 * the predictor predicted it. */
static bool feed_stream(struct sl_history *history, sl_symbol symbol, uint32_t stream, bool whole)
{
    bool hit = sl_interleaver_feed(history->interleaver, stream, symbol, whole),
         holds = sl_interleaver_holds(history->interleaver);
    if (history->interleaved != holds) {
        history->interleaved = holds;
        return false; /* the plan was made from the other prediction */
    }
    if (!holds) {
        if (sl_interleaver_is_idle(history->interleaver)) drop_interleaver(history);
        return whole;
    }
    history->interleaver_gained += (uint64_t)hit - (uint64_t)whole;
    return hit;
}

bool sl_history_feed_rest(struct sl_history *history, sl_symbol symbol, uint32_t stream, bool interleaves,
                          bool whole)
{
    bool is_new = symbol >= history->seen; /* nothing could have predicted it */
    if (is_new) history->seen = symbol + 1;
    if (history->interleaver) return feed_stream(history, symbol, stream, whole);
    if (!whole && !is_new && interleaves && SL_HAS(INTERLEAVER)) note_trouble(history);
    return whole;
}

void sl_history_break(struct sl_history *history)
{
    sl_confidence_ended(&history->confidence, history->streak);
    history->streak = 0;
    history->broken_at[history->breaks++ % SL_ODD_SYMBOLS] = history->fed;
}

/* An iteration is one period of the predicted string. Before anything is predicted, everything is the first
 * iteration. */
bool sl_history_ends(struct sl_history *history)
{
    uint64_t period = sl_history_period(history);
    if (!period) return false;
    /* A repetition is noticed SL_STEADY_STREAK symbols late, so the first iteration's end is that much
     * earlier. With a profile the streak is longer by the time the period is known, and the end is exact. */
    bool late = !history->iteration_end && history->streak == SL_STEADY_STREAK;
    history->iteration_end = history->fed + period - (late ? SL_STEADY_STREAK : 0);
    return true;
}

/* The tables are full of symbols that do not repeat: forgets the program's order and learns it anew. */
void sl_history_forget(struct sl_history *history)
{
    sl_predictor_clear(history->predictor);
    drop_interleaver(history);
    history->streak = 0;
    for (int i = 0; i < SL_ODD_SYMBOLS; i++) history->broken_at[i] = history->fed;
    history->iteration_end = 0;
    history->seen = 0;
}
