/* Threads that help launches. They are started when first needed and then kept. */
#ifndef SOFTCUDA_ENGINE_POOL_H
#define SOFTCUDA_ENGINE_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define SC_POOL_MAX 256u

/* Work on offer: `count` pieces, that helpers begin as they get round to it. Lives where its owner keeps it.
 */
struct sc_offer {
    void (*work)(void *context, uint32_t index);
    void *context;
    uint32_t count, taken;
    uint32_t running; /* atomic */
    struct sc_offer *next;
    pthread_cond_t finished;
};

/* Lets helpers call work(context, i), each i below `count` at most once. Does not wait. Thread-safe. */
void sc_pool_offer(struct sc_offer *offer, uint32_t count, void (*work)(void *context, uint32_t index),
                   void *context);

/* Pieces that nobody has begun are dropped; returns when those that were begun have returned. Thread-safe. */
void sc_pool_withdraw(struct sc_offer *offer);

/* Calls work(context, i) for every i below `count`, on the calling thread and on helpers as far as there are
 * any, and returns when all calls have returned. Thread-safe; safe in the child of a fork. */
void sc_pool_run(uint32_t count, void (*work)(void *context, uint32_t index), void *context);

/* Tells the processor that the caller spins for a short while. Returns false when it has done so long enough
 * to go to sleep instead; `*spins` starts at 0. */
bool sc_pool_spin(uint32_t *spins);

#endif
