/* A launch: distributes blocks to workers in order, and sums up the cost.
 *
 * The calling thread starts alone. Helpers join only if the kernel is not short: waking one takes longer than
 * many kernels do. */
#include <pthread.h>
#include <string.h>

#include "kept.h"
#include "module.h"
#include "order.h"
#include "pool.h"
#include "worker.h"

struct launch {
    const struct sc_launch *wish;
    struct sc_common common;
    struct sc_worker *workers; /* the first belongs to the calling thread */
    uint32_t worker_count;
    struct sc_offer offer;
    bool offered;
    struct sc_sample *sample; /* NULL: all blocks are executed */
    bool ordered;             /* there are several workers, and results depend on the order of blocks */
    bool alone;               /* atomic: because of that order, helpers would only slow the launch down */
    struct sc_order order;
    uint64_t blocks;
    _Alignas(64) uint64_t next;     /* atomic */
    _Alignas(64) uint64_t fault_at; /* atomic: the lowest block that faulted; UINT64_MAX: none */
    pthread_mutex_t lock;           /* guards fault and no_memory */
    struct sc_fault fault;
    bool no_memory;
};

static void record_fault(struct launch *launch, const struct sc_worker *worker, uint64_t block)
{
    pthread_mutex_lock(&launch->lock);
    if (worker->fault.kind == SC_FAULT_NONE) {
        launch->no_memory = true;
        __atomic_store_n(&launch->fault_at, 0, __ATOMIC_RELEASE);
    } else if (block < launch->fault_at) {
        launch->fault = worker->fault;
        __atomic_store_n(&launch->fault_at, block, __ATOMIC_RELEASE);
    }
    uint64_t lowest = launch->fault_at;
    pthread_mutex_unlock(&launch->lock);
    if (launch->ordered) sc_order_stop(&launch->order, lowest);
}

static bool run_block(struct launch *launch, struct sc_worker *worker, uint64_t block)
{
    const uint32_t *grid = launch->wish->grid;
    uint32_t x = (uint32_t)(block % grid[0]), y = (uint32_t)(block / grid[0] % grid[1]);
    if (launch->ordered) sc_order_begin(worker, &launch->order, block);
    bool ok = sc_worker_run(worker, x, y, (uint32_t)(block / grid[0] / grid[1]));
    if (ok && launch->ordered) ok = sc_order_end(worker);
    if (!ok && !worker->given_up) record_fault(launch, worker, block);
    return ok;
}

/* Number of blocks that a worker takes at once. Taking more at once reduces contention between workers. */
static uint64_t share_of(const struct launch *launch, uint64_t next)
{
    uint64_t left = next < launch->blocks ? launch->blocks - next : 0,
             share = left / (launch->worker_count * 8);
    if (launch->ordered || launch->worker_count == 1 || share == 0) return 1;
    return share < 16 ? share : 16;
}

/* Blocks are taken in order. So when a block faults, all blocks before it have been taken, and finish before
 * the launch ends: the lowest fault does not depend on the number of workers. */
static void work(struct launch *launch, struct sc_worker *worker)
{
    for (;;) {
        uint64_t at = __atomic_load_n(&launch->next, __ATOMIC_RELAXED), share = share_of(launch, at);
        at = __atomic_fetch_add(&launch->next, share, __ATOMIC_RELAXED);
        uint64_t end = at + share < launch->blocks ? at + share : launch->blocks;
        if (at >= end) return;
        for (uint64_t block = at; block < end; block++) {
            if (launch->sample && sc_sample_has(launch->sample, block)) continue;
            if (block >= __atomic_load_n(&launch->fault_at, __ATOMIC_ACQUIRE)) return;
            if (!run_block(launch, worker, block)) return;
        }
        if (worker->in_the_way) __atomic_store_n(&launch->alone, true, __ATOMIC_RELAXED);
        if (worker != launch->workers && __atomic_load_n(&launch->alone, __ATOMIC_RELAXED)) return;
    }
}

static void help(void *context, uint32_t index)
{
    struct launch *launch = context;
    struct sc_worker *worker = &launch->workers[index + 1];
    if (__atomic_load_n(&launch->next, __ATOMIC_RELAXED) >= launch->blocks) return;
    if (sc_worker_init(worker, launch->wish, &launch->common, NULL))
        work(launch, worker);
    else
        record_fault(launch, worker, 0);
}

static void call_for_help(void *context)
{
    struct launch *launch = context;
    uint64_t next = __atomic_load_n(&launch->next, __ATOMIC_RELAXED);
    uint64_t left = next < launch->blocks ? launch->blocks - next : 0;
    uint32_t helpers = launch->worker_count - 1;
    if (!left) return;
    launch->offered = true;
    sc_pool_offer(&launch->offer, left < helpers ? (uint32_t)left : helpers, help, launch);
}

