#include "graph_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/grow.h"
#include "charge.h"
#include "driver.h"
#include "session.h"

/* An executable graph that allocates. */
struct need {
    CUgraphExec exec;
    uint64_t bytes;
    uint32_t core;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct need *needs;
static uint32_t count, capacity;
static _Atomic bool ever;

void sl_graph_memory_made(CUgraphExec exec, uint64_t bytes)
{
    if (!bytes) return;
    pthread_mutex_lock(&lock);
    if (sl_grow(&needs, &capacity, count, sizeof *needs))
        needs[count++] = (struct need){exec, bytes, sl_thread_core};
    pthread_mutex_unlock(&lock);
    atomic_store(&ever, true);
    sl_graph_memory_settle();
}

void sl_graph_memory_forget(CUgraphExec exec)
{
    if (!atomic_load(&ever)) return;
    pthread_mutex_lock(&lock);
    uint32_t i = 0;
    while (i < count && needs[i].exec != exec) i++;
    if (i < count) needs[i] = needs[--count];
    pthread_mutex_unlock(&lock);
}

/* The largest need of a graph of the thread's device. */
static uint64_t largest(void)
{
    uint64_t bytes = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < count; i++)
        if (needs[i].core == sl_thread_core && needs[i].bytes > bytes) bytes = needs[i].bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}

void sl_graph_memory_settle(void)
{
    cuuint64_t held = 0;
    const struct sl_cuda_driver *driver =
        atomic_load(&ever) && sl_runtime_running() ? sl_driver_functions() : NULL;
    if (!driver) return;
    if (!driver->device_get_graph_mem_attribute ||
        driver->device_get_graph_mem_attribute(sl_session_device(), CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
                                               &held) != CUDA_SUCCESS)
        held = 0;
    uint64_t bytes = largest();
    if (held > bytes) bytes = held;
    if (bytes)
        sl_charge(SL_CHARGE_GRAPHS, sl_thread_core, bytes);
    else
        sl_uncharge(SL_CHARGE_GRAPHS, sl_thread_core);
}

/* Frees nothing: another thread of the parent may have held the allocator's lock when the child was cloned.
 */
void sl_graph_memory_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    needs = NULL;
    count = capacity = 0;
}
