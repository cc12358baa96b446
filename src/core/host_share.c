#include "core/host_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "core/room.h"
#include "node/topology.h"

#define AHEAD_MOST (256 * SL_MIB) /* the most that is claimed ahead of need; */
#define AHEAD_PART 64             /* at most this part of the total */
#define LOOK_PART 8               /* of the room, which is claimed before another look */
#define BETWEEN_LOOKS_NS 100000000u
#define UNLIMITED (UINT64_MAX / 4) /* a step that claims all there is; no allocation has as much */

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static void read_host(const struct sl_options *options, struct sl_host_memory *out)
{
    uint64_t bytes = options->host_memory;
    sl_host_memory_read("", out);
    if (bytes)
        *out = (struct sl_host_memory){.available_bytes = bytes,
                                       .machine_bytes = bytes,
                                       .cgroup_bytes = UINT64_MAX,
                                       .cgroup_limit_bytes = UINT64_MAX};
}

/* A rehearsed host's memory is not this one's, so what is taken of it is counted apart. */
static const char *page_of(const struct sl_options *options)
{
    static char rehearsed[64];
    if (options->node[0] || !options->host_memory) return options->node;
    snprintf(rehearsed, sizeof(rehearsed), "/dev/shm/sluice-node-%lu-rehearsed", (unsigned long)geteuid());
    return rehearsed;
}

#define REHEARSED (UINT64_C(1) << 63) /* in a pool's number; cgroups have smaller ones */

/* The ranks of a job share the rehearsed host. Other rehearsals have none of it. */
static uint64_t pool_of(const struct sl_options *options, const struct sl_host_memory *host)
{
    uint64_t job = sl_launcher()->job;
    if (!options->host_memory) return sl_host_memory_limited_by(host);
    return REHEARSED | (job ? job : (uint64_t)getpid());
}

/* --- what there is at the start */

/* What this process states, before it has claimed anything. Returns the most that it may have; UINT64_MAX:
 * nothing is known to limit it. */
static uint64_t decide(struct sl_node_entry *entry, const struct sl_options *options,
                       const struct sl_node_table *table, uint32_t own)
{
    const struct sl_launcher *launcher = sl_launcher();
    struct sl_host_memory host;
    read_host(options, &host);
    uint64_t most = options->node_limit ? options->node_limit : UINT64_MAX, available = UINT64_MAX;
    if (!options->node_limit)
        available = sl_host_memory_limit(&host, sl_host_memory_reserve(&host, options->host_reserve));
    *entry = (struct sl_node_entry){.process = (uint64_t)getpid(), .pool = pool_of(options, &host)};
    if (options->host_limit) return options->host_limit;
    if (most == UINT64_MAX && available == UINT64_MAX) return UINT64_MAX;
    entry->total_bytes = sl_shares_total(table, own, entry->pool, available, most);
    if (!launcher->local_size) return sl_shares_most(table, own, entry, entry->total_bytes);
    entry->job = launcher->job;
    entry->size = launcher->local_size;
    entry->rank = launcher->local_rank;
    sl_shares_join_job(table, entry, entry->total_bytes);
    return entry->part_bytes;
}

uint64_t sl_host_share_foresee(const struct sl_options *options)
{
    struct sl_node_entry entry;
    uint32_t count;
    /* Not on the stack: the calling thread is the program's, whose stack may be small. */
    struct sl_node_table *table = calloc(1, sizeof(*table));
    if (!table) return options->host_limit;
    if (sl_node_look(page_of(options), table, &count) != SL_OK) memset(table, 0, sizeof(*table));
    uint64_t most = decide(&entry, options, table, SL_NODE_SLOTS);
    free(table);
    return most;
}

const char *sl_host_share_why_nothing(const struct sl_options *options, char out[SL_HOST_SHARE_WHY])
{
    struct sl_host_memory host;
    char available[SL_BYTES_TEXT], reserve[SL_BYTES_TEXT];
    read_host(options, &host);
    snprintf(out, SL_HOST_SHARE_WHY, "%s of the %s are free, and the reserve is %s (SLUICE_HOST_RESERVE)",
             sl_bytes_text(sl_host_memory_limit(&host, 0), available),
             sl_host_memory_limited_by(&host) ? "cgroup's limit" : "machine's memory",
             sl_bytes_text(sl_host_memory_reserve(&host, options->host_reserve), reserve));
    return out;
}

