#include "core/host_room.h"

#include "core/core.h"
#include "core/device_room.h"
#include "core/host_pages.h"

/* The host memory that allocations may still get. What a core borrowed and does not use, another may have. */
static uint64_t host_room(void)
{
    struct sl_core *first = sl_core_started(0);
    sl_lock(&first->order);
    sl_host_share_look_again(&first->host);
    uint64_t room = sl_host_share_room(&first->host);
    sl_unlock(&first->order);
    for (uint32_t c = 1; c < sl_cores_started(); c++) {
        struct sl_core *other = sl_core_numbered(c);
        if (!other) continue;
        sl_lock(&other->order);
        room += sl_host_share_room(&other->host);
        sl_unlock(&other->order);
    }
    return room;
}

bool sl_runtime_memory_info(uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct sl_core *core = sl_core_running();
    if (!core || core->policy->memory == SL_MEMORY_NOTED) return false;
    uint64_t room = host_room();
    sl_lock(&core->order);
    int64_t charged = atomic_load_explicit(&core->budget.charged_bytes, memory_order_relaxed);
    uint64_t total = core->budget.virtual_size_bytes, used = core->arena.virtual_bytes_used +
                                                             core->placement.promised_bytes +
                                                             (charged > 0 ? (uint64_t)charged : 0);
    uint64_t device = sl_device_room_most(core);
    sl_unlock(&core->order);
    uint64_t most = room > UINT64_MAX - device ? UINT64_MAX : room + device;
    *total_bytes = total;
    *free_bytes = total > used ? total - used : 0;
    if (*free_bytes > most) *free_bytes = most;
    return true;
}

bool sl_runtime_take_pinnable(uint64_t bytes)
{
    struct sl_core *core = sl_core_running(), *first = core ? sl_core_started(0) : NULL;
    if (!core || core->policy->memory == SL_MEMORY_NOTED) return true;
    sl_lock(&first->order);
    bool may = sl_host_share_take_pinnable(&first->host, bytes);
    sl_unlock(&first->order);
    return may;
}

bool sl_runtime_take_registrable(uint64_t address, uint64_t bytes)
{
    return !sl_runtime_running() || sl_runtime_take_pinnable(sl_host_pages_missing(address, bytes));
}
