#include "pool.h"

#include <immintrin.h>
#include <signal.h>
#include <stddef.h>

static struct {
    pthread_mutex_t lock; /* guards everything */
    pthread_cond_t wake;
    struct sc_offer *offers;
    uint32_t threads, asleep;
    uint32_t offered; /* atomic: changes with every offer */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

#define SPINS                                                                                                \
    400u /* about 20 us: slightly longer than the usual time between two launches, or ends of blocks */

bool sc_pool_spin(uint32_t *spins)
{
    _mm_pause();
    return ++*spins < SPINS;
}

/* Executes one piece of an offer. The lock is held before and after, and released meanwhile. */
static void do_piece(struct sc_offer *offer)
{
    uint32_t index = offer->taken++;
    __atomic_add_fetch(&offer->running, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&pool.lock);
    offer->work(offer->context, index);
    pthread_mutex_lock(&pool.lock);
    if (__atomic_sub_fetch(&offer->running, 1, __ATOMIC_RELEASE) == 0) pthread_cond_signal(&offer->finished);
}

static struct sc_offer *open_offer(void)
{
    struct sc_offer *offer = pool.offers;
    while (offer && offer->taken == offer->count) offer = offer->next;
    return offer;
}

/* Spins before it sleeps: kernels often follow each other closely, and waking a thread takes long. */
static void wait_for_offer(void)
{
    uint32_t seen = pool.offered, spins = 0;
    pthread_mutex_unlock(&pool.lock);
    while (__atomic_load_n(&pool.offered, __ATOMIC_RELAXED) == seen && sc_pool_spin(&spins)) continue;
    pthread_mutex_lock(&pool.lock);
    if (pool.offered != seen) return;
    pool.asleep++;
    pthread_cond_wait(&pool.wake, &pool.lock);
    pool.asleep--;
}

static void *helper(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        struct sc_offer *offer = open_offer();
        if (offer)
            do_piece(offer);
        else
            wait_for_offer();
    }
    return NULL;
}

/* Helpers block all signals: the program's signals are for its own threads. */
static bool start_helper(void)
{
    sigset_t all, old;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool ok = pthread_create(&thread, NULL, helper, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (ok) pthread_detach(thread);
    return ok;
}

/* In a forked child the helpers do not exist, and one of them may have held the lock. */
static void forget_threads(void)
{
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pool.offers = NULL;
    pool.threads = pool.asleep = 0;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_threads);
}

static void enqueue(struct sc_offer *offer, uint32_t helpers)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_cond_init(&offer->finished, NULL);
    pthread_mutex_lock(&pool.lock);
    while (pool.threads < helpers && pool.threads < SC_POOL_MAX && start_helper()) pool.threads++;
    struct sc_offer **end = &pool.offers;
    while (*end) end = &(*end)->next;
    *end = offer;
    __atomic_add_fetch(&pool.offered, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < helpers && i < pool.asleep; i++) pthread_cond_signal(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
}

void sc_pool_offer(struct sc_offer *offer, uint32_t count, void (*work)(void *context, uint32_t index),
                   void *context)
{
    *offer = (struct sc_offer){.work = work, .context = context, .count = count};
    enqueue(offer, count);
}

void sc_pool_withdraw(struct sc_offer *offer)
{
    uint32_t spins = 0;
    struct sc_offer **end = &pool.offers;
    pthread_mutex_lock(&pool.lock);
    while (*end != offer) end = &(*end)->next;
    *end = offer->next;
    pthread_mutex_unlock(&pool.lock);
    while (__atomic_load_n(&offer->running, __ATOMIC_ACQUIRE) && sc_pool_spin(&spins)) continue;
    pthread_mutex_lock(&pool.lock);
    while (offer->running) pthread_cond_wait(&offer->finished, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    pthread_cond_destroy(&offer->finished);
}

void sc_pool_run(uint32_t count, void (*work)(void *context, uint32_t index), void *context)
{
    struct sc_offer offer = {.work = work, .context = context, .count = count};
    if (count <= 1) {
        if (count) work(context, 0);
        return;
    }
    enqueue(&offer, count - 1);
    pthread_mutex_lock(&pool.lock);
    while (offer.taken < offer.count) do_piece(&offer);
    pthread_mutex_unlock(&pool.lock);
    sc_pool_withdraw(&offer);
}
