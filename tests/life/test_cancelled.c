/* Threads that are cancelled at any point of their launches, allocations and frees. Cancellation is deferred,
 * as it is by default: it acts where a call waits. What they held must not be lost to the others. */
#include "trainer.h"

#include <pthread.h>
#include <sched.h>

#define ROUNDS 200

static struct trainer trainer;
static uint32_t begun;

static void *train_for_ever(void *unused)
{
    (void)unused;
    must(!trainer_enter(&trainer));
    for (;;) {
        CUdeviceptr memory;
        must(!cuMemAlloc(&memory, 65536) && !cuMemsetD8(memory, 1, 65536));
        __atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
        for (int i = 0; i < TRAINER_BLOCKS; i++)
            must(!cuMemsetD8Async(trainer.blocks[i], 0, 4096, trainer.stream));
        must(!cuMemFree(memory));
        pthread_testcancel();
    }
    return NULL;
}

int main(void)
{
    must(!trainer_start(&trainer) && !trainer_steps(&trainer, 10) && !trainer_check(&trainer));
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        void *result;
        uint32_t seen = __atomic_load_n(&begun, __ATOMIC_ACQUIRE);
        must(!pthread_create(&thread, NULL, train_for_ever, NULL));
        for (int i = 0; i < round % 7; i++) sched_yield();
        while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) == seen) sched_yield();
        must(!pthread_cancel(thread) && !pthread_join(thread, &result) && result == PTHREAD_CANCELED);
        must(!trainer_steps(&trainer, 1));
    }
    must(!trainer_stop(&trainer));
    return 0;
}
