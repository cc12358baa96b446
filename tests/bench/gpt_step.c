#include "gpt_step.h"

#include <stdlib.h>

#define DEVICE_BYTES_PER_S 3e12

enum kind { PARAMETER, GRADIENT, MOMENTUM, VARIANCE, ACTIVATION, TEMPORARY, KINDS };

struct builder {
    const struct gpt_shape *shape;
    struct gpt_step *step;
    unsigned width[KINDS]; /* chunks of a layer */
    sl_chunk first[KINDS];
};

static void use(struct builder *b, enum kind kind, unsigned layer, unsigned from, unsigned count)
{
    for (unsigned i = from; i < from + count; i++) {
        sl_chunk chunk = b->first[kind] + layer * b->width[kind] + i;
        b->step->accesses[b->step->access_count++] = (struct sl_plan_access){chunk};
        b->step->launches[b->step->launch_count].access_count++;
    }
}

static void die(struct builder *b, enum kind kind, unsigned layer)
{
    for (unsigned i = 0; i < b->width[kind]; i++)
        b->step->deaths[b->step->death_count++] = b->first[kind] + layer * b->width[kind] + i;
}

static void end_launch(struct builder *b, double seconds)
{
    struct gpt_step *step = b->step;
    struct sl_plan_launch *launch = &step->launches[step->launch_count++];
    launch->duration_ns = (uint64_t)(seconds * 1e9 + 0.5);
    launch->death_count = (uint32_t)step->death_count - launch->first_death;
    step->compute_ns += launch->duration_ns;
    launch[1] = (struct sl_plan_launch){(uint32_t)step->access_count, 0, (uint32_t)step->death_count, 0, 0};
}

static void forward_and_backward(struct builder *b)
{
    const struct gpt_shape *shape = b->shape;
    double seconds = 2 * shape->parameters / shape->layers * shape->tokens / shape->flops_per_s;
    for (unsigned l = 0; l < shape->layers; l++) {
        use(b, PARAMETER, l, 0, b->width[PARAMETER]);
        use(b, ACTIVATION, l, 0, b->width[ACTIVATION]);
        end_launch(b, seconds);
    }
    for (unsigned l = shape->layers; l-- > 0;) {
        use(b, PARAMETER, l, 0, b->width[PARAMETER]);
        use(b, ACTIVATION, l, 0, b->width[ACTIVATION]);
        use(b, GRADIENT, l, 0, b->width[GRADIENT]);
        die(b, ACTIVATION, l);
        end_launch(b, 2 * seconds);
    }
}

/* Every pass reads some of the state and writes one part of it. */
static void sweep(struct builder *b)
{
    static const struct {
        unsigned reads; /* a bit for each kind */
        enum kind write;
    } passes[] = {
        {1 << GRADIENT | 1 << MOMENTUM, MOMENTUM},
        {1 << VARIANCE, VARIANCE},
        {1 << GRADIENT | 1 << VARIANCE, VARIANCE},
        {1 << VARIANCE, TEMPORARY},
        {1 << TEMPORARY, TEMPORARY},
        {1 << PARAMETER | 1 << MOMENTUM | 1 << TEMPORARY, PARAMETER},
    };
    for (size_t p = 0; p < sizeof passes / sizeof *passes; p++)
        for (unsigned l = 0; l < b->shape->layers; l++)
            for (unsigned i = 0; i < b->width[PARAMETER]; i++) {
                unsigned operands = 1;
                for (enum kind kind = 0; kind < KINDS; kind++) {
                    bool reads = passes[p].reads >> kind & 1, writes = passes[p].write == kind;
                    operands += reads;
                    if (reads || writes) use(b, kind, l, i, 1);
                }
                end_launch(b, operands * (double)b->shape->chunk_bytes / DEVICE_BYTES_PER_S);
            }
}

static void update(struct builder *b)
{
    for (unsigned l = 0; l < b->shape->layers; l++)
        for (unsigned i = 0; i < b->width[PARAMETER]; i++) {
            for (enum kind kind = PARAMETER; kind <= VARIANCE; kind++) use(b, kind, l, i, 1);
            end_launch(b, 8 * (double)b->shape->chunk_bytes / DEVICE_BYTES_PER_S);
        }
}

static void end_step(struct builder *b)
{
    struct gpt_step *step = b->step;
    for (unsigned l = 0; l < b->shape->layers; l++) {
        die(b, GRADIENT, l);
        if (b->shape->sweep) die(b, TEMPORARY, l);
    }
    struct sl_plan_launch *last = &step->launches[step->launch_count - 1];
    last->death_count = (uint32_t)step->death_count - last->first_death;
}

static unsigned chunks_of(double bytes, const struct gpt_shape *shape)
{
    unsigned count = (unsigned)(bytes / shape->layers / (double)shape->chunk_bytes + 0.5);
    return count ? count : 1;
}

bool gpt_step_make(const struct gpt_shape *shape, unsigned steps, struct gpt_step *out)
{
    unsigned p = chunks_of(4 * shape->parameters, shape), a = chunks_of(shape->activation_bytes, shape);
    size_t micro = 2 * (size_t)shape->layers * shape->accumulate, sweeps = shape->sweep ? 6 : 1;
    size_t launches = micro + sweeps * shape->layers * p;
    struct gpt_step step = {0};
    struct builder b = {shape, &step, {p, p, p, p, a, shape->sweep ? p : 0}, {0}};
    for (enum kind kind = 0; kind < KINDS; kind++) {
        b.first[kind] = (sl_chunk)step.chunk_count;
        step.chunk_count += (size_t)b.width[kind] * shape->layers;
    }
    step.launches = calloc(launches * steps + 1, sizeof *step.launches);
    step.accesses = calloc(micro * (2 * p + a) + sweeps * shape->layers * p * 4, sizeof *step.accesses);
    step.deaths = calloc(micro * a + 2 * (size_t)p * shape->layers, sizeof *step.deaths);
    step.chunk_bytes = calloc(step.chunk_count, sizeof *step.chunk_bytes);
    if (!step.launches || !step.accesses || !step.deaths || !step.chunk_bytes) {
        gpt_step_free(&step);
        return false;
    }
    for (size_t i = 0; i < step.chunk_count; i++) step.chunk_bytes[i] = shape->chunk_bytes;
    for (unsigned i = 0; i < shape->accumulate; i++) forward_and_backward(&b);
    if (shape->sweep)
        sweep(&b);
    else
        update(&b);
    end_step(&b);
    for (size_t i = launches; i < launches * steps; i++) step.launches[i] = step.launches[i - launches];
    step.launch_count = launches * steps;
    *out = step;
    return true;
}

void gpt_step_free(struct gpt_step *step)
{
    free(step->launches);
    free(step->accesses);
    free(step->deaths);
    free(step->chunk_bytes);
    *step = (struct gpt_step){0};
}
