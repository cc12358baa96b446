/* What the command lines of the programs that train the GPT have in common. */
#ifndef GPT_ARGUMENTS_CUH
#define GPT_ARGUMENTS_CUH

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpt_model.cuh"

/* Options with a number: name, field, value if not given, lowest, highest, help. */
#define SHAPE_OPTIONS(X)                                                                                     \
    X("layers", shape.layers, 4, 1, 1000, "transformer layers")                                              \
    X("width", shape.width, 128, 1, 65536, "floats in the residual stream")                                  \
    X("heads", shape.heads, 4, 1, 1024, "attention heads; must divide the width")                            \
    X("context", shape.context, 64, 1, 65536, "tokens in a sequence")                                        \
    X("batch", shape.batch, 4, 1, 65536, "sequences in a micro-batch")

[[noreturn]] static void usage_error(const char *format, const char *a, const char *b)
{
    fprintf(stderr, PROGRAM ": ");
    fprintf(stderr, format, a, b);
    fprintf(stderr, " (see " PROGRAM " --help)\n");
    exit(EXIT_USAGE);
}

static int64_t parse_number(const char *name, const char *text, int64_t low, int64_t high)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < low || value > high) {
        fprintf(stderr, PROGRAM ": --%s takes a number from %lld to %lld, not '%s'\n", name, (long long)low,
                (long long)high, text);
        exit(EXIT_USAGE);
    }
    return value;
}

/* The index of `text` among `count` words. */
static int parse_word(const char *name, const char *text, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(text, words[i])) return i;
    usage_error("--%s does not know '%s'", name, text);
}

static void check_shape(const struct Shape *shape)
{
    if (shape->width % shape->heads) usage_error("--heads must divide --width%s%s", "", "");
    /* The largest grid of a matrix product: 65535 tiles of rows, 65535 products. */
    if ((int64_t)shape->batch * shape->context > 65535 * GEMM_TILE || shape->batch * shape->heads > 65535)
        usage_error("--batch times --context or --heads is too large%s%s", "", "");
}

#endif
