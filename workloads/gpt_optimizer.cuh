/* The GPT trainer's optimizer, AdamW, in two forms with the same meaning (their last bits differ).
 *
 * `fused` reads and writes the state once: one launch for each tensor, or for the slab. `sweep` goes over the
 * whole state once for every elementary operation, with a temporary as large as the weights, as frameworks do
 * without a fused optimizer. Every tensor decays alike, so that a slab can be updated by one launch. */
#ifndef GPT_OPTIMIZER_CUH
#define GPT_OPTIMIZER_CUH

#include "gpt_model.cuh"

enum OptimizerKind { OPTIMIZER_FUSED, OPTIMIZER_SWEEP };

struct Optimizer {
    enum OptimizerKind kind;
    struct TensorSet m, v,
        denominator; /* m and v are taken at the first step, the denominator at each sweep */
    int steps;
    double beta1_power, beta2_power; /* beta^steps, multiplied up: pow() may differ between machines */
};

static const float RATE = 1e-3f, BETA1 = 0.9f, BETA2 = 0.95f, EPSILON = 1e-8f, DECAY = 0.01f;
enum { WARM_UP_STEPS = 10 };

static void optimizer_start(struct Optimizer *o, enum OptimizerKind kind, const struct Model *model)
{
    o->kind = kind;
    o->steps = 0;
    o->beta1_power = o->beta2_power = 1.0;
    set_start_like(&o->m, "m", &model->weights);
    set_start_like(&o->v, "v", &model->weights);
    set_start_like(&o->denominator, "denominator", &model->weights);
}

static void optimizer_finish(struct Optimizer *o)
{
    set_finish(&o->m);
    set_finish(&o->v);
    set_finish(&o->denominator);
}

/* Launches `kernel` for each piece of `set`; `i` numbers it in the arguments. */
#define SWEEP(kernel, set, ...)                                                                              \
    for (int i = 0; i < set_pieces(set); i++)                                                                \
    LAUNCH(kernel, blocks_for(piece_count(set, i), BLOCK), piece_data(set, i), __VA_ARGS__,                  \
           piece_count(set, i))

static void sweep_update(struct Optimizer *o, struct TensorSet *p, const struct TensorSet *g, float rate,
                         float step_size, float root_correction)
{
    SWEEP(sweep_scale, p, 1.0f - rate * DECAY);
    SWEEP(sweep_lerp, &o->m, piece_data(g, i), 1.0f - BETA1);
    SWEEP(sweep_scale, &o->v, BETA2);
    SWEEP(sweep_add_square, &o->v, piece_data(g, i), 1.0f - BETA2);
    set_take(&o->denominator);
    SWEEP(sweep_root, &o->denominator, piece_data(&o->v, i));
    SWEEP(sweep_scale, &o->denominator, root_correction);
    SWEEP(sweep_add_constant, &o->denominator, EPSILON);
    SWEEP(sweep_subtract_ratio, p, piece_data(&o->m, i), piece_data(&o->denominator, i), step_size);
    set_drop(&o->denominator);
}

/* One update of the weights from the model's gradients. */
static void optimizer_step(struct Optimizer *o, struct Model *model)
{
    struct TensorSet *p = &model->weights, *g = &model->gradients;
    if (!set_is_taken(&o->m)) {
        set_take(&o->m), set_zero(&o->m);
        set_take(&o->v), set_zero(&o->v);
    }
    const int t = ++o->steps;
    const float rate = t < WARM_UP_STEPS ? RATE * t / WARM_UP_STEPS : RATE;
    o->beta1_power *= BETA1;
    o->beta2_power *= BETA2;
    const float step_size = (float)(rate / (1.0 - o->beta1_power));
    const float root_correction = (float)(1.0 / sqrt(1.0 - o->beta2_power));
    if (o->kind == OPTIMIZER_SWEEP) {
        sweep_update(o, p, g, rate, step_size, root_correction);
        return;
    }
    for (int i = 0; i < set_pieces(p); i++)
        LAUNCH(adamw, blocks_for(piece_count(p, i), BLOCK), piece_data(p, i), piece_data(g, i),
               piece_data(&o->m, i), piece_data(&o->v, i), piece_count(p, i), 1.0f - rate * DECAY, BETA1,
               BETA2, step_size, root_correction, EPSILON);
}

#endif
