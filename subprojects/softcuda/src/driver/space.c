#include "space.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ipc_file.h"

#define PAGE UINT64_C(4096)
#define COMMIT_STEP (UINT64_C(64) << 20)
#define LARGEST_REGION (UINT64_C(4) << 40)
#define SMALLEST_REGION (UINT64_C(16) << 30)
/* One region for each kind before SC_MEMORY_REGISTERED; later kinds lie outside the window. */
#define REGIONS SC_MEMORY_REGISTERED

struct region {
    uint64_t begin, end;
    uint64_t committed; /* [begin, committed) is readable and writable */
    uint64_t hint;      /* all gaps below are too small for the last request, or there are none */
    uint64_t hint_bytes;
};

static struct {
    pthread_rwlock_t lock;
    struct region regions[REGIONS];
    struct sc_allocation **live; /* sorted by begin */
    size_t count, capacity;
    uint64_t next_id;
    struct lent {
        struct lent *next;
        uint64_t begin, end;
    } * lent; /* parts of the regions that are reserved for mappings */
} space = {.lock = PTHREAD_RWLOCK_INITIALIZER, .next_id = 1};

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & ~(align - 1);
}

bool sc_space_open(void)
{
    pthread_rwlock_wrlock(&space.lock);
    bool open = space.regions[0].end != 0;
    for (uint64_t bytes = LARGEST_REGION; !open && bytes >= SMALLEST_REGION; bytes /= 2) {
        uint64_t align = UINT64_C(1) << 30;
        void *base = mmap(NULL, REGIONS * bytes + align, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) continue;
        uint64_t begin = align_up((uint64_t)base, align);
        for (int i = 0; i < REGIONS; i++, begin += bytes)
            space.regions[i] = (struct region){begin, begin + bytes, begin, begin, 0};
        open = true;
    }
    pthread_rwlock_unlock(&space.lock);
    return open;
}

void sc_space_bounds(enum sc_memory_kind kind, uint64_t *begin, uint64_t *end)
{
    *begin = space.regions[kind].begin;
    *end = space.regions[kind].end;
}

