/* What planning costs: ns per access, for training steps of growing size. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "gpt_step.h"

enum { ATTEMPTS = 8 }; /* beside Belady's, where that waits */

/* Of this thread, so that what else runs does not count. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int measure(unsigned layers, double share)
{
    struct gpt_shape shape = {
        .layers = layers,
        .accumulate = 4,
        .tokens = 8192,
        .parameters = 30e6 * layers,
        .activation_bytes = 0.25 * (double)SL_GIB * layers,
        .flops_per_s = 250e12,
        .chunk_bytes = 32 * SL_MIB,
    };
    struct gpt_step step;
    if (!gpt_step_make(&shape, 2, &step)) return 1;
    enum sl_chunk_content *content = calloc(step.chunk_count, sizeof *content);
    if (!content) return 1;
    struct sl_plan_input in = {
        .first_tick = 1,
        .launches = step.launches,
        .launch_count = step.launch_count,
        .accesses = step.accesses,
        .deaths = step.deaths,
        .chunk_count = step.chunk_count,
        .chunk_bytes = step.chunk_bytes,
        .content = content,
        .budget_bytes = (uint64_t)((double)step.chunk_count * share) * shape.chunk_bytes,
        .in_bytes_per_s = 48000000000,
        .out_bytes_per_s = 48000000000,
        .attempts = ATTEMPTS,
    };
    double best = 1e9;
    struct sl_plan plan;
    for (int round = 0; round < 10; round++) {
        double start = seconds();
        if (sl_plan_make(&in, NULL, &plan) != SL_OK) return 1;
        double took = seconds() - start;
        if (took < best) best = took;
        if (round < 9) sl_plan_free(&plan);
    }
    size_t accesses = 2 * step.access_count;
    printf("%6zu accesses  %5zu chunks  %6zu actions  %8.3f ms  %6.1f ns per access\n", accesses,
           step.chunk_count, plan.action_count, best * 1e3, best / (double)accesses * 1e9);
    sl_plan_free(&plan);
    free(content);
    gpt_step_free(&step);
    return 0;
}

int main(void)
{
    static const unsigned layers[] = {12, 48, 96, 200};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (measure(layers[i], 0.8) || measure(layers[i], 0.33)) return 1;
    return 0;
}
