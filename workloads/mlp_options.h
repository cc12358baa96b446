/* The command line of the multi-layer perceptron. */
#ifndef MLP_OPTIONS_H
#define MLP_OPTIONS_H

#include "mlp_model.h"

enum graph_kind { GRAPH_NONE, GRAPH_CAPTURED, GRAPH_NODES };

struct options {
    struct shape shape;
    int steps, streams;
    enum graph_kind graph;
    uint64_t seed;
};

/* Returns only if the options make sense; otherwise ends the program with one line and EXIT_USAGE. */
void parse_options(struct options *options, int argc, char **argv);

#endif
