/* An invented training run: micro-batches, an update, an evaluation behind the second step, a budget in which
 * the optimizer's state does not stay. Every figure is a round one, so that the pictures that the commands
 * draw of it can be checked by hand. */
#ifndef TRAINING_H
#define TRAINING_H

#include "trace/events.h"

enum { TRAINING_LAYERS_MAX = 6 };
struct training {
    unsigned layers, steps, micro; /* micro: batches for each update */
    bool marks;                    /* backward passes are ranges with the name of an update */
    bool varies;   /* each batch has another size, memory of its own, and is freed; weights are of one site,
                      made one after the other, and freed at the end */
    bool frozen;   /* layer 1 has no gradient */
    bool resident; /* activations are allocated and cleared once, before the first batch */
    bool sharded;  /* weights are gathered before the batch is used, and gradients written by launches with
                      lists in memory, which are copied right before each */
};

/* Its records, valid until the next call. */
const struct sl_event *training_events(struct training training, size_t *count);

#endif
