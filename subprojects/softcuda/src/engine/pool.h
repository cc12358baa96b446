/* Helper threads for launches. They are started when first needed and then kept. */
#ifndef SOFTCUDA_ENGINE_POOL_H
#define SOFTCUDA_ENGINE_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define SC_POOL_MAX 256u

/* Work offered to helpers: `count` pieces. The owner provides the memory. */
struct sc_offer {
    void (*work)(void *context, uint32_t index);
    void *context;
    uint32_t count, taken;
    uint32_t running; /* atomic */
    struct sc_offer *next;
    pthread_cond_t finished;
};

/* Lets helpers call work(context, i), at most once for each i below `count`. Does not wait. Thread-safe. */
void sc_pool_offer(struct sc_offer *offer, uint32_t count, void (*work)(void *context, uint32_t index),
                   void *context);

/* Drops the pieces that no helper has begun, and returns when the others have finished. Thread-safe. */
void sc_pool_withdraw(struct sc_offer *offer);

/* Calls work(context, i) for every i below `count`, on the calling thread and on available helpers, and
 * returns when all calls have returned. Thread-safe; safe in the child of a fork. */
void sc_pool_run(uint32_t count, void (*work)(void *context, uint32_t index), void *context);

/* One iteration of a short spin wait. Returns false when the caller has spun long enough and should sleep;
 * `*spins` starts at 0. */
bool sc_pool_spin(uint32_t *spins);

#endif
