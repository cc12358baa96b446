/* Atomics whose effect depends on the order of blocks. Blocks run at the same time, but what they do with
 * such atomics happens as if they had run one after the other:
 *
 * turn     the lowest block that has not finished. It runs freely.
 * ahead    a block that is not in turn. Its atomics without result go to its log. Before anything whose
 * outcome earlier blocks may decide, or that its own log does, it waits until it is in turn. log      applied
 * when the block's turn comes; of a block that has finished already, by whoever ends the turn before.
 *
 * So a launch with one worker, whose only block is always in turn, and one with many give the same bits.
 */
#ifndef SOFTCUDA_ENGINE_ORDER_H
#define SOFTCUDA_ENGINE_ORDER_H

#include <pthread.h>

#include "group.h"
#include "vec.h"

/* What an instruction of such a kernel does, in sc_access.turn */
enum sc_turn {
    SC_TURN_FREE,  /* nothing that order shows in */
    SC_TURN_LOG,   /* an atomic without result */
    SC_TURN_CHECK, /* must see what the block's own log says of the same bytes */
    SC_TURN_WAIT,  /* must see what earlier blocks did */
};

struct sc_log_entry {
    uint64_t address, value;
    const struct sc_op *op;
};

struct sc_log {
    sc_vec(struct sc_log_entry) entries;
    uint64_t low, high; /* all entries lie in [low, high) */
};

#define SC_AHEAD_MAX 8u /* finished blocks whose logs may wait */

/* Of a launch */
struct sc_order {
    pthread_mutex_t lock; /* guards all but what is atomic */
    pthread_cond_t moved;
    uint64_t turn;  /* atomic */
    uint64_t limit; /* atomic: blocks above it give up, as this one faulted */
    struct {
        bool finished;
        struct sc_log log;
    } ahead[SC_AHEAD_MAX]; /* by block % SC_AHEAD_MAX */
};

void sc_order_init(struct sc_order *order);
void sc_order_free(struct sc_order *order);

struct sc_worker;

/* A worker begins and ends a block. The end waits while too many logs do; false when an earlier block
 * faulted. */
void sc_order_begin(struct sc_worker *worker, struct sc_order *order, uint64_t block);
bool sc_order_end(struct sc_worker *worker);

/* Before an instruction with sc_access.turn, of a block that runs ahead; use_mask says which lanes are meant.
 * False when an earlier block faulted, which ends this one: worker->given_up is then set. */
bool sc_order_before(struct sc_group *group, const struct sc_op *op);

/* Appends to the log of a block that runs ahead. False as above. When the block's turn has come instead,
 * nothing is appended: see sc_worker.ahead. */
bool sc_order_log(struct sc_worker *worker, const struct sc_op *op, uint64_t address, uint64_t value);

/* A block faulted: later ones give up. */
void sc_order_stop(struct sc_order *order, uint64_t block);

#endif
