/* Finds the symbols of a period again in other repetitions of it, which may differ a little: each symbol is
 * taken for its next occurrence in the period, or, if there is none, for its first. So a symbol too many or
 * too few misleads as far as the next one that occurs once. Not thread-safe. */
#ifndef SLUICE_PERIOD_MATCH_H
#define SLUICE_PERIOD_MATCH_H

#include "base/types.h"

struct sl_period_match {
    uint32_t *begins; /* by symbol: its first one in `places`; one more than symbols */
    uint32_t *places; /* in the period, by symbol, in their order */
    uint32_t symbols;
    uint32_t at; /* the next place */
};

/* All `length` symbols of the period are below `symbols`. False: out of memory. */
bool sl_period_match_init(struct sl_period_match *match, const sl_symbol *period, uint32_t length,
                          uint32_t symbols);
void sl_period_match_close(struct sl_period_match *match); /* accepts a zeroed one */

/* The next symbol is the first one of a repetition. */
static inline void sl_period_match_begin(struct sl_period_match *match)
{
    match->at = 0;
}
/* The place in the period of the string's next symbol. SL_NONE: the period does not have it. */
uint32_t sl_period_match_next(struct sl_period_match *match, sl_symbol symbol);

#endif
