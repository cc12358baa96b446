/* The locks of the core, in the order in which they are taken, and what is allowed while they are held.
 * docs/concurrency.md says what each guards, and the rules 1 to 6 for them. Builds with all checks (check.h)
 * verify this at run time and end the process on a violation; in all others a lock is a plain mutex.
 *
 * After NVIDIA's uvm_lock.h (open kernel modules): one list of all locks, checked whenever one is taken.
 */
#ifndef SLUICE_LOCKS_H
#define SLUICE_LOCKS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/check.h"

/* Columns: rank, name, and whether work may be enqueued, and memory moved, while the lock is held. Enqueueing
 * on a stream whose queue is full blocks the caller for an unbounded time; moving memory, for as long as the
 * driver takes to move it (docs/driver-model.md). */
#define SL_LOCKS(X)                                                                                          \
    X(ORDER, "order", false, false)                                                                          \
    X(OUT, "out", true, true)                                                                                \
    X(IN, "in", true, true)                                                                                  \
    X(TIMES, "times", true, false)                                                                           \
    X(MOVERS, "movers", false, false)                                                                        \
    X(LANDING, "landing", false, false)                                                                      \
    X(FENCES, "fences", false, false)                                                                        \
    X(FREES, "frees", false, false)                                                                          \
    X(BEHIND, "behind", false, false)                                                                        \
    X(CLOCK, "clock", false, false)

enum sl_lock_rank {
#define SL_RANK(rank, name, enqueues, moves) SL_LOCK_##rank,
    SL_LOCKS(SL_RANK)
#undef SL_RANK
        SL_LOCK_COUNT
};

struct sl_lock {
    pthread_mutex_t mutex;
    enum sl_lock_rank rank;
};

#define SL_LOCK_INITIALIZER(rank)                                                                            \
    {                                                                                                        \
        PTHREAD_MUTEX_INITIALIZER, (rank)                                                                    \
    }

#if SLUICE_CHECK_LEVEL >= SL_CHECKS_ALL
/* `waits`: the caller blocks while another thread holds the lock. */
void sl_check_lock(const struct sl_lock *lock, bool waits);
void sl_check_locked(const struct sl_lock *lock);
void sl_check_unlock(const struct sl_lock *lock);
/* Must be called before work is enqueued, or memory moved, which enqueues as well. */
void sl_check_may_enqueue(void);
void sl_check_may_move(void);
#else
#define sl_check_lock(lock, waits) ((void)0)
#define sl_check_locked(lock) ((void)0)
#define sl_check_unlock(lock) ((void)0)
#define sl_check_may_enqueue() ((void)0)
#define sl_check_may_move() ((void)0)
#endif

/* False: out of memory. `spins`: the lock is held for less time than a sleep takes. */
bool sl_lock_init(struct sl_lock *lock, enum sl_lock_rank rank, bool spins);

static inline void sl_lock(struct sl_lock *lock)
{
    sl_check_lock(lock, true);
    pthread_mutex_lock(&lock->mutex);
    sl_check_locked(lock);
}

static inline bool sl_try_lock(struct sl_lock *lock)
{
    sl_check_lock(lock, false);
    bool taken = pthread_mutex_trylock(&lock->mutex) == 0;
    if (taken) sl_check_locked(lock);
    return taken;
}

static inline void sl_unlock(struct sl_lock *lock)
{
    sl_check_unlock(lock);
    pthread_mutex_unlock(&lock->mutex);
}

#endif
