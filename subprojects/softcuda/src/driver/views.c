#include "views.h"

#include "log.h"

void sc_views_allocate(const struct sc_span *span)
{
    bool ok = true;
    for (int i = 0; i < sc_device_count(); i++)
        ok &= sc_managed_allocate(&sc_device_at(i)->timing.managed, span->address, span->bytes);
    if (!ok) sc_log("no memory for the blocks of a managed allocation: its times will be wrong");
}

void sc_views_free(const struct sc_span *span, uint64_t at_ns)
{
    for (int i = 0; i < sc_device_count(); i++) {
        struct sc_timing *timing = &sc_device_at(i)->timing;
        struct sc_effect effect = {0};
        sc_managed_free(&timing->managed, span->address, &effect);
        sc_timing_apply(timing, at_ns, at_ns, &effect);
    }
}

/* Whether advice concerns a device; *place is the place that the advice names, in this device's view. */
static bool concerns(const struct sc_device *device, const struct sc_span *span, enum sc_advice advice,
                     enum sc_place *place)
{
    bool itself = span->to != SC_DEVICE || span->ordinal == device->ordinal;
    *place = itself ? span->to : SC_NOWHERE;
    return itself || (advice != SC_ADVISE_ACCESSED_BY && advice != SC_ADVISE_NOT_ACCESSED_BY);
}

void sc_views_advise(const struct sc_span *span, enum sc_advice advice, uint64_t at_ns)
{
    for (int i = 0; i < sc_device_count(); i++) {
        struct sc_device *device = sc_device_at(i);
        struct sc_effect effect = {0};
        enum sc_place place;
        if (!concerns(device, span, advice, &place)) continue;
        sc_managed_advise(&device->timing.managed, span->address, span->bytes, advice, place, &effect);
        sc_timing_apply(&device->timing, at_ns, at_ns, &effect);
    }
}

/* Sets when the frames of the span's blocks that were just recalled count as free. */
static void note_home(struct sc_managed *managed, const struct sc_span *span, uint64_t home_ns)
{
    uint64_t end = span->address + span->bytes;
    for (uint64_t at = span->address; at < end; at = (at | (SC_BLOCK_BYTES - 1)) + 1) {
        struct sc_managed_block *block = sc_managed_find(managed, at);
        if (block && block->home_ns == UINT64_MAX) block->home_ns = home_ns;
    }
}

/* Recalls all blocks of the span that the peer holds. Returns when they are in host memory. */
static uint64_t bring_home(struct sc_device *device, struct sc_device *peer, const struct sc_span *span,
                           uint64_t ready_ns)
{
    struct sc_managed *managed = &peer->timing.managed;
    if (!managed->resident_bytes) return ready_ns;
    uint64_t end = span->address + span->bytes, bytes = 0;
    struct sc_effect effect = {0};
    for (uint64_t at = span->address; at < end; at = (at | (SC_BLOCK_BYTES - 1)) + 1) {
        struct sc_managed_block *held = sc_managed_find(managed, at);
        struct sc_managed_block *here = sc_managed_find(&device->timing.managed, at);
        if (!held || !here || !(held->residency & SC_ON_DEVICE)) continue;
        bytes += held->residency == SC_ON_DEVICE ? held->bytes : 0;
        sc_managed_take_home(managed, at, &effect);
        held->home_ns = UINT64_MAX;
        here->residency |= SC_ON_HOST;
    }
    uint64_t home_ns = sc_timing_bring_home(&peer->timing, ready_ns, bytes, &effect);
    note_home(managed, span, home_ns);
    return home_ns;
}

void sc_views_settle(struct sc_device *device, const struct sc_span *span, uint64_t at_ns)
{
    struct sc_timing *timing = &device->timing;
    uint64_t end = span->address + span->bytes;
    for (uint64_t at = span->address; at < end; at = (at | (SC_BLOCK_BYTES - 1)) + 1) {
        struct sc_managed_block *block = sc_managed_find(&timing->managed, at);
        if (!block || !block->home_ns) continue;
        if (block->home_ns > at_ns) {
            sc_footprint_add(&timing->footprint, at_ns, -(int64_t)block->bytes);
            sc_footprint_add(&timing->footprint, block->home_ns, block->bytes);
        }
        block->home_ns = 0;
    }
}

uint64_t sc_views_recall(struct sc_device *device, const struct sc_span *span, uint64_t ready_ns)
{
    uint64_t latest_ns = ready_ns;
    for (int i = 0; i < sc_device_count(); i++) {
        struct sc_device *peer = sc_device_at(i);
        uint64_t home_ns = peer == device ? 0 : bring_home(device, peer, span, ready_ns);
        if (home_ns > latest_ns) latest_ns = home_ns;
    }
    return latest_ns;
}

void sc_views_forget(const struct sc_device *device, const struct sc_span *span, uint64_t at_ns)
{
    for (int i = 0; i < sc_device_count(); i++) {
        struct sc_timing *timing = &sc_device_at(i)->timing;
        struct sc_effect effect = {0};
        if (i == device->ordinal) continue;
        sc_managed_discard(&timing->managed, span->address, span->bytes, &effect);
        sc_timing_apply(timing, at_ns, at_ns, &effect);
    }
}

uint64_t sc_views_host_fault(uint64_t address, uint64_t at_ns)
{
    for (int i = 0; i < sc_device_count(); i++) {
        struct sc_timing *timing = &sc_device_at(i)->timing;
        const struct sc_managed_block *block = sc_managed_find(&timing->managed, address);
        if (block && block->residency == SC_ON_DEVICE) return sc_timing_host_fault(timing, at_ns, address);
    }
    return at_ns;
}
