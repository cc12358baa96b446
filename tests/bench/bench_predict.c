/* What feeding costs while predictions come true: ns per symbol. */
#include <stdio.h>
#include <time.h>

#include "predict/predictor.h"

/* Of this thread, so that what else runs does not count. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

enum { ROUNDS = 8, FEEDS = 1 << 20 };

/* The best of some rounds: what disturbs a round is not the predictor's. */
static double best_feed_ns(struct sl_predictor *p, const sl_symbol *symbols, unsigned count)
{
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double start = seconds();
        for (unsigned i = 0; i < FEEDS / count; i++)
            for (unsigned k = 0; k < count; k++) sl_predictor_feed(p, symbols[k]);
        double ns = (seconds() - start) / (FEEDS / count * count) * 1e9;
        if (ns < best) best = ns;
    }
    return best;
}

int main(void)
{
    static const unsigned periods[] = {300, 3000, 20000};
    static sl_symbol symbols[FEEDS];
    struct sl_predictor *p;
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        if (!(p = sl_predictor_new(65536))) return 1;
        for (unsigned k = 0; k < periods[i]; k++) symbols[k] = k;
        printf("period %6u  %6.1f ns per feed\n", periods[i], best_feed_ns(p, symbols, periods[i]));
        sl_predictor_delete(p);
    }
    if (!(p = sl_predictor_new(65536))) return 1;
    uint64_t random = 1;
    for (unsigned k = 0; k < FEEDS; k++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        symbols[k] = random >> 60;
    }
    printf("noise          %6.1f ns per feed\n", best_feed_ns(p, symbols, FEEDS));
    sl_predictor_delete(p);
    return 0;
}
