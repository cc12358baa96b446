/* Prediction for streams that interleave by chance. Each stream's symbols are a string of their own, a stream
 * history, with its own predictor. The stream histories are merged into one expected order by their recent
 * frequency. That order is right within each stream and about right between streams.
 *
 * Not thread-safe: the caller orders the calls.
 */
#ifndef SLUICE_INTERLEAVER_H
#define SLUICE_INTERLEAVER_H

#include "launch/symbols.h"

#define SL_STREAM_HISTORIES 8 /* all further streams share the last one */

struct sl_interleaver;

/* NULL: no memory. */
struct sl_interleaver *sl_interleaver_new(void);
void sl_interleaver_delete(struct sl_interleaver *interleaver); /* accepts NULL */

/* Appends the symbol that really came in stream number `stream`, below 64. `whole`: the predictor of all
 * symbols predicted it. Returns whether the stream history predicted it. Amortised O(SL_STREAM_HISTORIES);
 * allocates only at a stream history's first symbol. */
bool sl_interleaver_feed(struct sl_interleaver *interleaver, uint32_t stream, sl_symbol symbol, bool whole);

/* Whether the stream histories lately predicted clearly more than the predictor of all symbols. */
bool sl_interleaver_holds(const struct sl_interleaver *interleaver);
/* Whether the interleaver is not needed any more: for a long time the predictor of all symbols predicted
 * everything. */
bool sl_interleaver_is_idle(const struct sl_interleaver *interleaver);

/* The predicted next symbol of the stream, or SL_NONE. */
sl_symbol sl_interleaver_expected(const struct sl_interleaver *interleaver, uint32_t stream);
/* The stream history of a stream that was fed. */
uint8_t sl_interleaver_history(const struct sl_interleaver *interleaver, uint32_t stream);

/* Copies up to `count` predicted symbols to `out` and their stream histories to `histories`; returns their
 * number. Symbols between two launches of a stream history stay directly behind the first. `symbols` tells
 * which symbols are launches; NULL: all. Stream histories that predict nothing, or have had no symbol for
 * long, are left out. */
size_t sl_interleaver_next(const struct sl_interleaver *interleaver, const struct sl_symbols *symbols,
                           sl_symbol *out, uint8_t *histories, size_t count);

/* The number of symbols, of all stream histories, until each stream history has completed its period; 0:
 * nothing is predicted. */
size_t sl_interleaver_period(const struct sl_interleaver *interleaver);

#endif
