/* What follows where streams interleave by chance: each stream's symbols are a string of their own, a stream
 * history, with a predictor of its own, and the stream histories are interleaved into one expected
 * order by how often each lately came. That order is right for each stream, and about right between them.
 *
 * Not thread-safe: the caller orders the calls.
 */
#ifndef SLUICE_INTERLEAVER_H
#define SLUICE_INTERLEAVER_H

#include "launch/symbols.h"

#define SL_STREAM_HISTORIES 8 /* all further streams share the last one */

struct sl_interleaver;

/* NULL when there is no memory. */
struct sl_interleaver *sl_interleaver_new(void);
void sl_interleaver_delete(struct sl_interleaver *interleaver); /* accepts NULL */

/* Appends what really happened in stream number `stream`, below 64. `whole`: whether it was what the string
 * of all symbols had predicted. Returns whether it was what the stream history had. Amortised
 * O(SL_STREAM_HISTORIES); takes memory at a stream history's first symbol only. */
bool sl_interleaver_feed(struct sl_interleaver *interleaver, uint32_t stream, sl_symbol symbol, bool whole);

/* Whether the stream histories lately predicted clearly more than the string of all symbols did. */
bool sl_interleaver_holds(const struct sl_interleaver *interleaver);
/* Whether they are of no more use: for long everything came as the string of all symbols predicts. */
bool sl_interleaver_is_idle(const struct sl_interleaver *interleaver);

/* The symbol that the next feed of the stream is expected to be, or SL_NONE. */
sl_symbol sl_interleaver_expected(const struct sl_interleaver *interleaver, uint32_t stream);
/* The number of the history of a stream that was fed. */
uint8_t sl_interleaver_history(const struct sl_interleaver *interleaver, uint32_t stream);

/* Copies up to `count` expected symbols to `out` and their stream histories to `histories`; returns
 * how many there are. What follows a launch in its stream history, up to the next launch, stays behind it.
 * `symbols` says what is a launch; NULL: everything. Stream histories that predict nothing, or did not come
 * for long, are left out. */
size_t sl_interleaver_next(const struct sl_interleaver *interleaver, const struct sl_symbols *symbols,
                           sl_symbol *out, uint8_t *histories, size_t count);

/* How many symbols of all stream histories it takes until each stream history's period is over; 0 while
 * nothing is predicted.
 */
size_t sl_interleaver_period(const struct sl_interleaver *interleaver);

#endif
