#include "matrix_share.h"

#define AT_MOST 0.85
#define UNKNOWN 0.5
#define BEGIN 64.0 /* steps of a sum that a tile takes before and after it */

/* Smaller tiles read each operand more often. */
static const struct tile {
    uint64_t m, n;
    double rate;
} tiles[] = {{256, 128, 1}, {128, 256, 1}, {128, 128, 0.95}, {128, 64, 0.8}, {64, 128, 0.8}, {64, 64, 0.65}};

static uint64_t round_up(uint64_t count, uint64_t unit)
{
    return (count + unit - 1) / unit;
}

/* `parts`: multiprocessors that share the sum of a tile. */
static double share_of(const struct sc_matrix_work *work, const struct tile *tile, uint64_t parts,
                       uint64_t processors)
{
    uint64_t down = round_up(work->m, tile->m), across = round_up(work->n, tile->n);
    double filled =
        (double)work->m * (double)work->n / ((double)(down * tile->m) * (double)(across * tile->n));
    uint64_t pieces = down * across * work->batch * parts, rounds = round_up(pieces, processors);
    double busy = (double)pieces / (double)(rounds * processors), steps = (double)work->k / (double)parts;
    return AT_MOST * tile->rate * filled * busy * steps / (steps + BEGIN);
}

double sc_matrix_share(const struct sc_matrix_work *work, uint64_t processors)
{
    static const uint64_t parts[] = {1, 2, 4, 8, 16};
    double best = 0;
    if (!work->m || !work->n || !work->k || !work->batch || !processors) return UNKNOWN;
    for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++)
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
            double share = share_of(work, &tiles[t], parts[p], processors);
            if (share > best) best = share;
        }
    return best;
}