/* Index of the first allocation that begins above `address`. */
static size_t upper_bound(uint64_t address)
{
    size_t low = 0, high = space.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (space.live[middle]->begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool insert(struct sc_allocation *allocation)
{
    if (space.count == space.capacity) {
        size_t capacity = space.capacity ? 2 * space.capacity : 256;
        struct sc_allocation **live = realloc(space.live, capacity * sizeof *live);
        if (!live) return false;
        space.live = live;
        space.capacity = capacity;
    }
    size_t at = upper_bound(allocation->begin);
    memmove(space.live + at + 1, space.live + at, (space.count - at) * sizeof *space.live);
    space.live[at] = allocation;
    space.count++;
    allocation->id = space.next_id++;
    return true;
}

/* Precondition: the lock is held, here and below. */
static const struct lent *lent_in(uint64_t begin, uint64_t end)
{
    const struct lent *lent = space.lent;
    while (lent && (lent->begin >= end || lent->end <= begin)) lent = lent->next;
    return lent;
}

/* The first address from `at` on where `span` bytes are not lent. */
static uint64_t behind_lent(uint64_t at, uint64_t span, uint64_t align)
{
    for (const struct lent *lent; (lent = lent_in(at, at + span));) at = align_up(lent->end, align);
    return at;
}

/* First fit. As long as sizes do not decrease, the hint skips the part below it, which has no large enough
 * gap. Returns 0 if nothing fits. */
static uint64_t find_gap(struct region *region, uint64_t span, uint64_t align)
{
    uint64_t from = span >= region->hint_bytes ? region->hint : region->begin;
    uint64_t at = align_up(from, align);
    size_t i = upper_bound(from);
    if (i > 0 && space.live[i - 1]->begin + space.live[i - 1]->span > from)
        at = align_up(space.live[i - 1]->begin + space.live[i - 1]->span, align);
    for (; i < space.count && space.live[i]->begin < region->end; i++) {
        at = behind_lent(at, span, align);
        if (space.live[i]->begin >= at && space.live[i]->begin - at >= span) break;
        uint64_t after = align_up(space.live[i]->begin + space.live[i]->span, align);
        if (after > at) at = after;
    }
    at = behind_lent(at, span, align);
    if (at >= region->end || region->end - at < span) return 0;
    region->hint = at;
    region->hint_bytes = span;
    return at;
}

static bool commit(struct region *region, uint64_t end)
{
    if (end <= region->committed) return true;
    uint64_t target = align_up(end, COMMIT_STEP);
    if (target > region->end) target = region->end;
    if (mprotect((void *)region->committed, target - region->committed, PROT_READ | PROT_WRITE)) return false;
    region->committed = target;
    return true;
}

struct sc_allocation *sc_space_allocate(enum sc_memory_kind kind, uint64_t bytes, uint64_t align)
{
    if (kind >= REGIONS || bytes > LARGEST_REGION || !sc_space_open()) return NULL;
    struct sc_allocation *allocation = calloc(1, sizeof *allocation);
    if (!allocation) return NULL;
    struct region *region = &space.regions[kind];
    pthread_rwlock_wrlock(&space.lock);
    *allocation = (struct sc_allocation){.bytes = bytes, .span = align_up(bytes, align), .kind = kind};
    allocation->begin = find_gap(region, allocation->span, align);
    bool ok = allocation->begin && commit(region, allocation->begin + allocation->span) && insert(allocation);
    pthread_rwlock_unlock(&space.lock);
    if (ok) return allocation;
    free(allocation);
    return NULL;
}

static struct sc_allocation *place(enum sc_memory_kind kind, uint64_t address, uint64_t bytes,
                                   uint64_t visible)
{
    struct sc_allocation *allocation = calloc(1, sizeof *allocation);
    if (!allocation) return NULL;
    *allocation = (struct sc_allocation){.begin = address, .bytes = visible, .span = bytes, .kind = kind};
    pthread_rwlock_wrlock(&space.lock);
    size_t at = upper_bound(address);
    bool ok = address + bytes > address;
    if (at > 0 && space.live[at - 1]->begin + space.live[at - 1]->span > address) ok = false;
    if (at < space.count && space.live[at]->begin < address + bytes) ok = false;
    ok = ok && insert(allocation);
    pthread_rwlock_unlock(&space.lock);
    if (ok) return allocation;
    free(allocation);
    return NULL;
}

/* The region that holds the range, or NULL. */
static struct region *region_of(uint64_t address, uint64_t bytes)
{
    for (int i = 0; i < REGIONS; i++) {
        struct region *region = &space.regions[i];
        if (address >= region->begin && address < region->end && bytes <= region->end - address)
            return region;
    }
    return NULL;
}

bool sc_space_lend(uint64_t address, uint64_t bytes)
{
    struct lent *lent = calloc(1, sizeof *lent);
    if (!lent) return false;
    pthread_rwlock_wrlock(&space.lock);
    struct region *region = region_of(address, bytes);
    size_t at = upper_bound(address);
    bool ok = region && !lent_in(address, address + bytes) && commit(region, address + bytes);
    if (at > 0 && space.live[at - 1]->begin + space.live[at - 1]->span > address) ok = false;
    if (at < space.count && space.live[at]->begin < address + bytes) ok = false;
    if (ok) {
        *lent = (struct lent){.next = space.lent, .begin = address, .end = address + bytes};
        space.lent = lent;
    }
    pthread_rwlock_unlock(&space.lock);
    if (!ok) free(lent);
    return ok;
}

bool sc_space_take_back(uint64_t address)
{
    pthread_rwlock_wrlock(&space.lock);
    struct lent **at = &space.lent, *lent;
    while (*at && (*at)->begin != address) at = &(*at)->next;
    lent = *at;
    if (lent) {
        mmap((void *)lent->begin, lent->end - lent->begin, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        struct region *region = region_of(lent->begin, 1);
        if (lent->begin < region->hint) region->hint = region->begin;
        *at = lent->next;
    }
    pthread_rwlock_unlock(&space.lock);
    free(lent);
    return lent != NULL;
}

struct sc_allocation *sc_space_register(uint64_t address, uint64_t bytes)
{
    return place(SC_MEMORY_REGISTERED, address, bytes, bytes);
}

struct sc_allocation *sc_space_map(uint64_t address, uint64_t bytes)
{
    return place(SC_MEMORY_MAPPED, address, bytes, 0);
}

bool sc_space_share(struct sc_allocation *allocation, struct sc_ipc_file *own, uint64_t *offset)
{
    uint64_t base = space.regions[allocation->kind].begin, begin = allocation->begin & ~(PAGE - 1);
    uint64_t end = align_up(allocation->begin + allocation->span, PAGE);
    if (!allocation->shared && !sc_ipc_file_share(own, base, begin, end)) return false;
    allocation->shared = own;
    *offset = allocation->begin - base + SC_IPC_HEAD_BYTES;
    return true;
}

/* Returns the pages that belong to this allocation alone to the system. */
static void give_back(const struct sc_allocation *allocation)
{
    uint64_t begin = align_up(allocation->begin, PAGE);
    uint64_t end = (allocation->begin + allocation->span) & ~(PAGE - 1);
    if (begin >= end) return;
    if (allocation->shared)
        sc_ipc_file_unshare(allocation->shared, space.regions[allocation->kind].begin, begin, end);
    else
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void sc_space_release(struct sc_allocation *allocation)
{
    pthread_rwlock_wrlock(&space.lock);
    size_t at = upper_bound(allocation->begin) - 1;
    memmove(space.live + at, space.live + at + 1, (space.count - at - 1) * sizeof *space.live);
    space.count--;
    if (allocation->kind < REGIONS) {
        struct region *region = &space.regions[allocation->kind];
        give_back(allocation);
        if (allocation->begin < region->hint) region->hint = region->begin;
    }
    pthread_rwlock_unlock(&space.lock);
    free(allocation);
}

void sc_space_show(struct sc_allocation *allocation, uint64_t bytes)
{
    pthread_rwlock_wrlock(&space.lock);
    allocation->bytes = bytes;
    pthread_rwlock_unlock(&space.lock);
}

static struct sc_allocation *find_locked(uint64_t address)
{
    size_t at = upper_bound(address);
    if (!at) return NULL;
    struct sc_allocation *allocation = space.live[at - 1];
    return address - allocation->begin < allocation->bytes ? allocation : NULL;
}

struct sc_allocation *sc_space_find(uint64_t address)
{
    pthread_rwlock_rdlock(&space.lock);
    struct sc_allocation *allocation = find_locked(address);
    pthread_rwlock_unlock(&space.lock);
    return allocation;
}

static bool continues(const struct sc_allocation *left, const struct sc_allocation *right)
{
    return left->kind == SC_MEMORY_MAPPED && right->kind == SC_MEMORY_MAPPED && left->bytes && right->bytes &&
           left->begin + left->bytes == right->begin && left->access == right->access;
}

/* The end of accessible memory: of `allocation`, which holds `address`, and of adjacent mappings that
 * continue it. */
static uint64_t end_of(const struct sc_allocation *allocation, uint64_t address)
{
    if (allocation->kind == SC_MEMORY_MAPPED)
        for (size_t at = upper_bound(address); at < space.count; at++) {
            if (!continues(allocation, space.live[at])) break;
            allocation = space.live[at];
        }
    return allocation->begin + allocation->bytes;
}

struct sc_allocation *sc_space_find_range(uint64_t address, uint64_t bytes)
{
    pthread_rwlock_rdlock(&space.lock);
    struct sc_allocation *allocation = find_locked(address);
    if (allocation && bytes > end_of(allocation, address) - address) allocation = NULL;
    pthread_rwlock_unlock(&space.lock);
    return allocation;
}

void sc_space_set_access(struct sc_allocation *allocation, uint32_t access)
{
    pthread_rwlock_wrlock(&space.lock);
    allocation->access = access;
    pthread_rwlock_unlock(&space.lock);
}

void sc_space_set_dormant(struct sc_allocation *allocation, bool dormant)
{
    pthread_rwlock_wrlock(&space.lock);
    allocation->dormant = dormant;
    pthread_rwlock_unlock(&space.lock);
}

/* Mapped memory is accessible only to the devices that cuMemSetAccess names. */
static bool is_reached(const struct sc_allocation *allocation, const struct sc_reach *reach)
{
    if (allocation->kind != SC_MEMORY_DEVICE && allocation->kind != SC_MEMORY_MAPPED) return true;
    if (!reach || allocation->access & reach->own) return true;
    return allocation->kind == SC_MEMORY_DEVICE && reach->peers >> allocation->ordinal & 1;
}

bool sc_space_lookup(void *context, uint64_t address, struct sc_range *out)
{
    static const enum sc_range_kind kinds[SC_MEMORY_KINDS] = {
        [SC_MEMORY_DEVICE] = SC_RANGE_DEVICE, [SC_MEMORY_MANAGED] = SC_RANGE_MANAGED,
        [SC_MEMORY_PINNED] = SC_RANGE_HOST,   [SC_MEMORY_REGISTERED] = SC_RANGE_HOST,
        [SC_MEMORY_MAPPED] = SC_RANGE_DEVICE,
    };
    pthread_rwlock_rdlock(&space.lock);
    struct sc_allocation *allocation = find_locked(address);
    if (allocation && (allocation->dormant || !is_reached(allocation, context))) allocation = NULL;
    if (allocation)
        *out = (struct sc_range){allocation->begin, end_of(allocation, address), kinds[allocation->kind]};
    pthread_rwlock_unlock(&space.lock);
    return allocation != NULL;
}

void sc_space_each(void (*visit)(void *context, struct sc_allocation *allocation), void *context)
{
    pthread_rwlock_rdlock(&space.lock);
    for (size_t i = 0; i < space.count; i++) visit(context, space.live[i]);
    pthread_rwlock_unlock(&space.lock);
}
