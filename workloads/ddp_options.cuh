/* The data-parallel trainer's command line. */
#ifndef DDP_OPTIONS_CUH
#define DDP_OPTIONS_CUH

#include "gpt_arguments.cuh"

struct Options {
    const char *data, *id_file;
    struct Shape shape;
    int steps, zero, ranks;
    size_t chunk_floats;
    enum Allocator allocator;
    uint64_t seed;
};

/* As SHAPE_OPTIONS. */
#define NUMBER_OPTIONS(X)                                                                                    \
    SHAPE_OPTIONS(X)                                                                                         \
    X("steps", steps, 20, 1, 1000000000, "updates of the weights")                                           \
    X("seed", seed, 1, 0, INT64_MAX, "of weights and batches")                                               \
    X("zero", zero, 0, 0, 3, "what each rank has of its own chunks only (see below)")                        \
    X("ranks", ranks, 0, 0, 1024, "processes to start; 0: the environment says which one this is")

/* The largest tensor of the default shape has 0.25 MiB. */
#define CHUNK_MIB 1.0

static void print_help()
{
    printf("Usage: ddp --data FILE [OPTION]...\n"
           "Trains a byte-level GPT on a file with CUDA and NCCL, data-parallel; --batch counts for each "
           "rank.\n\n"
           "  --data FILE           the text, any bytes\n");
#define HELP(name, field, value, low, high, help)                                                            \
    printf("  --%-20s%s (%lld)\n", name " N", help, (long long)value);
    NUMBER_OPTIONS(HELP)
#undef HELP
    printf(
        "  --chunk-mib M         MiB in a chunk, with decimals; at least the largest tensor (%g)\n"
        "  --alloc KIND          memory that is taken once and kept (malloc), or taken and freed in the "
        "order\n"
        "                        of the streams (async) (malloc)\n"
        "  --id-file FILE        by which ranks from the environment find each other; must not exist\n"
        "  --help                print this and exit\n\n"
        "--zero: 0 nothing, 1 AdamW's state, 2 gradients as well, 3 weights as well.\n"
        "Ranks in the environment: RANK, WORLD_SIZE, LOCAL_RANK, or what Open MPI or Slurm sets; none: one "
        "rank.\n"
        "Exit status: 0 done, 1 a CUDA, NCCL or output error, 2 bad options or data, 3 out of memory.\n",
        CHUNK_MIB);
}

/* Floats in a chunk: a multiple of 64, as tensors begin at multiples of 64. */
static size_t parse_chunk(const char *text)
{
    char *end;
    const double mib = strtod(text, &end);
    if (end == text || *end || !(mib >= 1.0 / 4096 && mib <= 65536))
        usage_error("--chunk-mib takes a number from 1/4096 to 65536, not '%s'%s", text, "");
    return (size_t)(mib * (1 << 20) / sizeof(float)) / 64 * 64;
}

/* Returns only if the options make sense; otherwise ends the program with one line and EXIT_USAGE. */
static void parse_options(struct Options *o, int argc, char **argv)
{
    static const char *const allocators[] = {"malloc", "async"};
    enum { FIRST = 256, OPT_DATA, OPT_CHUNK, OPT_ALLOC, OPT_ID, OPT_HELP, FIRST_NUMBER };
#define LONG(name, ...) {name, required_argument, NULL, FIRST_NUMBER},
    static struct option table[] = {NUMBER_OPTIONS(LONG){"data", required_argument, NULL, OPT_DATA},
                                    {"chunk-mib", required_argument, NULL, OPT_CHUNK},
                                    {"alloc", required_argument, NULL, OPT_ALLOC},
                                    {"id-file", required_argument, NULL, OPT_ID},
                                    {"help", no_argument, NULL, OPT_HELP},
                                    {NULL, 0, NULL, 0}};
#undef LONG
    memset(o, 0, sizeof *o);
#define DEFAULT(name, field, value, ...) o->field = value;
    NUMBER_OPTIONS(DEFAULT)
#undef DEFAULT
    o->chunk_floats = (size_t)(CHUNK_MIB * (1 << 20) / sizeof(float));
    o->allocator = ALLOCATOR_SLAB;
    opterr = 0;
    for (int index = -1, c; (c = getopt_long(argc, argv, ":", table, &index)) != -1; index = -1) {
        switch (c) {
        case OPT_DATA:
            o->data = optarg;
            break;
        case OPT_CHUNK:
            o->chunk_floats = parse_chunk(optarg);
            break;
        case OPT_ALLOC:
            /* Not ALLOCATOR_MALLOC: activations, too, shall be allocated once. */
            o->allocator = parse_word("alloc", optarg, allocators, 2) ? ALLOCATOR_ASYNC : ALLOCATOR_SLAB;
            break;
        case OPT_ID:
            o->id_file = optarg;
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
}

#endif
