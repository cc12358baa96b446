#include "core/device_room.h"

#include "core/core.h"
#include "core/feed.h"
#include "core/sync.h"

static __thread uint64_t charged_bytes __attribute__((tls_model("initial-exec")));

uint64_t sl_device_room_most(const struct sl_core *core)
{
    uint64_t half = core->budget.bytes / 2, kept = half > SL_LEAST_BUDGET ? half : SL_LEAST_BUDGET;
    uint64_t left = sl_budget_bytes(&core->budget);
    if (core->policy->memory != SL_MEMORY_MOVED || atomic_load(&core->streams.captures)) return 0;
    uint64_t room = left > kept ? left - kept : 0, host = sl_host_share_device_room(core->host.share);
    return room < host ? room : host;
}

static bool is_room(const struct sl_core *core, uint64_t bytes)
{
    uint64_t given = core->options->virtual_size;
    int64_t charged = atomic_load(&core->budget.charged_bytes);
    uint64_t used = core->arena.virtual_bytes_used + core->placement.promised_bytes +
                    (charged > 0 ? (uint64_t)charged : 0);
    if (given && (used > given || bytes > given - used)) return false;
    return bytes <= sl_device_room_most(core);
}

bool sl_device_room_make(struct sl_core *core, uint64_t bytes)
{
    sl_lock(&core->order);
    bool room = bytes <= INT64_MAX && is_room(core, bytes);
    sl_unlock(&core->order);
    if (!room) return false;
    sl_runtime_charge((int64_t)bytes);
    charged_bytes += bytes;
    sl_runtime_finish();
    sl_core_give_way(core);
    sl_migrator_wait_host(&core->migrator, &core->migrator.out, atomic_load(&core->migrator.out.issued));
    return true;
}

uint64_t sl_device_room_use(uint64_t bytes)
{
    uint64_t used = bytes < charged_bytes ? bytes : charged_bytes;
    charged_bytes -= used;
    return used;
}

void sl_runtime_driver_gave(void)
{
    if (!__builtin_expect(charged_bytes, 0)) return;
    sl_runtime_charge(-(int64_t)charged_bytes);
    charged_bytes = 0;
}
