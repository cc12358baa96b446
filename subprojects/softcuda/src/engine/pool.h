/* Threads that help a launch. They are started when first needed and then kept. */
#ifndef SOFTCUDA_ENGINE_POOL_H
#define SOFTCUDA_ENGINE_POOL_H

#include <stdint.h>

#define SC_POOL_MAX 256u

/* Calls work(context, i) for every i below `count`, on the calling thread and on helpers as far as there are
 * any, and returns when all calls have returned. Thread-safe; safe in the child of a fork. Always does the
 * work: without helpers the caller does all of it. */
void sc_pool_run(uint32_t count, void (*work)(void *context, uint32_t index), void *context);

#endif
