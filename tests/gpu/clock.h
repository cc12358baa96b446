/* The time of a thread. Of a GPU it is the host's clock. A simulated device has a clock of its own, on which
 * the host's calls take time, too: `--clock device` reads that one by events, and threads take turns by it,
 * so that the same calls are made in the same order in every run. */
#ifndef CLOCK_H
#define CLOCK_H

#include <pthread.h>

#include "probe.h"

struct clock {
    const struct probe *probe;
    CUstream stream; /* idle whenever the clock is read */
    CUevent event;
};

void clock_begin(struct clock *clock, const struct probe *probe);
void clock_end(struct clock *clock);
double clock_seconds(const struct clock *clock);

enum { MOST_TURNS = 8 };

struct turns {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count;
    double at[MOST_TURNS]; /* when each thread goes on; INFINITY: it has ended */
};

void turns_begin(struct turns *turns, int count);
/* Waits until no other thread is behind thread `index`, which is at `seconds`. */
void turns_take(struct turns *turns, int index, double seconds);
void turns_leave(struct turns *turns, int index);
void turns_end(struct turns *turns);

#endif
