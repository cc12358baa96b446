/* Writes the trace of training a GPT: forward and backward for each micro-batch, then AdamW over the state
 * once (fused) or once for each elementary operation (foreach). Activations are allocated in forward and
 * freed in backward, gradients allocated in backward and freed at the step's end. Options make it irregular.
 *
 * usage: sequence_gpt FILE [NAME=VALUE ...]
 *   layers=48 params=1.5e9 activations=12 (GiB) chunk=64 (MiB) tokens=8192 tflops=250 foreach=0 accumulate=1
 * steps=6 evaluate=0    a forward pass for evaluation after every so many steps vary=0        1: each step's
 * sequences have one of four lengths: a longer one has more activations skip=0        the share of steps
 * whose update is skipped device=0      (GiB) the device of the recording; 0: one with room for everything
 *   seed=1 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace_maker.h"

#define DEVICE_BYTES_PER_S 3e12
#define MIB 1048576.0
#define GIB 1073741824.0
#define MOST_USES 1024

enum kind { PARAMETER, GRADIENT, MEAN, VARIANCE, ACTIVATION, TEMPORARY, KINDS };
enum { FORWARD = 1, BACKWARD, ADAMW, EVALUATE, SWEEP }; /* kernels; each pass of a sweep has its own */

enum {
    LAYERS,
    PARAMS,
    ACTIVATIONS,
    CHUNK,
    TOKENS,
    TFLOPS,
    FOREACH,
    ACCUMULATE,
    STEPS,
    EVALUATE_EVERY,
    VARY,
    SKIP,
    DEVICE,
    SEED,
    OPTIONS
};
static const char *const option_names[OPTIONS] = {"layers", "params",  "activations", "chunk", "tokens",
                                                  "tflops", "foreach", "accumulate",  "steps", "evaluate",
                                                  "vary",   "skip",    "device",      "seed"};
static double option[OPTIONS] = {48, 1.5e9, 12, 64, 8192, 250, 0, 1, 6, 0, 0, 0, 0, 1};

static struct trace_maker *maker;
static uint32_t width[KINDS]; /* chunks of a layer */
static uint32_t first[KINDS]; /* slot */
static double forward_s;      /* of a layer */
static struct trace_use uses[MOST_USES];
static uint32_t use_count;

static uint64_t chance(void)
{
    static uint64_t state;
    if (!state) state = (uint64_t)option[SEED] * 0x9e3779b97f4a7c15 + 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 11;
}

static uint32_t slot(enum kind kind, uint32_t layer, uint32_t i)
{
    return first[kind] + layer * width[kind] + i;
}

/* Allocates what does not live yet. */
static void use(enum kind kind, uint32_t layer, uint32_t from, uint32_t count, bool written)
{
    for (uint32_t i = from; i < from + count && use_count < MOST_USES; i++) {
        if (!trace_maker_lives(maker, slot(kind, layer, i)))
            trace_maker_alloc(maker, slot(kind, layer, i), 1 + kind);
        uses[use_count++] = (struct trace_use){slot(kind, layer, i), written};
    }
}

static void launch(uint32_t kernel, uint64_t threads, double seconds)
{
    trace_maker_launch(maker, kernel, 1, threads, seconds, uses, use_count);
    use_count = 0;
}

static void release(enum kind kind, uint32_t layer)
{
    for (uint32_t i = 0; i < width[kind]; i++)
        if (trace_maker_lives(maker, slot(kind, layer, i))) trace_maker_free(maker, slot(kind, layer, i));
}

/* quarters: the sequences' length, of four */
static void forward_and_backward(uint32_t quarters)
{
    uint32_t layers = (uint32_t)option[LAYERS];
    uint32_t activations = (width[ACTIVATION] * quarters + 3) / 4;
    uint64_t threads = (uint64_t)option[TOKENS] * quarters / 4;
    double seconds = forward_s * quarters / 4;
    for (uint32_t l = 0; l < layers; l++) {
        use(PARAMETER, l, 0, width[PARAMETER], false);
        use(ACTIVATION, l, 0, activations, true);
        launch(FORWARD, threads, seconds);
    }
    for (uint32_t l = layers; l-- > 0;) {
        use(PARAMETER, l, 0, width[PARAMETER], false);
        use(ACTIVATION, l, 0, activations, false);
        use(GRADIENT, l, 0, width[GRADIENT], true);
        launch(BACKWARD, threads, 2 * seconds);
        release(ACTIVATION, l);
    }
}

/* Each layer's activations live until the next layer has read them. */
static void evaluate(void)
{
    for (uint32_t l = 0; l < (uint32_t)option[LAYERS]; l++) {
        use(PARAMETER, l, 0, width[PARAMETER], false);
        use(ACTIVATION, l, 0, width[ACTIVATION], true);
        if (l) use(ACTIVATION, l - 1, 0, width[ACTIVATION], false);
        launch(EVALUATE, (uint64_t)option[TOKENS], forward_s);
        if (l) release(ACTIVATION, l - 1);
    }
    release(ACTIVATION, (uint32_t)option[LAYERS] - 1);
}

