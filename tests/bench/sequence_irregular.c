/* Writes traces of programs that are hard to predict. usage: sequence_irregular FILE KIND STEPS [SEED]; KIND:
 *   moe      a mixture of experts: each layer has a dense part and 16 experts, of which every step takes 4 by
 * chance; only these get gradients and are updated streams  two jobs on a stream each, one of 24 launches and
 * one of 17, interleaved by chance chance   no period at all: each launch takes any 4 of 256 chunks, some
 * more often than others */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace_maker.h"

#define CHUNK_BYTES (64ull << 20)
#define DEVICE_BYTES_PER_S 3e12
#define FLOPS_PER_S 250e12
#define TOKENS 8192

enum { LAYERS = 16, EXPERTS = 16, TAKEN = 4, PARTS = 1 + EXPERTS };
enum { DENSE_PART = EXPERTS };
enum kind { PARAMETER, MEAN, VARIANCE, GRADIENT, ACTIVATION, KINDS };
enum { FORWARD = 1, BACKWARD, ADAMW, FIRST_JOB, SECOND_JOB, ANY, KERNELS };

static struct trace_maker *maker;
static uint64_t state;

static uint32_t chance(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % below;
}

static uint32_t slot(enum kind kind, uint32_t layer, uint32_t part)
{
    return (kind * LAYERS + layer) * PARTS + part;
}

/* TAKEN of the experts, in order, and the dense part behind them. */
static void choose(uint32_t taken[TAKEN + 1])
{
    uint32_t count = 0;
    for (uint32_t e = 0; e < EXPERTS; e++)
        if (chance(EXPERTS - e) < TAKEN - count) taken[count++] = e;
    taken[TAKEN] = DENSE_PART;
}

static void allocate(uint32_t which)
{
    if (!trace_maker_lives(maker, which)) trace_maker_alloc(maker, which, 1 + which / (LAYERS * PARTS));
}

static void moe_step(void)
{
    uint32_t taken[LAYERS][TAKEN + 1];
    double flops = 2 * (double)CHUNK_BYTES / 4 * TOKENS; /* of the dense part in forward */
    for (uint32_t l = 0; l < LAYERS; l++) choose(taken[l]);
    for (uint32_t l = 0; l < LAYERS; l++)
        for (uint32_t i = 0; i <= TAKEN; i++) {
            uint32_t part = taken[l][i], activation = slot(ACTIVATION, l, part);
            allocate(activation);
            struct trace_use uses[] = {{slot(PARAMETER, l, part), false}, {activation, true}};
            trace_maker_launch(maker, FORWARD, 1, TOKENS,
                               flops / FLOPS_PER_S / (part == DENSE_PART ? 1 : TAKEN), uses, 2);
        }
    for (uint32_t l = LAYERS; l-- > 0;)
        for (uint32_t i = TAKEN + 1; i-- > 0;) {
            uint32_t part = taken[l][i];
            allocate(slot(GRADIENT, l, part));
            struct trace_use uses[] = {{slot(PARAMETER, l, part), false},
                                       {slot(ACTIVATION, l, part), false},
                                       {slot(GRADIENT, l, part), true}};
            trace_maker_launch(maker, BACKWARD, 1, TOKENS,
                               2 * flops / FLOPS_PER_S / (part == DENSE_PART ? 1 : TAKEN), uses, 3);
            trace_maker_free(maker, slot(ACTIVATION, l, part));
        }
    for (uint32_t l = 0; l < LAYERS; l++)
        for (uint32_t i = 0; i <= TAKEN; i++) {
            uint32_t part = taken[l][i];
            struct trace_use uses[] = {{slot(GRADIENT, l, part), false},
                                       {slot(PARAMETER, l, part), true},
                                       {slot(MEAN, l, part), true},
                                       {slot(VARIANCE, l, part), true}};
            trace_maker_launch(maker, ADAMW, 1, 1024, 8 * CHUNK_BYTES / DEVICE_BYTES_PER_S, uses, 4);
        }
    for (uint32_t l = 0; l < LAYERS; l++)
        for (uint32_t i = 0; i <= TAKEN; i++) trace_maker_free(maker, slot(GRADIENT, l, taken[l][i]));
}

/* A launch of a job goes over its chunks in turn: two of them, of which it writes one. */
static void job_launch(uint32_t job, uint32_t number)
{
    uint32_t chunks = job ? 68 : 96, first_slot = job ? 96 : 0, kernel = job ? SECOND_JOB : FIRST_JOB;
    uint32_t at = number % (chunks / 4) * 4;
    struct trace_use uses[] = {{first_slot + at, false},
                               {first_slot + at + 1, false},
                               {first_slot + at + 2, true},
                               {first_slot + (at + 7) % chunks, true}};
    trace_maker_launch(maker, kernel, 1 + job, TOKENS, 2e-3, uses, 4);
}

static void streams_step(void)
{
    static uint32_t done[2];
    for (uint32_t i = 0; i < 41; i++) {
        uint32_t job = chance(41) >= 24;
        job_launch(job, done[job]++);
    }
}

static void chance_step(void)
{
    for (uint32_t i = 0; i < 64; i++) {
        struct trace_use uses[4];
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t one = chance(256),
                     other = chance(256); /* low numbers are likelier, and no two are equal */
            uses[k] = (struct trace_use){(one < other ? one : other) / 4 * 4 + k, chance(2)};
        }
        trace_maker_launch(maker, ANY, 1, TOKENS, (1 + chance(4)) * 1e-3, uses, 4);
    }
}

/* slots: what lives from the start. */
static const struct program {
    const char *name;
    uint32_t slots, all_slots;
    void (*step)(void);
} programs[] = {
    {"moe", GRADIENT *LAYERS *PARTS, KINDS *LAYERS *PARTS, moe_step},
    {"streams", 96 + 68, 96 + 68, streams_step},
    {"chance", 256, 256, chance_step},
};

int main(int argc, char **argv)
{
    const struct program *program = NULL;
    for (size_t i = 0; argc > 3 && i < sizeof programs / sizeof *programs; i++)
        if (strcmp(argv[2], programs[i].name) == 0) program = &programs[i];
    if (!program) return fputs("usage: sequence_irregular FILE moe|streams|chance STEPS [SEED]\n", stderr), 2;
    state = (argc > 4 ? strtoull(argv[4], NULL, 10) : 1) * 0x9e3779b97f4a7c15 + 1;
    maker = trace_maker_open(argv[1], CHUNK_BYTES, program->all_slots * CHUNK_BYTES);
    static const char *const names[KERNELS] = {"",          "forward",    "backward", "adamw",
                                               "first_job", "second_job", "any"};
    for (uint32_t kernel = 1; kernel < KERNELS; kernel++) trace_maker_kernel(maker, kernel, names[kernel]);
    for (uint32_t i = 0; i < program->slots; i++) allocate(i);
    unsigned long steps = strtoul(argv[3], NULL, 10);
    for (unsigned long i = 0; i < steps; i++) {
        program->step();
        trace_maker_end_step(maker);
    }
    trace_maker_close(maker);
    return 0;
}
