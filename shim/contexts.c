#include "contexts.h"

#include <pthread.h>
#include <stdatomic.h>

#include "session.h"

#define MAX_DEVICES 64

static struct {
    pthread_mutex_t lock;
    struct {
        CUcontext _Atomic context; /* NULL: a free entry */
        _Atomic bool beside;       /* known not to be managed */
        CUdevice device;           /* of such a context */
    } known[SL_MOST_CONTEXTS];
    bool uncounted;      /* there was no entry for a context */
    uint32_t generation; /* changes when a context ends */
    struct {
        CUcontext context;
        unsigned retains;
    } primary[MAX_DEVICES];
} contexts = {.lock = PTHREAD_MUTEX_INITIALIZER, .generation = 1};

/* Precondition of all functions without prefix: the lock is held. */
static void publish(void)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < SL_MOST_CONTEXTS; i++) count += contexts.known[i].context != NULL;
    bool several = count > 1 || contexts.uncounted;
    __atomic_store_n(&sl_session_view.several_contexts, several, __ATOMIC_RELAXED);
    __atomic_store_n(&sl_session_view.trusted, several ? SL_NEVER_TRUSTED : contexts.generation,
                     __ATOMIC_RELAXED);
}

void sl_contexts_publish(void)
{
    pthread_mutex_lock(&contexts.lock);
    publish();
    pthread_mutex_unlock(&contexts.lock);
}

/* The entry of the context, which it gets if it has none. SL_MOST_CONTEXTS: there is no room. */
static uint32_t entry_of(CUcontext context)
{
    uint32_t entry = SL_MOST_CONTEXTS;
    for (uint32_t i = 0; i < SL_MOST_CONTEXTS; i++) {
        if (contexts.known[i].context == context) return i;
        if (!contexts.known[i].context && entry == SL_MOST_CONTEXTS) entry = i;
    }
    if (entry < SL_MOST_CONTEXTS) {
        contexts.known[entry].beside = false;
        contexts.known[entry].context = context;
    }
    contexts.uncounted |= entry == SL_MOST_CONTEXTS;
    publish();
    return entry;
}

void sl_context_made(CUcontext context)
{
    pthread_mutex_lock(&contexts.lock);
    uint32_t entry = entry_of(context);
    if (entry < SL_MOST_CONTEXTS) contexts.known[entry].beside = false;
    pthread_mutex_unlock(&contexts.lock);
}

void sl_context_gone(CUcontext context)
{
    pthread_mutex_lock(&contexts.lock);
    for (uint32_t i = 0; i < SL_MOST_CONTEXTS; i++)
        if (contexts.known[i].context == context) contexts.known[i].context = NULL;
    contexts.generation = contexts.generation % (SL_NEVER_TRUSTED - 1) + 1;
    publish();
    pthread_mutex_unlock(&contexts.lock);
}

void sl_context_retained(CUdevice device, CUcontext context)
{
    pthread_mutex_lock(&contexts.lock);
    entry_of(context);
    if (device >= 0 && device < MAX_DEVICES) {
        contexts.primary[device].context = context;
        contexts.primary[device].retains++;
    }
    pthread_mutex_unlock(&contexts.lock);
}

CUcontext sl_context_released(CUdevice device, bool reset)
{
    CUcontext gone = NULL;
    pthread_mutex_lock(&contexts.lock);
    if (device >= 0 && device < MAX_DEVICES && contexts.primary[device].retains) {
        unsigned left = reset ? 0 : contexts.primary[device].retains - 1;
        contexts.primary[device].retains = left;
        if (!left) gone = contexts.primary[device].context;
    }
    pthread_mutex_unlock(&contexts.lock);
    return gone;
}

bool sl_context_is_primary(CUcontext context)
{
    bool is = false;
    pthread_mutex_lock(&contexts.lock);
    for (int d = 0; d < MAX_DEVICES; d++)
        is |= contexts.primary[d].retains && contexts.primary[d].context == context;
    pthread_mutex_unlock(&contexts.lock);
    return is;
}

void sl_context_is_beside(CUcontext context, CUdevice device)
{
    pthread_mutex_lock(&contexts.lock);
    uint32_t entry = entry_of(context);
    if (entry < SL_MOST_CONTEXTS) {
        contexts.known[entry].device = device;
        contexts.known[entry].beside = true;
    }
    pthread_mutex_unlock(&contexts.lock);
}

bool sl_context_known_beside(CUcontext context)
{
    for (uint32_t i = 0; i < SL_MOST_CONTEXTS; i++)
        if (contexts.known[i].context == context && contexts.known[i].beside) return true;
    return false;
}

void sl_contexts_reconsider(CUdevice device)
{
    pthread_mutex_lock(&contexts.lock);
    for (uint32_t i = 0; i < SL_MOST_CONTEXTS; i++)
        if (contexts.known[i].beside && contexts.known[i].device == device) contexts.known[i].beside = false;
    pthread_mutex_unlock(&contexts.lock);
}

void sl_contexts_after_fork(void)
{
    pthread_mutex_init(&contexts.lock, NULL);
}