struct sl_host_share sl_process_share = {.node.file = -1};

static void say(const struct sl_host_share *share)
{
    char limit[SL_BYTES_TEXT], total[SL_BYTES_TEXT], why[SL_HOST_SHARE_WHY];
    if (share->most_bytes < SL_BLOCK_BYTES)
        sl_log(SL_LOG_WARN, "no host memory is left for the program's data: %s",
               sl_host_share_why_nothing(share->options, why));
    if (share->told) return;
    sl_bytes_text(share->most_bytes, limit);
    sl_bytes_text(share->entry.total_bytes, total);
    if (share->entry.size)
        sl_log(SL_LOG_INFO, "host memory: %s, an equal part of %s for each of %u ranks", limit, total,
               (unsigned)share->entry.size);
    else
        sl_log(SL_LOG_DEBUG, "host memory: up to %s of %s, as far as others do not take it", limit, total);
}

static uint64_t link_of(const struct sl_options *options, const struct sl_backend *device)
{
    struct sl_device_place at;
    if (!device->place || !device->place(device->self, &at)) return 0;
    return sl_topology_link(sl_options_sysfs(options), at.domain, at.bus, at.device);
}

void sl_host_share_begin(struct sl_host_share *share, const struct sl_options *options,
                         const struct sl_backend *device, uint64_t most_bytes)
{
    memset(share, 0, sizeof(*share));
    pthread_mutex_init(&share->lock, NULL);
    share->options = options;
    share->node.file = -1;
    share->watched = device->place != NULL;
    share->there_bytes = UINT64_MAX;
    if (share->watched) sl_node_join(page_of(options), &share->node, &share->table);
    share->most_bytes = decide(&share->entry, options, &share->table, share->node.slot);
    share->told = options->host_limit || share->most_bytes == UINT64_MAX;
    share->entry.link = link_of(options, device);
    sl_node_unlock(&share->node, &share->entry);
    say(share);
    share->most_bytes = sl_least(share->most_bytes, most_bytes);
    share->limit_bytes = share->most_bytes;
    share->looked_to_bytes = share->most_bytes / LOOK_PART;
}

/* A thread that is cancelled must not keep the lock. */
static int lock_share(struct sl_host_share *share)
{
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    pthread_mutex_lock(&share->lock);
    return cancel_state;
}

static void unlock_share(struct sl_host_share *share, int cancel_state)
{
    pthread_mutex_unlock(&share->lock);
    pthread_setcancelstate(cancel_state, NULL);
}

/* --- looks. Precondition, here and for claims: the share is locked. */

/* The most that the process may claim, by the table as it was last read and the last look. */
static uint64_t most_of(const struct sl_host_share *share)
{
    const struct sl_node_entry *entry = &share->entry;
    uint32_t own = share->node.slot;
    if (share->told) return sl_least(share->there_bytes, share->most_bytes);
    uint64_t total = sl_shares_total(&share->table, own, entry->pool, share->there_bytes, entry->total_bytes);
    return sl_least(sl_shares_most(&share->table, own, entry, total), share->most_bytes);
}

static void read_table(struct sl_host_share *share)
{
    sl_node_lock(&share->node, &share->table);
    share->limit_bytes = most_of(share);
    sl_node_unlock(&share->node, &share->entry);
}

static uint64_t unclaimed(const struct sl_host_share *share)
{
    uint64_t limit = share->limit_bytes, claimed = share->entry.claimed_bytes;
    return limit > claimed ? limit - claimed : 0;
}

/* Looks at what host memory there is, and lowers the limit to that, or raises it again. Reads some files of
 * the kernel, and samples which pages of the arenas exist. Others may use half of the reserve; page tables
 * and the like need some of it. Chunks that have no host pages yet must still get them. */
