#include "order.h"

#include "chunk.h"
#include "ops.h"
#include "pool.h"
#include "worker.h"

#include <string.h>

#define LOG_MAX (1u << 18) /* entries: above this, a block waits for its turn */

void sc_order_init(struct sc_order *order)
{
    memset(order, 0, sizeof *order);
    order->limit = UINT64_MAX;
    pthread_mutex_init(&order->lock, NULL);
    pthread_cond_init(&order->moved, NULL);
}

void sc_order_free(struct sc_order *order)
{
    for (unsigned i = 0; i < SC_AHEAD_MAX; i++) sc_vec_free(&order->ahead[i].log.entries);
    pthread_cond_destroy(&order->moved);
    pthread_mutex_destroy(&order->lock);
}

static void clear(struct sc_log *log)
{
    log->entries.count = 0;
    log->low = UINT64_MAX;
    log->high = 0;
}

static void apply(struct sc_log *log)
{
    for (uint32_t i = 0; i < log->entries.count; i++) {
        const struct sc_log_entry *entry = &log->entries.at[i];
        sc_atomic_update(&entry->op->access, (void *)(uintptr_t)entry->address, entry->value);
    }
    clear(log);
}

void sc_order_begin(struct sc_worker *worker, struct sc_order *order, uint64_t block)
{
    worker->order = order;
    worker->block_index = block;
    worker->ahead = __atomic_load_n(&order->turn, __ATOMIC_ACQUIRE) != block;
    worker->began = worker->waited = worker->instructions;
    worker->in_the_way = false;
    clear(&worker->log);
}

/* Waits until the turn is at `lowest` or above; false: an earlier block faulted. */
static bool wait_for(struct sc_order *order, uint64_t lowest, uint64_t block)
{
    uint32_t spins = 0;
    bool given_up = false;
    while (__atomic_load_n(&order->turn, __ATOMIC_ACQUIRE) < lowest) {
        if (__atomic_load_n(&order->limit, __ATOMIC_RELAXED) < block) return false;
        if (sc_pool_spin(&spins)) continue;
        pthread_mutex_lock(&order->lock);
        while (order->turn < lowest && !given_up) {
            given_up = order->limit < block;
            if (!given_up) pthread_cond_wait(&order->moved, &order->lock);
        }
        pthread_mutex_unlock(&order->lock);
    }
    return true;
}

static bool take_turn(struct sc_worker *worker)
{
    if (!wait_for(worker->order, worker->block_index, worker->block_index)) {
        worker->given_up = true;
        return false;
    }
    worker->ahead = false;
    worker->in_the_way = true;
    worker->waited = worker->instructions;
    for (uint32_t g = 0; g < worker->group_count; g++)
        worker->groups[g].slow_flags &= (uint8_t)~SC_FLAG_ORDERED;
    apply(&worker->log);
    return true;
}

/* Ends the turn, and the turns of the finished blocks that follow it. pre: the lock is held. */
static void pass_on(struct sc_order *order)
{
    uint64_t turn = order->turn + 1;
    for (; order->ahead[turn % SC_AHEAD_MAX].finished; turn++) {
        apply(&order->ahead[turn % SC_AHEAD_MAX].log);
        order->ahead[turn % SC_AHEAD_MAX].finished = false;
    }
    __atomic_store_n(&order->turn, turn, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&order->moved);
}

/* Decides whether running ahead was useful: a block that waits early, or logs much, only adds work for the
 * others. */
static void judge(struct sc_worker *worker)
{
    uint64_t all = worker->instructions - worker->began, before = worker->waited - worker->began;
    if (worker->ahead)
        worker->in_the_way = (uint64_t)worker->log.entries.count * 64 > all;
    else
        worker->in_the_way = worker->in_the_way && before * 4 < all;
}

bool sc_order_end(struct sc_worker *worker)
{
    struct sc_order *order = worker->order;
    uint64_t block = worker->block_index;
    judge(worker);
    if (worker->ahead && block >= SC_AHEAD_MAX && !wait_for(order, block - SC_AHEAD_MAX + 1, block)) {
        worker->given_up = true;
        return false;
    }
    pthread_mutex_lock(&order->lock);
    if (order->turn == block) {
        apply(&worker->log);
        pass_on(order);
    } else {
        struct sc_log swap = order->ahead[block % SC_AHEAD_MAX].log;
        order->ahead[block % SC_AHEAD_MAX].log = worker->log;
        order->ahead[block % SC_AHEAD_MAX].finished = true;
        worker->log = swap;
    }
    pthread_mutex_unlock(&order->lock);
    return true;
}

void sc_order_stop(struct sc_order *order, uint64_t block)
{
    pthread_mutex_lock(&order->lock);
    if (block < order->limit) __atomic_store_n(&order->limit, block, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&order->moved);
    pthread_mutex_unlock(&order->lock);
}

/* Whether the log may have an entry for bytes that the lanes access; false is always right. */
static bool in_log(const struct sc_group *group, const struct sc_op *op)
{
    const struct sc_log *log = &group->worker->log;
    if (!log->entries.count) return false;
    const bool uniform = op->flags & SC_FLAG_UNIFORM || !op->stride_a;
    const sc_lane64 *lane = (const sc_lane64 *)(const void *)(group->file + op->a);
    uint64_t offset = (uint64_t)op->immediate, bytes = (uint64_t)op->access.element_bytes * op->access.count;
    uint32_t first = group->first_chunk * SC_CHUNK, end = first + group->chunks * SC_CHUNK;
    for (uint32_t i = uniform ? 0 : first; i < (uniform ? 1 : end); i++) {
        uint64_t address = lane[i] + offset;
        if ((uniform || group->use_mask[i]) && address < log->high && address + bytes > log->low) return true;
    }
    return false;
}

bool sc_order_before(struct sc_group *group, const struct sc_op *op)
{
    switch (op->access.turn) {
    case SC_TURN_WAIT:
        return take_turn(group->worker);
    case SC_TURN_CHECK:
        return !in_log(group, op) || take_turn(group->worker);
    default:
        return true;
    }
}

bool sc_order_log(struct sc_worker *worker, const struct sc_op *op, uint64_t address, uint64_t value)
{
    struct sc_log *log = &worker->log;
    if (log->entries.count >= LOG_MAX ||
        !sc_vec_push(&log->entries, (struct sc_log_entry){address, value, op}))
        return take_turn(worker);
    if (address < log->low) log->low = address;
    if (address + 8 > log->high) log->high = address + 8;
    return true;
}
