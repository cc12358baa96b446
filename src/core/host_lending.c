#include "core/host_lending.h"

#include "core/core.h"

/* borrowed beyond the need, so that not every allocation borrows */
#define AHEAD_BYTES (128 * SL_MIB)

/* Enough for `bytes` in whole blocks and chunks, wherever they are placed. */
static uint64_t least(const struct sl_core *core, uint64_t bytes)
{
    uint64_t unit = core->arena.chunk_bytes;
    return bytes > UINT64_MAX - 2 * unit ? UINT64_MAX : (bytes + unit - 1) / unit * unit + unit;
}

static bool borrow(struct sl_core *core, uint64_t bytes)
{
    struct sl_core *first = sl_core_started(0);
    sl_lock(&first->order);
    bool lent = sl_host_share_lend(&first->host, bytes);
    sl_unlock(&first->order);
    if (!lent) return false;
    sl_lock(&core->order);
    sl_host_share_borrowed(&core->host, bytes);
    sl_unlock(&core->order);
    return true;
}

/* Returns what other cores borrowed and do not use to the first core. False: nothing. */
static bool collect(const struct sl_core *core)
{
    struct sl_core *first = sl_core_started(0);
    uint64_t bytes = 0;
    for (uint32_t c = 1; c < sl_cores_started(); c++) {
        struct sl_core *other = sl_core_numbered(c);
        if (!other || other == core) continue;
        sl_lock(&other->order);
        bytes += sl_host_share_spare(&other->host);
        sl_unlock(&other->order);
    }
    if (!bytes) return false;
    sl_lock(&first->order);
    sl_host_share_take_back(&first->host, bytes);
    sl_unlock(&first->order);
    return true;
}

static bool borrow_some(struct sl_core *core, uint64_t bytes)
{
    uint64_t needed = least(core, bytes);
    return (needed < UINT64_MAX - AHEAD_BYTES && borrow(core, needed + AHEAD_BYTES)) || borrow(core, needed);
}

bool sl_host_lending_more(struct sl_core *core, uint64_t bytes)
{
    if (!sl_cores_are_several() || core->placement.noted) return false;
    if (!core->number) return collect(core);
    return borrow_some(core, bytes) || (collect(core) && borrow_some(core, bytes));
}

uint32_t sl_host_lending_link(struct sl_core *core)
{
    struct sl_host_share *registered = core->number ? &sl_core_started(0)->host : &core->host;
    uint64_t link = core->host.link;
    uint32_t devices = sl_host_share_of_link(registered, link);
    for (uint32_t c = 0; c < sl_cores_started() && link; c++)
        devices += sl_core_started(c) != core && sl_core_started(c)->host.link == link;
    return devices;
}

void sl_host_lending_end(struct sl_core *core)
{
    struct sl_core *first = sl_core_started(0);
    uint64_t borrowed = 0;
    if (core->number) {
        sl_lock(&core->order);
        borrowed = sl_host_share_returned(&core->host);
        sl_unlock(&core->order);
    }
    sl_lock(&first->order);
    if (core == first) first->host.left = true;
    sl_host_share_take_back(&first->host, borrowed);
    sl_unlock(&first->order);
}

void sl_host_lending_over(void)
{
    sl_host_share_end(&sl_core_started(0)->host);
}
