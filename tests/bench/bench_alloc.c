/* What an allocation and its free cost the program while 100,000 others are alive: repeated in the same order
 * as a training loop does, and in random order; one thread and two. The host backend stands for the driver.
 * Beside it: the walk up the call stack that names an allocation's site, and a plain malloc and free. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/runtime.h"
#include "tests/host/backend_host.h"

#define LIVE 100000
#define SITES 200
#define LOOP 1000 /* allocations of an iteration */
#define ROUNDS 100
#define THREADS_MAX 2

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Mostly small tensors, as in a model of many layers; a few that take chunks of their own. */
static uint64_t size_of(uint64_t r)
{
    if (r % 1000 == 0) return SL_MIB << (r >> 32 & 3);
    return 512u << (r >> 32) % 6;
}

static pthread_barrier_t together; /* the threads begin each round at once */

struct worker {
    uint64_t random, first_site;
    bool ordered;
    double pair_ns;
    uint64_t *live;
    uint32_t live_count;
};

/* Takes LOOP allocations and frees them again, in the same order each time. */
static double ordered_round(struct worker *w)
{
    uint64_t taken[LOOP], r = w->first_site * 77 + 1;
    double start = now_ns();
    for (int i = 0; i < LOOP; i++)
        if (sl_runtime_alloc(size_of(next_random(&r)), w->first_site + r % SITES, 0, NULL, &taken[i]))
            exit(1);
    for (int i = 0; i < LOOP; i++)
        if (sl_runtime_free(taken[i], NULL)) exit(1);
    return (now_ns() - start) / LOOP;
}

/* Replaces LOOP allocations among all that live. */
static double random_round(struct worker *w)
{
    double start = now_ns();
    for (int i = 0; i < LOOP; i++) {
        uint64_t r = next_random(&w->random), *one = &w->live[(r >> 8) % w->live_count];
        if (sl_runtime_free(*one, NULL)) exit(1);
        if (sl_runtime_alloc(size_of(next_random(&w->random)), w->first_site + r % SITES, 0, NULL, one))
            exit(1);
    }
    return (now_ns() - start) / LOOP;
}

static void *work(void *argument)
{
    struct worker *w = argument;
    double best = 1e30;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&together);
        double each = w->ordered ? ordered_round(w) : random_round(w);
        if (each < best) best = each;
    }
    w->pair_ns = best;
    return NULL;
}

static void measure(int threads, bool ordered)
{
    static uint64_t live[LIVE];
    static struct worker workers[THREADS_MAX];
    pthread_t ids[THREADS_MAX];
    struct sl_backend backend;
    setenv("SLUICE_DEVICE_BUDGET", "8G", 1);
    sl_runtime_load();
    if (sl_backend_host_new(64 * SL_GIB, &backend) || sl_runtime_start(&backend)) exit(1);
    uint64_t random = 42;
    for (int i = 0; i < LIVE; i++) {
        uint64_t bytes = size_of(next_random(&random));
        if (sl_runtime_alloc(bytes, random % SITES, 0, NULL, &live[i])) exit(1);
    }
    double sum = 0;
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    for (int t = 0; t < threads; t++) {
        workers[t] = (struct worker){.random = (uint64_t)t * 9 + 5,
                                     .first_site = 1000u * (unsigned)(t + 1),
                                     .ordered = ordered,
                                     .live = live + LIVE / threads * t,
                                     .live_count = (uint32_t)(LIVE / threads)};
        if (pthread_create(&ids[t], NULL, work, &workers[t])) exit(1);
    }
    for (int t = 0; t < threads; t++) {
        pthread_join(ids[t], NULL);
        sum += workers[t].pair_ns;
    }
    printf("%d thread%s, %s order   %8.1f ns an allocation and its free\n", threads, threads > 1 ? "s" : " ",
           ordered ? "the same" : "random  ", sum / threads);
    fflush(stdout);
    _exit(0);
}

/* A call stack as deep as a framework's. The assembly keeps the compiler from making a loop of it. */
static __attribute__((noinline)) uint64_t deep(int depth)
{
    uint64_t site = depth ? deep(depth - 1) : sl_site_here(__builtin_return_address(0));
    __asm__ volatile("# deep");
    return site;
}

static void measure_others(void)
{
    static void *live[LIVE];
    double best_site = 1e30, best_malloc = 1e30;
    uint64_t random = 42, sum = 0;
    for (int i = 0; i < LIVE; i++) live[i] = malloc(size_of(next_random(&random)) / 64);
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (int i = 0; i < 100; i++) sum += deep(20);
        double each = (now_ns() - start) / 100;
        if (each < best_site) best_site = each;
        start = now_ns();
        for (int i = 0; i < LOOP; i++) {
            void **one = &live[next_random(&random) % LIVE];
            free(*one);
            *one = malloc(size_of(next_random(&random)) / 64);
        }
        each = (now_ns() - start) / LOOP;
        if (each < best_malloc) best_malloc = each;
    }
    printf("a walk up 20 frames       %8.1f ns\nmalloc and free           %8.1f ns%s\n", best_site,
           best_malloc, sum ? "" : " ");
}

int main(void)
{
    for (int ordered = 1; ordered >= 0; ordered--)
        for (int threads = 1; threads <= THREADS_MAX; threads++) {
            pid_t child = fork();
            if (child == 0) measure(threads, ordered);
            int status;
            waitpid(child, &status, 0);
            if (status) return 1;
        }
    measure_others();
    return 0;
}
