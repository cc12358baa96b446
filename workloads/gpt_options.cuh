/* The GPT trainer's command line. */
#ifndef GPT_OPTIONS_H
#define GPT_OPTIONS_H

#include "gpt_arguments.cuh"
#include "gpt_optimizer.cuh"

struct Options {
    const char *data, *dump_weights;
    struct Shape shape;
    int steps, accumulate, evaluate_every, peak_step, peak_batch;
    enum OptimizerKind optimizer;
    enum Allocator allocator;
    uint64_t seed;
};

/* As SHAPE_OPTIONS. */
#define NUMBER_OPTIONS(X)                                                                                    \
    SHAPE_OPTIONS(X)                                                                                         \
    X("steps", steps, 20, 1, 1000000000, "updates of the weights")                                           \
    X("accumulate", accumulate, 1, 1, 1000000, "micro-batches for each update")                              \
    X("peak-step", peak_step, 0, 0, 1000000000, "step with a batch of its own; 0: none")                     \
    X("peak-batch", peak_batch, 1, 1, 65536, "sequences in that step's micro-batches")                       \
    X("evaluate-every", evaluate_every, 0, 0, 1000000000, "steps between evaluations; 0: never")             \
    X("seed", seed, 1, 0, INT64_MAX, "of weights and batches")

static void print_help()
{
    printf("Usage: gpt --data FILE [OPTION]...\n"
           "Trains a byte-level GPT on a file with CUDA.\n\n"
           "  --data FILE           the text, any bytes\n");
#define HELP(name, field, value, low, high, help)                                                            \
    printf("  --%-20s%s (%lld)\n", name " N", help, (long long)value);
    NUMBER_OPTIONS(HELP)
#undef HELP
    printf("  --optimizer KIND      AdamW in one kernel (fused) or in elementary ones (sweep) (fused)\n"
           "  --allocator KIND      an allocation for each tensor (malloc), one for each set of tensors "
           "(slab),\n"
           "                        unified memory for each tensor (managed), or allocation in the order of "
           "the\n"
           "                        stream (async) (malloc)\n"
           "  --dump-weights FILE   write the final weights: fp32, in the model's order\n"
           "  --help                print this and exit\n\n"
           "Exit status: 0 done, 1 a CUDA or output error, 2 bad options or data, 3 out of memory.\n");
}

/* Returns only if the options make sense; otherwise ends the program with one line and EXIT_USAGE. */
static void parse_options(struct Options *o, int argc, char **argv)
{
    static const char *const optimizers[] = {"fused", "sweep"};
    static const char *const allocators[] = {"malloc", "slab", "managed", "async"};
    enum { FIRST = 256, OPT_DATA, OPT_OPTIMIZER, OPT_ALLOCATOR, OPT_DUMP, OPT_HELP, FIRST_NUMBER };
#define LONG(name, ...) {name, required_argument, NULL, FIRST_NUMBER},
    static struct option table[] = {NUMBER_OPTIONS(LONG){"data", required_argument, NULL, OPT_DATA},
                                    {"optimizer", required_argument, NULL, OPT_OPTIMIZER},
                                    {"allocator", required_argument, NULL, OPT_ALLOCATOR},
                                    {"dump-weights", required_argument, NULL, OPT_DUMP},
                                    {"help", no_argument, NULL, OPT_HELP},
                                    {NULL, 0, NULL, 0}};
#undef LONG
    memset(o, 0, sizeof *o);
#define DEFAULT(name, field, value, ...) o->field = value;
    NUMBER_OPTIONS(DEFAULT)
#undef DEFAULT
    opterr = 0;
    for (int index = -1, c; (c = getopt_long(argc, argv, ":", table, &index)) != -1; index = -1) {
        switch (c) {
        case OPT_DATA:
            o->data = optarg;
            break;
        case OPT_OPTIMIZER:
            o->optimizer = (enum OptimizerKind)parse_word("optimizer", optarg, optimizers, 2);
            break;
        case OPT_ALLOCATOR:
            o->allocator = (enum Allocator)parse_word("allocator", optarg, allocators, 4);
            break;
        case OPT_DUMP:
            o->dump_weights = optarg;
            break;
        case OPT_HELP:
            print_help();
            exit(EXIT_SUCCESS);
        case FIRST_NUMBER: {
#define NUMBER(option_name, field, value, low, high, help)                                                   \
    if (!strcmp(table[index].name, option_name)) o->field = parse_number(option_name, optarg, low, high);
            NUMBER_OPTIONS(NUMBER)
#undef NUMBER
            break;
        }
        case ':':
            usage_error("%s needs a value%s", argv[optind - 1], "");
        default:
            usage_error("unknown option '%s'%s", argv[optind - 1], "");
        }
    }
    if (optind < argc) usage_error("unexpected argument '%s'%s", argv[optind], "");
    if (!o->data) usage_error("--data FILE is missing%s%s", "", "");
    check_shape(&o->shape);
    struct Shape peak = o->shape;
    peak.batch = o->peak_batch;
    check_shape(&peak);
}

#endif
