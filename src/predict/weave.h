/* What follows where streams go their own ways: each stream's symbols are a string of their own, a strand,
 * that a predictor of its own foresees, and the strands are woven into one expected order by how often each
 * lately came. That order is right for each stream, and about right between them.
 *
 * Not thread-safe: the caller orders the calls.
 */
#ifndef SLUICE_WEAVE_H
#define SLUICE_WEAVE_H

#include "launch/symbol.h"

#define SL_STRANDS 8 /* all further streams share the last one */

struct sl_weave;

/* NULL when there is no memory. */
struct sl_weave *sl_weave_new(void);
void sl_weave_delete(struct sl_weave *weave); /* accepts NULL */

/* Appends what really happened in stream number `stream`, below 64. `whole`: whether it was what the string
 * of all symbols had predicted. Returns whether it was what the strand had. Amortised O(SL_STRANDS); takes
 * memory at a strand's first symbol only. */
bool sl_weave_feed(struct sl_weave *weave, uint32_t stream, sl_symbol symbol, bool whole);

/* Whether the strands lately foresaw clearly more than the string of all symbols did. */
bool sl_weave_holds(const struct sl_weave *weave);
/* Whether they are of no more use: for long everything came as the string of all symbols predicts. */
bool sl_weave_is_idle(const struct sl_weave *weave);

/* The symbol that the next feed of the stream is expected to be, or SL_NO_SYMBOL. */
sl_symbol sl_weave_expected(const struct sl_weave *weave, uint32_t stream);
/* The strand of a stream that was fed. */
uint8_t sl_weave_strand(const struct sl_weave *weave, uint32_t stream);

/* Copies up to `count` expected symbols to `out` and their strands to `strands`; returns how many there are.
 * What follows a launch in its strand, up to the next launch, stays behind it. `symbols` says what is a
 * launch; NULL: everything. Strands that foresee nothing, or did not come for long, are left out. */
size_t sl_weave_next(const struct sl_weave *weave, const struct sl_symbols *symbols, sl_symbol *out,
                     uint8_t *strands, size_t count);

/* How many symbols of all strands it takes until each strand's period is over; 0 while nothing is predicted.
 */
size_t sl_weave_period(const struct sl_weave *weave);

#endif
