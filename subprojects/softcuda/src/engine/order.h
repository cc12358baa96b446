/* Atomics whose effect depends on the order of blocks. Blocks run concurrently, but these atomics take effect
 * as if the blocks had run one after the other.
 *
 * The *turn* is at the lowest block that has not finished; that block runs freely. Any other block runs
 * *ahead*: its atomics without result go to its *log*. Before an instruction whose outcome depends on earlier
 * blocks or on its own log, a block that runs ahead waits for its turn. The log is applied when the block's
 * turn comes. If the block has finished by then, the worker that ends the previous turn applies it.
 *
 * So a launch with one worker, whose only running block always has the turn, and one with many give the same
 * bits.
 */
#ifndef SOFTCUDA_ENGINE_ORDER_H
#define SOFTCUDA_ENGINE_ORDER_H

#include <pthread.h>

#include "group.h"
#include "vec.h"

/* Effect of an instruction of such a kernel, in sc_access.turn */
enum sc_turn {
    SC_TURN_FREE,  /* does not depend on the order of blocks */
    SC_TURN_LOG,   /* an atomic without result */
    SC_TURN_CHECK, /* depends on earlier entries of the block's own log for the same bytes */
    SC_TURN_WAIT,  /* depends on atomics of earlier blocks */
};

struct sc_log_entry {
    uint64_t address, value;
    const struct sc_op *op;
};

struct sc_log {
    sc_vec(struct sc_log_entry) entries;
    uint64_t low, high; /* all entries lie in [low, high) */
};

#define SC_AHEAD_MAX 8u /* maximum number of finished blocks whose logs are not applied yet */

/* The order of one launch */
struct sc_order {
    pthread_mutex_t lock; /* guards all members except the atomic ones */
    pthread_cond_t moved;
    uint64_t turn;  /* atomic */
    uint64_t limit; /* atomic: a block that faulted; later blocks give up */
    struct {
        bool finished;
        struct sc_log log;
    } ahead[SC_AHEAD_MAX]; /* by block % SC_AHEAD_MAX */
};

void sc_order_init(struct sc_order *order);
void sc_order_free(struct sc_order *order);

struct sc_worker;

/* Called when a worker begins and ends a block. sc_order_end waits while too many logs are pending; false: an
 * earlier block faulted. */
void sc_order_begin(struct sc_worker *worker, struct sc_order *order, uint64_t block);
bool sc_order_end(struct sc_worker *worker);

/* Call before an instruction with sc_access.turn in a block that runs ahead; use_mask selects the lanes.
 * false: an earlier block faulted, which ends this one; worker->given_up is then set. */
bool sc_order_before(struct sc_group *group, const struct sc_op *op);

/* Appends to the log of a block that runs ahead. false: as above. If the block's turn has come meanwhile,
 * nothing is appended: see sc_worker.ahead. */
bool sc_order_log(struct sc_worker *worker, const struct sc_op *op, uint64_t address, uint64_t value);

/* A block faulted: later ones give up. */
void sc_order_stop(struct sc_order *order, uint64_t block);

#endif
