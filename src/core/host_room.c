#include "core/host_room.h"

#include "core/core.h"
#include "core/device_room.h"
#include "core/host_pages.h"

/* The host memory that allocations may still get. */
static uint64_t host_room(struct sl_host_share *share)
{
    uint64_t room = sl_host_share_unclaimed(share);
    for (uint32_t c = 0; c < sl_cores_started(); c++) {
        struct sl_core *core = sl_core_numbered(c);
        if (!core) continue;
        sl_lock(&core->order);
        room += sl_host_part_unused(&core->host);
        sl_unlock(&core->order);
    }
    return room;
}

bool sl_runtime_memory_info(uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct sl_core *core = sl_core_running();
    if (!core || core->policy->memory == SL_MEMORY_NOTED) return false;
    uint64_t room = host_room(core->host.share);
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
    struct sl_core *core = sl_core_running();
    if (!core || core->policy->memory == SL_MEMORY_NOTED) return true;
    struct sl_host_share *share = core->host.share;
    return sl_host_share_take_pinnable(share, bytes) ||
           (sl_host_room_collect(NULL) && sl_host_share_take_pinnable(share, bytes));
}

bool sl_runtime_take_registrable(uint64_t address, uint64_t bytes)
{
    return !sl_runtime_running() || sl_runtime_take_pinnable(sl_host_pages_missing(address, bytes));
}

bool sl_host_room_collect(const struct sl_core *core)
{
    bool any = false;
    for (uint32_t c = 0; c < sl_cores_started(); c++) {
        struct sl_core *other = sl_core_numbered(c);
        if (!other || other == core) continue;
        sl_lock(&other->order);
        any |= sl_host_part_trim(&other->host);
        sl_unlock(&other->order);
    }
    return any;
}

uint32_t sl_host_room_link_sharers(const struct sl_core *core)
{
    uint64_t link = core->host.link;
    uint32_t devices = 1 + sl_host_share_others_on_link(core->host.share, link);
    for (uint32_t c = 0; c < sl_cores_started() && link; c++)
        devices += sl_core_started(c) != core && sl_core_started(c)->host.link == link;
    return devices;
}
