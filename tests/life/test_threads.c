/* Threads of a program that trains: what they free, how they end, how little stack they have. */
#include "trainer.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct trainer trainer;

#define EXCHANGED 64
static CUdeviceptr exchanged[2][EXCHANGED];
static pthread_barrier_t meeting;

/* Each of the two fills its row, then frees the other's, over and over. */
static void *exchange(void *argument)
{
    int mine = argument != NULL;
    must(!trainer_enter(&trainer));
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < EXCHANGED; i++) {
            must(!cuMemAlloc(&exchanged[mine][i], 4096u * (unsigned)(i + 1)));
            must(!cuMemsetD32(exchanged[mine][i], (unsigned)(round + i), 1024));
        }
        pthread_barrier_wait(&meeting);
        for (int i = 0; i < EXCHANGED; i++) {
            uint32_t word;
            must(!cuMemcpyDtoH(&word, exchanged[!mine][i], 4) && word == (unsigned)(round + i));
            must(!cuMemFree(exchanged[!mine][i]));
        }
        pthread_barrier_wait(&meeting);
    }
    return NULL;
}

static void run_in_thread(void *(*body)(void *), size_t stack_bytes)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *result;
    must(!pthread_attr_init(&attributes));
    if (stack_bytes) must(!pthread_attr_setstacksize(&attributes, stack_bytes));
    must(!pthread_create(&thread, &attributes, body, NULL));
    must(!pthread_join(thread, &result) && !result);
    pthread_attr_destroy(&attributes);
}

static void threads_free_each_others_memory(void)
{
    pthread_t other;
    must(!pthread_barrier_init(&meeting, NULL, 2));
    must(!pthread_create(&other, NULL, exchange, exchanged));
    exchange(NULL);
    must(!pthread_join(other, NULL));
}

/* Refused by the driver; nothing else may come of it. */
static void *launch_without_a_context(void *unused)
{
    (void)unused;
    must(!cuCtxSetCurrent(NULL));
    must(trainer_steps(&trainer, 1) == CUDA_ERROR_INVALID_CONTEXT);
    CUdeviceptr memory;
    must(cuMemAlloc(&memory, 4096) == CUDA_ERROR_INVALID_CONTEXT);
    return NULL;
}

static void *train(void *unused)
{
    (void)unused;
    must(!trainer_enter(&trainer) && !trainer_steps(&trainer, 5));
    return NULL;
}

static pthread_key_t at_the_end;

/* Destructors of thread-specific data run in any order: ours may be over by then. */
static void train_at_the_end(void *rounds)
{
    must(!trainer_steps(&trainer, 1));
    uintptr_t left = (uintptr_t)rounds - 1;
    if (left) must(!pthread_setspecific(at_the_end, (void *)left));
}

static void *end_with_work(void *unused)
{
    must(!pthread_setspecific(at_the_end, (void *)3));
    return train(unused);
}

static void *wait_to_be_cancelled(void *ready)
{
    must(!trainer_enter(&trainer) && !trainer_steps(&trainer, 5));
    pthread_barrier_wait(ready);
    for (;;) pause();
    return NULL;
}

static void a_thread_is_cancelled(void)
{
    pthread_t thread;
    void *result;
    must(!pthread_barrier_init(&meeting, NULL, 2));
    must(!pthread_create(&thread, NULL, wait_to_be_cancelled, &meeting));
    pthread_barrier_wait(&meeting);
    must(!pthread_cancel(thread) && !pthread_join(thread, &result) && result == PTHREAD_CANCELED);
}

static void *last_to_leave(void *main_thread)
{
    must(!pthread_join(*(pthread_t *)main_thread, NULL));
    must(!trainer_enter(&trainer) && !trainer_steps(&trainer, 5));
    must(!trainer_check(&trainer) && !trainer_stop(&trainer));
    exit(0);
}

int main(void)
{
    static pthread_t main_thread, last;
    must(!trainer_start(&trainer));
    threads_free_each_others_memory();
    run_in_thread(launch_without_a_context, 0);
    for (int i = 0; i < 100; i++) run_in_thread(train, 0);
    must(!pthread_key_create(&at_the_end, train_at_the_end));
    run_in_thread(end_with_work, 0);
    a_thread_is_cancelled();
    must(!trainer_check(&trainer));
#ifdef __SANITIZE_THREAD__ /* whose runtime fails where the main thread is joined */
    return 0;
#endif
    main_thread = pthread_self();
    must(!pthread_create(&last, NULL, last_to_leave, &main_thread));
    pthread_exit(NULL);
}
