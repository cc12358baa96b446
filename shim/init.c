/* Initialisation when the library is loaded: reads the options and registers for fork. CUDA, files and
 * threads are initialised when a program needs them.
 */
#include "init.h"

#include <pthread.h>

#include "captured_memory.h"
#include "charge.h"
#include "core/runtime.h"
#include "device/backend_cuda.h"
#include "driver.h"
#include "environment.h"
#include "graph_memory.h"
#include "graphs.h"
#include "lookup.h"
#include "mapping.h"
#include "marks.h"
#include "physical.h"
#include "pools.h"
#include "recording/recording.h"
#include "session.h"

void sl_after_fork(void)
{
    sl_driver_after_fork();
    sl_session_after_fork();
    sl_charge_after_fork();
    sl_physical_after_fork();
    sl_mappings_after_fork();
    sl_pools_after_fork();
    sl_graphs_after_fork();
    sl_graph_memory_after_fork();
    sl_captured_after_fork();
    sl_handles_after_fork();
    sl_runtime_after_fork();
    sl_recording_after_fork();
}

__attribute__((constructor)) static void load(void)
{
    sl_bind_lookup();
    sl_runtime_load();
    sl_nvtx_offer();
    sl_environment_ask_frameworks();
    pthread_atfork(NULL, NULL, sl_after_fork);
}
