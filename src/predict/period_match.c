#include "predict/period_match.h"

#include <stdlib.h>

bool sl_period_match_init(struct sl_period_match *match, const sl_symbol *period, uint32_t length,
                          uint32_t symbols)
{
    *match = (struct sl_period_match){.begins = calloc((size_t)symbols + 2, sizeof *match->begins),
                                      .places = malloc(length * sizeof *match->places + 1),
                                      .symbols = symbols};
    if (!match->begins || !match->places) return false;
    /* While places are entered, the next symbol's beginning is where this one's next place goes. */
    for (uint32_t at = 0; at < length; at++) match->begins[period[at] + 2]++;
    for (uint32_t s = 2; s < symbols + 2; s++) match->begins[s] += match->begins[s - 1];
    for (uint32_t at = 0; at < length; at++) match->places[match->begins[period[at] + 1]++] = at;
    return true;
}

void sl_period_match_close(struct sl_period_match *match)
{
    free(match->begins);
    free(match->places);
    *match = (struct sl_period_match){0};
}

uint32_t sl_period_match_next(struct sl_period_match *match, sl_symbol symbol)
{
    if (symbol >= match->symbols) return SL_NONE;
    uint32_t first = match->begins[symbol], end = match->begins[symbol + 1], low = first, high = end;
    if (first == end) return SL_NONE;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (match->places[middle] < match->at)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t place = match->places[low < end ? low : first];
    match->at = place + 1;
    return place;
}
