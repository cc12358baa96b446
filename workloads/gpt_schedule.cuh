/* AdamW's numbers in each step of the GPT trainer: the rate, which warms up, and the bias corrections. */
#ifndef GPT_SCHEDULE_CUH
#define GPT_SCHEDULE_CUH

#include "gpt_model.cuh"

static const float RATE = 1e-3f, BETA1 = 0.9f, BETA2 = 0.95f, EPSILON = 1e-8f, DECAY = 0.01f;
enum { WARM_UP_STEPS = 10 };

struct Schedule {
    int steps;
    double beta1_power, beta2_power; /* beta^steps, multiplied up: pow() may differ between machines */
};

/* What an update needs beside the tensors: the kernel adamw says what each is for. */
struct Factors {
    float keep, step_size, root_correction;
};

static void schedule_start(struct Schedule *s)
{
    *s = (struct Schedule){0, 1.0, 1.0};
}

static struct Factors schedule_next(struct Schedule *s)
{
    const int t = ++s->steps;
    const float rate = t < WARM_UP_STEPS ? RATE * t / WARM_UP_STEPS : RATE;
    s->beta1_power *= BETA1;
    s->beta2_power *= BETA2;
    return (struct Factors){1.0f - rate * DECAY, (float)(rate / (1.0 - s->beta1_power)),
                            (float)(1.0 / sqrt(1.0 - s->beta2_power))};
}

static void launch_adamw(float *weight, const float *gradient, float *m, float *v, size_t count,
                         struct Factors factors)
{
    LAUNCH(adamw, blocks_for(count, BLOCK), weight, gradient, m, v, count, factors.keep, BETA1, BETA2,
           factors.step_size, factors.root_correction, EPSILON);
}

#endif
