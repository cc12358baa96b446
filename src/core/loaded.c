#include "core/loaded.h"

#include "core/core.h"
#include "core/feed.h"

static bool look(struct sl_core *core, struct sl_loading *out)
{
    uint64_t total_bytes;
    if (core->policy->memory != SL_MEMORY_MOVED || atomic_load(&core->streams.captures)) return false;
    int64_t charged = atomic_load(&core->budget.charged_bytes);
    out->known_bytes = sl_stats_bytes(core->stats.total.bytes_in) +
                       atomic_load(&core->stats.populated_bytes) + (charged > 0 ? (uint64_t)charged : 0);
    return core->backend.memory_info(core->backend.self, &out->free_bytes, &total_bytes) == SL_OK;
}

void sl_runtime_load_begins(struct sl_loading *loading, uint64_t expected_bytes)
{
    struct sl_core *core = sl_core_running();
    *loading = (struct sl_loading){0};
    if (!core) return;
    loading->on = look(core, loading);
    uint64_t most = sl_budget_bytes(&core->budget) - SL_LEAST_BUDGET;
    if (!loading->on || !expected_bytes || expected_bytes > most) return;
    loading->expected_bytes = expected_bytes;
    sl_runtime_charge((int64_t)expected_bytes);
    sl_core_give_way(core);
    sl_migrator_wait_host(&core->migrator, &core->migrator.out, atomic_load(&core->migrator.out.issued));
}

uint64_t sl_runtime_load_ended(const struct sl_loading *loading)
{
    struct sl_core *core = sl_core_running();
    struct sl_loading now = {0};
    if (!core || !loading->on) return 0;
    sl_runtime_charge(-(int64_t)loading->expected_bytes);
    if (!look(core, &now)) return 0;
    uint64_t gone = loading->free_bytes > now.free_bytes ? loading->free_bytes - now.free_bytes : 0;
    uint64_t known = now.known_bytes > loading->known_bytes ? now.known_bytes - loading->known_bytes : 0;
    return gone > known ? gone - known : 0;
}