static void look(struct sl_host_share *share)
{
    struct sl_host_memory host;
    if (!share->watched) return;
    read_host(share->options, &host);
    uint64_t half = sl_host_memory_reserve(&host, share->options->host_reserve) / 2;
    struct sl_host_pages pages = {0}; /* of a host that is only an option, none were taken */
    if (!share->options->host_memory) pages = sl_host_pages();
    uint64_t available = sl_host_memory_limit(&host, half), claimed = share->entry.claimed_bytes;
    uint64_t promised = claimed > pages.bytes ? claimed - pages.bytes : 0;
    share->there_bytes = available == UINT64_MAX ? available : available + pages.bytes;
    read_table(share);
    uint64_t ahead = unclaimed(share) / LOOK_PART;
    share->looked_to_bytes = claimed + (ahead > SL_BLOCK_BYTES ? ahead : SL_BLOCK_BYTES);
    share->pinnable_bytes = available > promised ? available - promised : 0;
    share->of_device |= pages.of_device;
    share->looked_at_ns = sl_clock_ns(CLOCK_MONOTONIC);
}

uint64_t sl_host_share_unclaimed(struct sl_host_share *share)
{
    int cancel_state = lock_share(share);
    if (sl_clock_ns(CLOCK_MONOTONIC) - share->looked_at_ns >= BETWEEN_LOOKS_NS) look(share);
    uint64_t bytes = unclaimed(share);
    unlock_share(share, cancel_state);
    return bytes;
}

bool sl_host_share_take_pinnable(struct sl_host_share *share, uint64_t bytes)
{
    if (!share->watched) return true;
    int cancel_state = lock_share(share);
    if (bytes > share->pinnable_bytes / LOOK_PART) look(share);
    bool may = bytes <= share->pinnable_bytes;
    if (may) {
        share->pinnable_bytes -= bytes;
        share->looked_to_bytes = 0;
    }
    unlock_share(share, cancel_state);
    return may;
}

uint64_t sl_host_share_device_room(struct sl_host_share *share)
{
    int cancel_state = lock_share(share);
    uint64_t room = share->of_device ? share->pinnable_bytes : UINT64_MAX;
    unlock_share(share, cancel_state);
    return room;
}

uint32_t sl_host_share_others_on_link(struct sl_host_share *share, uint64_t link)
{
    uint32_t count = 0;
    if (!link) return 0;
    int cancel_state = lock_share(share);
    read_table(share);
    for (uint32_t s = 0; s < SL_NODE_SLOTS; s++) count += share->table.entries[s].link == link;
    unlock_share(share, cancel_state);
    return count;
}

struct sl_device_users sl_host_share_on_device(struct sl_host_share *share, const struct sl_node_device *own)
{
    if (!own->id) return (struct sl_device_users){0};
    int cancel_state = lock_share(share);
    share->entry.device = *own;
    read_table(share);
    struct sl_device_users users = sl_shares_on_device(&share->table, share->node.slot, own->id);
    unlock_share(share, cancel_state);
    return users;
}

uint64_t sl_host_share_most(struct sl_host_share *share, const char **by)
{
    const struct sl_options *options = share->options;
    struct sl_host_memory host;
    read_host(options, &host);
    *by = options->host_limit                ? "SLUICE_HOST_LIMIT"
          : options->node_limit              ? "SLUICE_NODE_LIMIT"
          : sl_host_memory_limited_by(&host) ? "the cgroup's limit, less a reserve"
                                             : "the machine's memory, less a reserve";
    return share->limit_bytes;
}

/* --- claims */

static inline uint64_t taken(const struct sl_host_part *part)
{
    uint64_t bytes = sl_arena_host_bytes(part->placement->arena) + part->placement->promised_bytes;
    return part->has_ended ? 0 : bytes;
}

/* Makes the part `wanted_bytes`, or as much of that as the process may have. If that is less than
 * `least_bytes`, the part does not grow. It always has what is taken of it. */
static void resize(struct sl_host_part *part, uint64_t least_bytes, uint64_t wanted_bytes)
{
    struct sl_host_share *share = part->share;
    struct sl_node_entry *entry = &share->entry;
    uint64_t before = part->placement->live_chunk_bytes_limit, now = taken(part);
    uint64_t pinned = part->has_ended ? 0 : part->placement->arena->pinned_bytes,
             others = entry->claimed_bytes - before;
    sl_node_lock(&share->node, &share->table);
    uint64_t most = most_of(share), room = most > others ? most - others : 0;
    uint64_t bytes = sl_least(wanted_bytes, room);
    if (bytes < least_bytes) bytes = sl_least(before, room);
    if (bytes < now) bytes = now;
    share->limit_bytes = most;
    entry->claimed_bytes = others + bytes;
    entry->pinned_bytes += pinned - part->pinned_bytes;
    sl_node_unlock(&share->node, entry);
    part->placement->live_chunk_bytes_limit = bytes;
    part->pinned_bytes = pinned;
    part->is_full = bytes < wanted_bytes;
}

