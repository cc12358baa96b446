/* The GPT trainer's optimizer, AdamW, in two forms with the same meaning (their last bits differ).
 *
 * `fused` reads and writes the state once: one launch for each tensor, or for the slab. `sweep` goes over the
 * whole state once for every elementary operation, with a temporary as large as the weights, as frameworks do
 * without a fused optimizer. Every tensor decays alike, so that a slab can be updated by one launch. */
#ifndef GPT_OPTIMIZER_CUH
#define GPT_OPTIMIZER_CUH

#include "gpt_model.cuh"
#include "gpt_schedule.cuh"

enum OptimizerKind { OPTIMIZER_FUSED, OPTIMIZER_SWEEP };

struct Optimizer {
    enum OptimizerKind kind;
    struct TensorSet m, v,
        denominator; /* m and v are taken at the first step, the denominator at each sweep */
    struct Schedule schedule;
};

static void optimizer_start(struct Optimizer *o, enum OptimizerKind kind, const struct Model *model)
{
    o->kind = kind;
    schedule_start(&o->schedule);
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

static void sweep_update(struct Optimizer *o, struct TensorSet *p, const struct TensorSet *g,
                         struct Factors factors)
{
    SWEEP(sweep_scale, p, factors.keep);
    SWEEP(sweep_lerp, &o->m, piece_data(g, i), 1.0f - BETA1);
    SWEEP(sweep_scale, &o->v, BETA2);
    SWEEP(sweep_add_square, &o->v, piece_data(g, i), 1.0f - BETA2);
    set_take(&o->denominator);
    SWEEP(sweep_root, &o->denominator, piece_data(&o->v, i));
    SWEEP(sweep_scale, &o->denominator, factors.root_correction);
    SWEEP(sweep_add_constant, &o->denominator, EPSILON);
    SWEEP(sweep_subtract_ratio, p, piece_data(&o->m, i), piece_data(&o->denominator, i), factors.step_size);
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
    const struct Factors factors = schedule_next(&o->schedule);
    if (o->kind == OPTIMIZER_SWEEP) {
        sweep_update(o, p, g, factors);
        return;
    }
    for (int i = 0; i < set_pieces(p); i++)
        launch_adamw(piece_data(p, i), piece_data(g, i), piece_data(&o->m, i), piece_data(&o->v, i),
                     piece_count(p, i), factors);
}

#endif
