#include "core/plan_delay.h"

enum { MOST_SYMBOLS = 512 }; /* predicted symbols searched for launches */

static size_t predicted_launches(const struct sl_predictor *predictor, const struct sl_symbols *symbols,
                                 sl_symbol launches[SL_DELAY_LAUNCHES])
{
    struct sl_predictor_walk walk = sl_predictor_walk(predictor);
    size_t count = 0;
    if (sl_predictor_expected(predictor) == SL_NONE) return 0;
    for (int i = 0; i < MOST_SYMBOLS && count < SL_DELAY_LAUNCHES; i++) {
        sl_symbol symbol = sl_predictor_step(predictor, &walk);
        if (symbol == SL_NONE) break;
        if (symbols->records[symbol].kind == SL_SYMBOL_LAUNCH) launches[count++] = symbol;
    }
    return count;
}

/* Tick 0 is not a launch, so a plan cannot begin before tick 1. */
static bool are_at(const struct sl_steps *steps, sl_tick next, int64_t delay, const sl_symbol *launches,
                   size_t count)
{
    int64_t at = (int64_t)(next - steps->first_tick) - delay;
    if ((int64_t)steps->first_tick + delay < 1) return false;
    if (at < 0 || (uint64_t)at + count > steps->window) return false;
    for (size_t i = 0; i < count; i++)
        if (steps->symbols[(size_t)at + i] != launches[i]) return false;
    return true;
}

bool sl_plan_delay(const struct sl_predictor *predictor, const struct sl_symbols *symbols,
                   const struct sl_steps *steps, sl_tick next, int64_t *delay)
{
    sl_symbol launches[SL_DELAY_LAUNCHES];
    size_t count = predicted_launches(predictor, symbols, launches);
    if (count < SL_DELAY_LEAST) return false;
    for (int64_t by = 0; by <= SL_DELAY_MOST; by++)
        for (int sign = 1; sign >= -1; sign -= 2)
            if (are_at(steps, next, sign * by, launches, count)) {
                *delay = sign * by;
                return true;
            }
    return false;
}
