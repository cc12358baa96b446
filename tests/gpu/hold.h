/* A stream that waits for the host: a host function on it returns when it is told to, or gives up after a
 * while. Whether a call waits for such a stream is then a question without a clock: the hold gave up, or it
 * did not. */
#ifndef HOLD_H
#define HOLD_H

#include <stdatomic.h>
#include <stdbool.h>

#include "probe.h"

struct hold {
    CUstream stream;
    double give_up_seconds; /* of the clock of now_seconds() */
    atomic_bool released, gave_up;
};

/* What is enqueued on `stream` from now on waits. `*hold` stays where it is until hold_end(). */
void hold_begin(struct hold *hold, CUstream stream, double seconds);
/* Lets the stream go on and waits for it. True if the hold had given up before. */
bool hold_end(struct hold *hold);

#endif