#define PATIENCE                                                                                             \
    (1u << 17) /* instructions that the calling thread executes before it calls for help: about 20 us */

/* Executes some blocks on the calling thread. Returns whether they are enough. */
static bool run_sample(struct launch *launch, struct sc_worker *worker)
{
    uint64_t block;
    worker->sample = launch->sample;
    worker->watched = true;
    while (sc_sample_next(launch->sample, worker, &block))
        if (!run_block(launch, worker, block)) return true;
    worker->sample = NULL;
    worker->watched = false;
    return sc_sample_fits(launch->sample);
}

static void run_all(struct launch *launch)
{
    struct sc_worker *worker = &launch->workers[0];
    if (!sc_worker_init(worker, launch->wish, &launch->common, NULL)) {
        launch->no_memory = true;
        return;
    }
    if (launch->sample && run_sample(launch, worker)) return;
    if (launch->worker_count > 1) {
        worker->patience = PATIENCE;
        worker->call_for_help = call_for_help;
        worker->context = launch;
    }
    work(launch, worker);
    if (launch->offered) sc_pool_withdraw(&launch->offer);
}

/* Gives each block a worker, in memory from *kept. */
static bool begin_together(struct launch *launch, struct sc_kept *kept)
{
    const uint32_t *grid = launch->wish->grid;
    size_t each = sc_worker_bytes(launch->wish);
    *kept = sc_kept_take(each * launch->worker_count);
    for (uint32_t b = 0; kept->memory && b < launch->worker_count; b++) {
        struct sc_worker *worker = &launch->workers[b];
        if (!sc_worker_init(worker, launch->wish, &launch->common, kept->memory + b * each)) return false;
        sc_worker_begin(worker, b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1]);
    }
    return kept->memory != NULL;
}

/* A cooperative launch: each block has a worker of its own, and all run in one thread, in turns and in the
 * order of blocks, so that results are deterministic. */
static void run_together(struct launch *launch)
{
    uint32_t count = launch->worker_count, left = count;
    struct sc_kept kept = {0};
    bool *over = calloc(count, sizeof *over);
    launch->no_memory = !over || !begin_together(launch, &kept);
    while (left && !launch->no_memory && launch->fault_at == UINT64_MAX)
        for (uint32_t b = 0; b < count && launch->fault_at == UINT64_MAX; b++) {
            enum sc_progress progress = over[b] ? SC_PROGRESS_WAITS : sc_worker_go_on(&launch->workers[b]);
            if (progress == SC_PROGRESS_FAULT) record_fault(launch, &launch->workers[b], b);
            if (progress == SC_PROGRESS_DONE) {
                over[b] = true;
                left--;
            }
        }
    sc_kept_give(&kept);
    free(over);
}

static bool sum_traffic(const struct launch *launch, struct sc_cost *cost)
{
    struct sc_traffic all = {0};
    bool ok = true;
    for (uint32_t w = 0; ok && w < launch->worker_count; w++) {
        const struct sc_traffic *one = &launch->workers[w].traffic;
        ok = !one->failed;
        for (uint32_t i = 0; ok && i < one->capacity; i++) {
            if (!one->slots[i].block) continue;
            struct sc_traffic_slot *slot = sc_traffic_slot(&all, one->slots[i].block - 1);
            ok = slot != NULL;
            if (!ok) break;
            slot->bytes_read += one->slots[i].bytes_read;
            slot->bytes_written += one->slots[i].bytes_written;
        }
    }
    ok = ok && sc_traffic_blocks(&all, cost);
    sc_traffic_free(&all);
    return ok;
}

static bool sum_touches(const struct launch *launch, struct sc_cost *cost)
{
    struct sc_touches *all = launch->workers[0].touches;
    if (!all) return true;
    for (uint32_t w = 1; w < launch->worker_count; w++)
        if (launch->workers[w].touches) sc_touches_merge(all, launch->workers[w].touches);
    if (!sc_touches_ranges(all, &cost->touched, &cost->touched_count)) return false;
    /* Drops ranges that are no allocation: generic addresses may have led to shared or local memory. */
    const struct sc_address_space *space = launch->wish->space;
    size_t kept = 0;
    for (size_t i = 0; i < cost->touched_count; i++) {
        struct sc_range range;
        if (space->find(space->context, cost->touched[i].begin, &range) ||
            space->find(space->context, cost->touched[i].end - 1, &range))
            cost->touched[kept++] = cost->touched[i];
    }
    cost->touched_count = kept;
    return true;
}

