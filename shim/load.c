#include "load.h"

#include "charge.h"
#include "module_bytes.h"
#include "session.h"

#define LEAST_EXPECTED_BYTES (1u << 20) /* for less, no chunk need be evicted before */

struct sl_loading sl_load_begin(const void *image)
{
    struct sl_loading loading = {0};
    if (!sl_runtime_running() || !sl_session_on_for_memory()) return loading;
    uint64_t bytes = sl_module_bytes(image);
    sl_runtime_load_begins(&loading, bytes < LEAST_EXPECTED_BYTES ? 0 : bytes);
    return loading;
}

void sl_load_end(const struct sl_loading *loading, uint64_t handle)
{
    if (!loading->on) return;
    uint64_t bytes = sl_runtime_load_ended(loading);
    if (!handle) return;
    if (bytes < loading->expected_bytes)
        bytes = loading->expected_bytes; /* the driver had to make room itself */
    if (bytes) sl_charge(SL_CHARGE_MODULE, handle, bytes + sl_uncharge(SL_CHARGE_MODULE, handle));
}
