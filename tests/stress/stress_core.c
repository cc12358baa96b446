/* The core under several threads of a program: allocations, frees and launches on a stream of each thread,
 * with a daemon and a budget far too small. Every tensor carries its owner's mark; the host backend
 * overwrites what is discarded, so a mark that is wrong is memory that was given out, moved or discarded too
 * early.
 *
 * usage: stress_core THREADS ROUNDS SEED POLICY thread|inline */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "core/planning.h"
#include "core/runtime.h"
#include "tests/host/backend_host.h"

#define TENSORS 24
#define BUDGET "24M"

static const uint32_t offsets[] = {0, 8}, sizes[] = {8, 8};
static const struct sl_host_kernel kernel = {"mark", 2, offsets, sizes};

struct tensor {
    uint64_t *address;
    uint64_t bytes, mark;
};

struct worker {
    pthread_t thread;
    uint64_t number, random;
    int rounds;
    _Atomic uint64_t *wrong;
    struct tensor tensors[TENSORS];
};

static bool patient; /* launches come no faster than plans are made */

static uint64_t next_random(struct worker *worker)
{
    worker->random = sl_hash_word(worker->random, 1);
    return worker->random;
}

static uint64_t *last_word(const struct tensor *tensor)
{
    return tensor->address + tensor->bytes / 8 - 1;
}

static void launch(struct worker *worker, struct tensor *a, struct tensor *b, bool write)
{
    void *parameters[] = {&a->address, &b->address};
    struct sl_launch l = {.kind = SL_LAUNCH_KERNEL,
                          .stream = (sl_stream)worker->number,
                          .function = (uint64_t)&kernel,
                          .grid = {1, 1, 1},
                          .block = {1, 1, 1},
                          .parameters = parameters};
    sl_runtime_launch_begin(&l);
    struct tensor *both[] = {a, b};
    for (int i = 0; i < 2; i++) {
        if (write) *both[i]->address = *last_word(both[i]) = both[i]->mark;
        if (*both[i]->address != both[i]->mark || *last_word(both[i]) != both[i]->mark)
            atomic_fetch_add(worker->wrong, 1);
    }
    sl_runtime_launch_end(&l, true);
    const struct sl_planner *planner = sl_core_running()->planning.planner;
    while (patient && planner && sl_planner_is_busy(planner)) sched_yield();
}

static void renew(struct worker *worker, struct tensor *tensor, uint64_t site)
{
    if (tensor->address && sl_runtime_free((uint64_t)tensor->address, NULL))
        atomic_fetch_add(worker->wrong, 1);
    static const uint64_t some_bytes[] = {4096, 100000, 700000, 2 << 20, 5 << 20};
    uint64_t address;
    tensor->bytes = some_bytes[site % 5];
    if (sl_runtime_alloc(tensor->bytes, worker->number << 32 | site, 0, NULL, &address)) {
        atomic_fetch_add(worker->wrong, 1);
        tensor->address = NULL;
        return;
    }
    tensor->address = (uint64_t *)address;
    tensor->mark = next_random(worker);
    launch(worker, tensor, tensor, true);
}

/* Mostly a loop that repeats itself, so that plans are made; now and then a misprediction. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    for (int t = 0; t < TENSORS; t++) renew(worker, &worker->tensors[t], (uint64_t)t);
    for (int round = 0; round < worker->rounds; round++) {
        for (int t = 0; t < TENSORS; t++)
            launch(worker, &worker->tensors[t], &worker->tensors[(t * 7 + 3) % TENSORS], false);
        for (int t = 0; t < TENSORS; t += 3) renew(worker, &worker->tensors[t], (uint64_t)t);
        if (next_random(worker) % 8 == 0) {
            int t = (int)(next_random(worker) % TENSORS);
            renew(worker, &worker->tensors[t], (uint64_t)t);
        }
        if (next_random(worker) % 16 == 0) sl_runtime_synchronized(sl_runtime_synchronizing());
    }
    for (int t = 0; t < TENSORS; t++) sl_runtime_free((uint64_t)worker->tensors[t].address, NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 6) return 2;
    int threads = atoi(argv[1]);
    patient = threads == 1;
    setenv("SLUICE_DEVICE_BUDGET", BUDGET, 1);
    setenv("SLUICE_CHUNK", "2M", 1);
    setenv("SLUICE_POLICY", argv[4], 1);
    setenv("SLUICE_DAEMON", argv[5], 1);
    struct sl_backend backend;
    sl_runtime_load();
    if (sl_backend_host_new(SL_GIB, &backend) || sl_runtime_start(&backend)) return 1;
    struct sl_host_books *books = sl_backend_host_books(&backend);
    _Atomic uint64_t wrong = 0;
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    for (int w = 0; w < threads; w++) {
        workers[w].number = (uint64_t)w + 1;
        workers[w].random = strtoull(argv[3], NULL, 10) * 1000 + (uint64_t)w;
        workers[w].rounds = atoi(argv[2]);
        workers[w].wrong = &wrong;
        if (pthread_create(&workers[w].thread, NULL, work, &workers[w])) return 1;
    }
    for (int w = 0; w < threads; w++) pthread_join(workers[w].thread, NULL);
    struct sl_core *core = sl_core_running();
    printf(
        "%llu wrong marks, %llu broken movements, peak %llu of %s, %llu plans, %llu mispredictions, %llu MiB "
        "in, %llu discarded\n",
        (unsigned long long)wrong, (unsigned long long)books->wrong,
        (unsigned long long)books->peak_resident_bytes, BUDGET, (unsigned long long)core->stats.plans,
        (unsigned long long)core->stats.total.mispredictions, (unsigned long long)(books->bytes_in / SL_MIB),
        (unsigned long long)(books->bytes_discarded / SL_MIB));
    bool good = !wrong && !books->wrong && books->peak_resident_bytes <= 24 * SL_MIB;
    sl_runtime_stop(false);
    free(workers);
    return good ? 0 : 1;
}