/* A range lies in one allocation or in adjacent ones, so the kind of its first byte holds for all of it. */
static bool sum_accesses(const struct launch *launch, struct sc_cost *cost)
{
    struct sc_accesses *all = launch->workers[0].accesses;
    if (!all) return true;
    for (uint32_t w = 1; w < launch->worker_count; w++)
        if (launch->workers[w].accesses) sc_accesses_merge(all, launch->workers[w].accesses);
    if (!sc_accesses_ranges(all, &cost->accessed, &cost->accessed_count)) return false;
    const struct sc_address_space *space = launch->wish->space;
    struct sc_range range = {0};
    size_t kept = 0;
    for (size_t i = 0; i < cost->accessed_count; i++) {
        uint64_t begin = cost->accessed[i].begin;
        bool known = begin >= range.begin && begin < range.end;
        if (known || space->find(space->context, begin, &range)) cost->accessed[kept++] = cost->accessed[i];
    }
    cost->accessed_count = kept;
    return true;
}

static uint32_t count_workers(const struct sc_launch *wish, uint64_t blocks)
{
    uint32_t workers = wish->workers ? wish->workers : 1;
    if (wish->cooperative) return (uint32_t)blocks;
    if (workers > SC_POOL_MAX) workers = SC_POOL_MAX;
    return blocks < workers ? (uint32_t)blocks : workers;
}

enum sc_engine_status sc_run(const struct sc_launch *wish, struct sc_cost *cost, struct sc_fault *fault)
{
    uint32_t bytes = wish->function->entry->signature.parameter_bytes;
    struct launch launch = {.wish = wish, .fault_at = UINT64_MAX};
    memset(cost, 0, sizeof *cost);
    launch.blocks = (uint64_t)wish->grid[0] * wish->grid[1] * wish->grid[2];
    if (!launch.blocks || !wish->block[0] || !wish->block[1] || !wish->block[2]) return SC_ENGINE_OK;
    launch.worker_count = count_workers(wish, launch.blocks);
    bool in_part = sc_sample_may(wish);
    /* Blocks that are executed in part have no order that several workers could keep. */
    if (in_part && wish->function->program->ordered) launch.worker_count = 1;
    launch.ordered = launch.worker_count > 1 && !wish->cooperative && wish->function->program->ordered;
    launch.workers = calloc(launch.worker_count, sizeof *launch.workers);
    launch.common.parameters = aligned_alloc(64, ((size_t)bytes + 64) / 64 * 64);
    bool ok = launch.workers && launch.common.parameters;
    if (ok) {
        memcpy(launch.common.parameters, wish->parameters, bytes);
        pthread_mutex_init(&launch.lock, NULL);
        if (launch.ordered) sc_order_init(&launch.order);
        if (in_part) launch.sample = sc_sample_new(wish);
        if (wish->cooperative)
            run_together(&launch);
        else
            run_all(&launch);
        if (launch.ordered) sc_order_free(&launch.order);
        pthread_mutex_destroy(&launch.lock);
        for (uint32_t w = 0; w < launch.worker_count; w++) {
            cost->instructions += launch.workers[w].instructions;
            cost->flops += launch.workers[w].flops;
            cost->bytes_read += launch.workers[w].bytes_read;
            cost->bytes_written += launch.workers[w].bytes_written;
            if (launch.workers[w].kinds) sc_profile_add(wish->profile, launch.workers[w].kinds);
        }
        cost->grid_blocks = cost->executed_blocks = launch.blocks;
        cost->product.rate = wish->function->program->rate;
        ok = sum_traffic(&launch, cost) && sum_touches(&launch, cost) && sum_accesses(&launch, cost) &&
             !launch.no_memory;
        if (ok && launch.sample && sc_sample_fits(launch.sample)) {
            cost->executed_blocks = sc_sample_count(launch.sample);
            ok = sc_sample_cost(launch.sample, cost);
            sc_sample_scrap(launch.sample);
        }
        sc_sample_free(launch.sample);
        for (uint32_t w = 0; w < launch.worker_count; w++) sc_worker_free(&launch.workers[w]);
    }
    free(launch.workers);
    free(launch.common.parameters);
    if (!ok) return SC_ENGINE_NO_MEMORY;
    if (launch.fault.kind == SC_FAULT_NONE) return SC_ENGINE_OK;
    if (fault) *fault = launch.fault;
    return SC_ENGINE_FAULT;
}

void sc_cost_free(struct sc_cost *cost)
{
    free(cost->blocks);
    cost->blocks = NULL;
    cost->block_count = 0;
    free(cost->touched);
    cost->touched = NULL;
    cost->touched_count = 0;
    free(cost->accessed);
    cost->accessed = NULL;
    cost->accessed_count = 0;
}