/* Claims room for `bytes` bytes, in whole chunks and with a step more if possible. False: the part did not
 * grow. */
static bool grow(struct sl_host_part *part, uint64_t bytes, bool looks)
{
    struct sl_host_share *share = part->share;
    uint64_t before = part->placement->live_chunk_bytes_limit, now = taken(part);
    if (bytes > UNLIMITED) return false;
    uint64_t wanted = now + round_up(bytes, part->placement->arena->chunk_bytes) + part->step_bytes;
    if (wanted <= before && !looks) return false;
    int cancel_state = lock_share(share);
    if (looks || share->entry.claimed_bytes + (wanted - before) > share->looked_to_bytes) look(share);
    resize(part, now + round_up(bytes, SL_BLOCK_BYTES), wanted);
    unlock_share(share, cancel_state);
    return part->placement->live_chunk_bytes_limit > before;
}

static void shrink(struct sl_host_part *part, uint64_t to_bytes)
{
    int cancel_state = lock_share(part->share);
    resize(part, 0, to_bytes);
    unlock_share(part->share, cancel_state);
}

/* A share of simulated memory is claimed by the first core at once. */
void sl_host_part_begin(struct sl_host_part *part, struct sl_host_share *share,
                        struct sl_placement *placement, const struct sl_backend *device, bool first)
{
    uint64_t step = share->most_bytes / AHEAD_PART & ~(SL_BLOCK_BYTES - 1);
    bool all = first && !share->watched;
    *part = (struct sl_host_part){.share = share,
                                  .placement = placement,
                                  .step_bytes = all ? UNLIMITED : sl_least(step, AHEAD_MOST),
                                  .link = link_of(share->options, device)};
    placement->most_bytes = share->most_bytes;
    placement->live_chunk_bytes_limit = 0;
    shrink(part, all ? UINT64_MAX : 0);
}

void sl_host_part_prepare(struct sl_host_part *part, uint64_t bytes)
{
    uint64_t room = sl_host_part_unused(part), unit = part->placement->arena->chunk_bytes;
    if (part->has_ended || part->is_full || (bytes <= room && room - bytes >= unit)) return;
    grow(part, bytes, false);
}

bool sl_host_part_more(struct sl_host_part *part, uint64_t bytes)
{
    return !part->has_ended && grow(part, bytes, true);
}

void sl_host_part_changed(struct sl_host_part *part)
{
    const struct sl_placement *placement = part->placement;
    if (!placement || part->has_ended) return;
    uint64_t now = taken(part), step = part->step_bytes;
    if (placement->live_chunk_bytes_limit > now + 2 * step)
        shrink(part, now + step);
    else if (placement->arena->pinned_bytes != part->pinned_bytes)
        shrink(part, placement->live_chunk_bytes_limit);
}

uint64_t sl_host_part_unused(const struct sl_host_part *part)
{
    uint64_t limit = part->placement->live_chunk_bytes_limit, now = taken(part);
    return limit > now ? limit - now : 0;
}

bool sl_host_part_trim(struct sl_host_part *part)
{
    bool any = sl_host_part_unused(part) != 0;
    if (any) shrink(part, 0);
    return any;
}

void sl_host_part_end(struct sl_host_part *part)
{
    if (part->has_ended || !part->placement) return;
    part->has_ended = true;
    shrink(part, 0);
}

/* A signal handler that ends the program may have interrupted the lock's holder: then the kernel ends the
 * registration. */
void sl_host_share_end(struct sl_host_share *share)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    if (!share->node.held || pthread_mutex_timedlock(&share->lock, &until) != 0) return;
    sl_node_leave(&share->node);
    pthread_mutex_unlock(&share->lock);
}
