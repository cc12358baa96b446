#include "core/room.h"

#include <sys/mman.h>

#include "base/forked.h"
#include "core/core.h"

#define SAMPLES 2048 /* of an arena, at most about twice as many */

static __thread uint64_t charged_bytes __attribute__((tls_model("initial-exec")));

/* Allocations, promises and what is charged. Caller holds the order lock. */
static uint64_t used_bytes(const struct sl_core *core)
{
    int64_t charged = atomic_load_explicit(&core->budget.charged_bytes, memory_order_relaxed);
    return core->arena.virtual_bytes_used + core->placement.promised_bytes +
           (charged > 0 ? (uint64_t)charged : 0);
}

/* The most that sl_device_room_make would make room for now. Caller holds the order lock. */
static uint64_t device_room(const struct sl_core *core)
{
    uint64_t half = core->budget.bytes / 2, kept = half > SL_LEAST_BUDGET ? half : SL_LEAST_BUDGET;
    uint64_t left = sl_budget_bytes(&core->budget);
    if (core->policy->memory != SL_MEMORY_MOVED || atomic_load(&core->streams.captures)) return 0;
    uint64_t room = left > kept ? left - kept : 0, host = sl_host_share_device_room(core->host.share);
    return room < host ? room : host;
}

/* The host memory that allocations may still get. */
static uint64_t host_room(struct sl_host_share *share)
{
    uint64_t room = sl_host_share_unclaimed(share);
    for (struct sl_core *core = NULL; (core = sl_core_after(core));) {
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
    uint64_t total = core->budget.virtual_size_bytes, used = used_bytes(core), device = device_room(core);
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
    for (struct sl_core *other = NULL; (other = sl_core_after(other));) {
        if (other == core) continue;
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

/* --- pages */

static bool was_evicted(const struct sl_chunk_record *chunk, uint64_t done)
{
    uint64_t out = atomic_load_explicit(&chunk->out_sequence, memory_order_relaxed);
    return out && out <= done && out != atomic_load_explicit(&chunk->discard_sequence, memory_order_relaxed);
}

/* A block has host pages if its chunk was evicted, since the driver keeps the pages of evicted memory, or if
 * it is mapped. */
void sl_host_pages_add(const struct sl_arena *arena, uint64_t done, struct sl_host_pages *pages)
{
    uint64_t used = sl_arena_touched_bytes(arena), step = 1 + used / SL_BLOCK_BYTES / SAMPLES, found = 0;
    size_t count = sl_arena_chunk_count(arena);
    for (size_t c = sl_arena_skip_unused(arena, 0, count); c < count;
         c = sl_arena_skip_unused(arena, c + 1, count)) {
        const struct sl_chunk_record *chunk = sl_arena_record(arena, (sl_chunk)c);
        uint64_t first = chunk->address / SL_BLOCK_BYTES, end = first + arena->chunk_bytes / SL_BLOCK_BYTES;
        bool evicted = was_evicted(chunk, done);
        if (chunk->pinned) continue;
        for (uint64_t block = (first + step - 1) / step * step; block < end; block += step) {
            unsigned char is_mapped = 0;
            bool asked = !evicted && !mincore((void *)(block * SL_BLOCK_BYTES), SL_PAGE_BYTES, &is_mapped),
                 mapped = asked && is_mapped & 1;
            found += evicted || mapped;
            pages->of_device |= mapped && sl_chunk_is_resident(chunk);
        }
    }
    uint64_t bytes = found * step * SL_BLOCK_BYTES;
    pages->bytes += (bytes < used ? bytes : used) + arena->pinned_bytes;
}

uint64_t sl_host_pages_missing(uint64_t address, uint64_t bytes)
{
    uint64_t first = address & ~(uint64_t)(SL_PAGE_BYTES - 1),
             pages = (address + bytes - first) / SL_PAGE_BYTES + 1;
    uint64_t step = 1 + pages / SAMPLES, missing = 0;
    if (!bytes || address + bytes < address) return 0;
    for (uint64_t page = 0; page < pages; page += step) {
        unsigned char mapped = 1; /* what is no memory needs none */
        mincore((void *)(first + page * SL_PAGE_BYTES), SL_PAGE_BYTES, &mapped);
        missing += !(mapped & 1);
    }
    uint64_t missing_bytes = missing * step * SL_PAGE_BYTES;
    return missing_bytes < bytes ? missing_bytes : bytes;
}

struct sl_host_pages sl_host_pages(void)
{
    struct sl_host_pages pages = {0};
    for (const struct sl_core *core = NULL; (core = sl_core_after(core));)
        sl_host_pages_add(&core->arena, atomic_load(&core->migrator.out.done), &pages);
    return pages;
}

/* --- device memory past the core */

static bool is_room(const struct sl_core *core, uint64_t bytes)
{
    uint64_t given = core->options->virtual_size;
    uint64_t used = used_bytes(core);
    if (given && (used > given || bytes > given - used)) return false;
    return bytes <= device_room(core);
}

/* Evicts chunks until the budget holds the others, and waits until they have left. */
static void make_way(struct sl_core *core)
{
    sl_core_give_way(core);
    sl_migrator_wait_host(&core->migrator, &core->migrator.out, atomic_load(&core->migrator.out.given));
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
    make_way(core);
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
    make_way(core);
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