static void update_fused(uint32_t layer, uint32_t i)
{
    for (enum kind kind = PARAMETER; kind <= VARIANCE; kind++) use(kind, layer, i, 1, kind != GRADIENT);
    launch(ADAMW, 1024, 8 * option[CHUNK] * MIB / DEVICE_BYTES_PER_S);
}

static void update_foreach(void)
{
    static const struct {
        uint32_t operands; /* a bit for each kind */
        enum kind written;
    } passes[] = {
        {1 << GRADIENT | 1 << MEAN, MEAN},
        {1 << VARIANCE, VARIANCE},
        {1 << GRADIENT | 1 << VARIANCE, VARIANCE},
        {1 << VARIANCE, TEMPORARY},
        {1 << TEMPORARY, TEMPORARY},
        {1 << PARAMETER | 1 << MEAN | 1 << TEMPORARY, PARAMETER},
    };
    for (uint32_t p = 0; p < sizeof passes / sizeof *passes; p++)
        for (uint32_t l = 0; l < (uint32_t)option[LAYERS]; l++)
            for (uint32_t i = 0; i < width[PARAMETER]; i++) {
                uint32_t operands = 1;
                for (enum kind kind = 0; kind < KINDS; kind++) {
                    bool reads = passes[p].operands >> kind & 1, writes = passes[p].written == kind;
                    operands += reads;
                    if (reads || writes) use(kind, l, i, 1, writes);
                }
                launch(SWEEP + p, 1024, operands * option[CHUNK] * MIB / DEVICE_BYTES_PER_S);
            }
}

static void step(uint32_t number)
{
    uint32_t layers = (uint32_t)option[LAYERS];
    for (uint32_t i = 0; i < (uint32_t)option[ACCUMULATE]; i++)
        forward_and_backward(option[VARY] != 0 ? 1 + (uint32_t)(chance() % 4) : 4);
    bool skipped = (double)(chance() % 1000) < 1000 * option[SKIP];
    if (!skipped && option[FOREACH] != 0) update_foreach();
    for (uint32_t l = 0; !skipped && option[FOREACH] == 0 && l < layers; l++)
        for (uint32_t i = 0; i < width[PARAMETER]; i++) update_fused(l, i);
    for (uint32_t l = 0; l < layers; l++) release(GRADIENT, l);
    for (uint32_t l = 0; l < layers; l++) release(TEMPORARY, l);
    if (option[EVALUATE_EVERY] != 0 && number % (uint32_t)option[EVALUATE_EVERY] == 0) evaluate();
    trace_maker_end_step(maker);
}

static bool parse(int argc, char **argv)
{
    for (int k = 2; k < argc; k++) {
        size_t length = strcspn(argv[k], "=");
        uint32_t o = 0;
        while (o < OPTIONS &&
               (strlen(option_names[o]) != length || strncmp(argv[k], option_names[o], length) != 0))
            o++;
        char *end = argv[k];
        if (o < OPTIONS && argv[k][length]) option[o] = strtod(argv[k] + length + 1, &end);
        if (end == argv[k] || *end) return false;
    }
    return argc > 1 && option[LAYERS] >= 1 && option[CHUNK] >= 2;
}

static uint32_t chunks_of(double bytes)
{
    double chunks = bytes / option[LAYERS] / (option[CHUNK] * MIB) + 0.5;
    return chunks < 1 ? 1 : (uint32_t)chunks;
}

int main(int argc, char **argv)
{
    if (!parse(argc, argv)) return fputs("usage: sequence_gpt FILE [NAME=VALUE ...]\n", stderr), 2;
    uint32_t next = 0;
    for (enum kind kind = 0; kind < KINDS; kind++) {
        width[kind] = chunks_of(kind == ACTIVATION ? option[ACTIVATIONS] * GIB : 4 * option[PARAMS]);
        first[kind] = next;
        next += width[kind] * (uint32_t)option[LAYERS];
    }
    forward_s = 2 * option[PARAMS] / option[LAYERS] * option[TOKENS] / (option[TFLOPS] * 1e12);
    double device_bytes = option[DEVICE] != 0 ? option[DEVICE] * GIB : next * option[CHUNK] * MIB;
    maker = trace_maker_open(argv[1], (uint64_t)(option[CHUNK] * MIB), (uint64_t)device_bytes);
    static const char *const names[] = {"",         "forward", "backward", "adamw",  "evaluate", "lerp",
                                        "multiply", "addcmul", "sqrt",     "divide", "addcdiv"};
    for (uint32_t kernel = FORWARD; kernel < SWEEP + 6; kernel++)
        trace_maker_kernel(maker, kernel, names[kernel]);
    static const enum kind kept[] = {PARAMETER, MEAN, VARIANCE};
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t i = 0; i < width[PARAMETER] * (uint32_t)option[LAYERS]; i++)
            trace_maker_alloc(maker, first[kept[k]] + i, 1 + kept[k]);
    for (uint32_t number = 1; number <= (uint32_t)option[STEPS]; number++) step(number);
    trace_maker_close(maker);
    return 0;
}
