#include "mlp_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options with a number: name, field, value if not given, lowest, highest, help. */
#define NUMBER_OPTIONS(X)                                                                                    \
    X("layers", shape.layers, 3, 1, 1000, "rectified layers")                                                \
    X("width", shape.width, 128, 1, 65536, "units in each of them")                                          \
    X("batch", shape.batch, 64, 1, 1000000, "examples in a step")                                            \
    X("steps", steps, 20, 1, 1000000000, "updates of the weights")                                           \
    X("streams", streams, 2, 1, MOST_STREAMS,                                                                \
      "one for the layers' outputs, the others for weights and inputs")                                      \
    X("seed", seed, 1, 0, INT64_MAX, "of weights and examples")

static const char *const graphs[] = {"none", "captured", "nodes"};
enum { GRAPHS = sizeof graphs / sizeof *graphs };

static void print_help(void)
{
    printf("Usage: mlp [OPTION]...\n"
           "Trains a multi-layer perceptron on a synthetic task, with the CUDA Driver API alone.\n\n");
#define HELP(name, field, value, low, high, help)                                                            \
    printf("  --%-20s%s (%lld)\n", name " N", help, (long long)(value));
    NUMBER_OPTIONS(HELP)
#undef HELP
    printf("  --graph KIND          forward and backward as a graph: captured, built of nodes (nodes), or "
           "none (none)\n"
           "  --help                print this and exit\n\n"
           "Exit status: 0 done, 1 a CUDA or output error, 2 bad options, 3 out of memory.\n");
}

_Noreturn static void usage_error(const char *before, const char *what, const char *after)
{
    fprintf(stderr, "mlp: %s%s%s (see mlp --help)\n", before, what, after);
    exit(EXIT_USAGE);
}

static long long parse_number(const char *name, const char *text, long long low, long long high)
{
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < low || value > high) {
        fprintf(stderr, "mlp: --%s takes a number from %lld to %lld, not '%s'\n", name, low, high, text);
        exit(EXIT_USAGE);
    }
    return value;
}

static enum graph_kind parse_graph(const char *text)
{
    for (int i = 0; i < GRAPHS; i++)
        if (!strcmp(text, graphs[i])) return (enum graph_kind)i;
    usage_error("--graph does not know '", text, "'");
}

void parse_options(struct options *o, int argc, char **argv)
{
    enum { FIRST = 256, OPT_GRAPH, OPT_HELP, FIRST_NUMBER };
#define LONG(name, ...) {name, required_argument, NULL, FIRST_NUMBER},
    static const struct option table[] = {NUMBER_OPTIONS(LONG){"graph", required_argument, NULL, OPT_GRAPH},
                                          {"help", no_argument, NULL, OPT_HELP},
                                          {NULL, 0, NULL, 0}};
#undef LONG
    *o = (struct options){0};
#define DEFAULT(name, field, value, ...) o->field = value;
    NUMBER_OPTIONS(DEFAULT)
#undef DEFAULT
    opterr = 0;
    for (int index = -1, c; (c = getopt_long(argc, argv, ":", table, &index)) != -1; index = -1) {
        switch (c) {
        case OPT_GRAPH:
            o->graph = parse_graph(optarg);
            break;
        case OPT_HELP:
            print_help();
            exit(EXIT_SUCCESS);
        case FIRST_NUMBER:
#define NUMBER(option_name, field, value, low, high, help)                                                   \
    if (!strcmp(table[index].name, option_name))                                                             \
        o->field = (__typeof__(o->field))parse_number(option_name, optarg, low, high);
            NUMBER_OPTIONS(NUMBER)
#undef NUMBER
            break;
        case ':':
            usage_error("", argv[optind - 1], " needs a value");
        default:
            usage_error("unknown option '", argv[optind - 1], "'");
        }
    }
    if (optind < argc) usage_error("unexpected argument '", argv[optind], "'");
}
