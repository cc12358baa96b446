#include "core/mapped.h"

#include "base/test_delay.h"
#include "core/core.h"
#include "core/host_lending.h"
#include "core/slot_life.h"
#include "move/reuse.h"

static struct sl_core *if_it_gives(struct sl_core *core)
{
    return core && !core->placement.noted ? core : NULL;
}

enum sl_status sl_runtime_reserve(uint64_t bytes, uint64_t *address)
{
    struct sl_core *core = if_it_gives(sl_core_running());
    if (!core) return SL_ERR_UNSUPPORTED;
    sl_lock(&core->order);
    enum sl_status status = sl_arena_reserve(&core->arena, bytes, address);
    sl_unlock(&core->order);
    return status == SL_OK || status == SL_ERR_NO_MEMORY ? status : SL_ERR_UNSUPPORTED;
}

void sl_runtime_unreserve(uint64_t address, uint64_t bytes)
{
    struct sl_core *core = if_it_gives(sl_core_of(address));
    if (!core) return;
    sl_lock(&core->order);
    sl_arena_unreserve(&core->arena, address, bytes);
    sl_unlock(&core->order);
}

static enum sl_status promise(struct sl_core *core, uint64_t bytes)
{
    sl_lock(&core->order);
    sl_host_share_prepare(&core->host, bytes);
    enum sl_status status = sl_placement_promise(&core->placement, bytes);
    if (status == SL_ERR_NO_MEMORY && sl_host_share_more(&core->host, bytes))
        status = sl_placement_promise(&core->placement, bytes);
    sl_host_share_changed(&core->host);
    sl_unlock(&core->order);
    return status;
}

enum sl_status sl_runtime_promise(uint64_t bytes)
{
    struct sl_core *core = if_it_gives(sl_core_running());
    if (!core) return SL_ERR_UNSUPPORTED;
    enum sl_status status = promise(core, bytes);
    if (status == SL_ERR_NO_MEMORY && sl_host_lending_more(core, bytes)) status = promise(core, bytes);
    return status;
}

void sl_runtime_unpromise(uint64_t bytes)
{
    struct sl_core *core = if_it_gives(sl_core_running());
    if (!core) return;
    sl_lock(&core->order);
    sl_placement_unpromise(&core->placement, bytes);
    sl_host_share_changed(&core->host);
    sl_unlock(&core->order);
}

enum sl_status sl_runtime_map(uint64_t address, uint64_t bytes, uint64_t promised_bytes, uint64_t site,
                              uint32_t tag)
{
    struct sl_core *core = if_it_gives(sl_core_of(address));
    uint32_t slot;
    if (!core) return SL_ERR_UNSUPPORTED;
    SL_TEST_DELAY(ALLOC);
    sl_lock(&core->order);
    sl_slot_lives_forget(core);
    enum sl_status status = sl_place_at(&core->placement, address, bytes, site, &slot);
    if (status == SL_OK) {
        sl_placement_unpromise(&core->placement, promised_bytes);
        sl_slot_life_begin(core, slot, tag);
        core->placement.slots[slot].mapped_at = core->ticks.now + 1;
        core->scanner.extents.version++; /* extents change: a tensor may continue into it */
        sl_reuse_by_all(&core->reuse, &core->placement.slots[slot]);
    }
    sl_host_share_changed(&core->host);
    sl_unlock(&core->order);
    SL_TEST_DELAY(ALLOCATED);
    return status;
}
