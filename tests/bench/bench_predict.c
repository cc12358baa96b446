/* What feeding costs while predictions come true: ns per symbol. */
#include <stdio.h>
#include <time.h>

#include "predict.h"

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(void)
{
    enum { FEEDS = 4000000 };
    static const unsigned periods[] = {300, 3000, 20000};
    for (size_t i = 0; i < sizeof periods / sizeof *periods; i++) {
        struct sl_predictor *p = sl_predictor_new(65536);
        if (!p) return 1;
        for (unsigned k = 0; k < 3 * periods[i]; k++) sl_predictor_feed(p, k % periods[i] * 7919);
        double start = seconds();
        for (unsigned k = 0; k < FEEDS; k++) sl_predictor_feed(p, (k % periods[i]) * 7919);
        double feed = (seconds() - start) / FEEDS;
        printf("period %6u  %6.1f ns per feed  %llu surprises\n", periods[i], feed * 1e9,
               (unsigned long long)sl_predictor_counts(p).surprises - periods[i]);
        sl_predictor_delete(p);
    }
    unsigned long long x = 1;
    struct sl_predictor *p = sl_predictor_new(65536);
    if (!p) return 1;
    double start = seconds();
    for (unsigned k = 0; k < FEEDS / 10; k++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        sl_predictor_feed(p, (sl_symbol)(x >> 60));
    }
    printf("noise          %6.1f ns per feed\n", (seconds() - start) / (FEEDS / 10) * 1e9);
    sl_predictor_delete(p);
    return 0;
}
