#include "base/locks.h"

bool sl_lock_init(struct sl_lock *lock, enum sl_lock_rank rank, bool spins)
{
    pthread_mutexattr_t attributes;
    lock->rank = rank;
    if (!spins) return pthread_mutex_init(&lock->mutex, NULL) == 0;
    if (pthread_mutexattr_init(&attributes)) return false;
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    return pthread_mutex_init(&lock->mutex, &attributes) == 0;
}

#if SLUICE_CHECK_LEVEL >= SL_CHECKS_ALL

static const struct {
    const char *name;
    bool enqueues, moves;
} kinds[] = {
#define SL_METADATA(rank, name, enqueues, moves) {name, enqueues, moves},
    SL_LOCKS(SL_METADATA)
#undef SL_METADATA
};

static __thread unsigned held __attribute__((tls_model("initial-exec"))); /* bits of ranks */

static const char *name_of(unsigned ranks)
{
    return ranks ? kinds[__builtin_ctz(ranks)].name : "none";
}

static void end(const char *what, const char *lock, unsigned ranks)
{
    sl_check_end("%s %s while %s is held", what, lock, name_of(ranks));
}

/* Rules 1 and 4 of docs/concurrency.md. A direction's lock is held while work is enqueued. Launches need the
 * order lock, so its holder must not wait for a direction's lock. */
void sl_check_lock(const struct sl_lock *lock, bool waits)
{
    unsigned later = held & ~((1u << lock->rank) - 1);
    bool direction = lock->rank == SL_LOCK_OUT || lock->rank == SL_LOCK_IN;
    if (later) end("taking", kinds[lock->rank].name, later);
    if (waits && direction && held & 1u << SL_LOCK_ORDER)
        end("waiting for", kinds[lock->rank].name, 1u << SL_LOCK_ORDER);
}

void sl_check_locked(const struct sl_lock *lock)
{
    held |= 1u << lock->rank;
}

void sl_check_unlock(const struct sl_lock *lock)
{
    if (!(held & 1u << lock->rank)) end("giving up", kinds[lock->rank].name, held);
    held &= ~(1u << lock->rank);
}

/* Rule 2 of docs/concurrency.md */
void sl_check_may_enqueue(void)
{
    for (unsigned rest = held; rest; rest &= rest - 1)
        if (!kinds[__builtin_ctz(rest)].enqueues) end("enqueueing", "work", rest);
}

void sl_check_may_move(void)
{
    for (unsigned rest = held; rest; rest &= rest - 1)
        if (!kinds[__builtin_ctz(rest)].moves) end("moving", "memory", rest);
}

#endif
