#include "graph_memory.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "charge.h"
#include "driver.h"
#include "session.h"

static _Atomic int64_t charged_bytes; /* charged with executable graphs */
static _Atomic bool ever;

void sl_graph_memory_add(int64_t bytes)
{
    if (!bytes) return;
    atomic_store(&ever, true);
    atomic_fetch_add(&charged_bytes, bytes);
}

void sl_graph_memory_settle(void)
{
    cuuint64_t reserved;
    const struct sl_cuda_driver *driver =
        atomic_load(&ever) && sl_runtime_running() ? sl_driver_functions() : NULL;
    if (!driver || !driver->device_get_graph_mem_attribute ||
        driver->device_get_graph_mem_attribute(sl_session_device(), CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT,
                                               &reserved) != CUDA_SUCCESS)
        return;
    int64_t with_graphs = atomic_load(&charged_bytes), more = (int64_t)reserved - with_graphs;
    if (more > 0)
        sl_charge(SL_CHARGE_GRAPH_RESERVE, sl_thread_core, (uint64_t)more);
    else
        sl_uncharge(SL_CHARGE_GRAPH_RESERVE, sl_thread_core);
}

void sl_graph_memory_after_fork(void)
{
    atomic_store(&charged_bytes, 0);
}
