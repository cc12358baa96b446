#include "core/late_frees.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/test_hooks.h"
#include "core/core.h"

struct late_free {
    uint64_t address, number;
    uint32_t owner;
    uint32_t users; /* bits of the other cores that had work at the free */
};
_Static_assert(SL_MOST_CORES <= 32, "a bit each");

static struct {
    pthread_mutex_t lock; /* guards the list and `number` */
    struct late_free *list;
    uint32_t count, capacity;
    uint64_t number; /* of the latest free */
    _Atomic bool any;
    _Atomic bool looking; /* a thread runs look(); the members below are its own */
    struct {
        uint64_t passed; /* the latest free such that all work its device had before it is over */
        uint64_t asked;  /* the same once `waits` have passed */
        struct sl_waits waits;
    } of_core[SL_MOST_CORES];
} late = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_any(void)
{
    return __builtin_expect(atomic_load_explicit(&late.any, memory_order_relaxed), 0);
}

static bool has_work(struct sl_core *core)
{
    sl_lock(&core->order);
    bool work = sl_streams_any_work(&core->streams);
    sl_unlock(&core->order);
    return work;
}

/* Hides the allocation from look-ups, or shows it again. False: none that can be changed so begins at
 * `address`. */
static bool hide(struct sl_core *core, uint64_t address, bool hides, struct sl_allocation *found)
{
    sl_lock(&core->order);
    uint32_t s = sl_place_find(&core->placement, address);
    struct sl_slot *slot = s == SL_NONE ? NULL : &core->placement.slots[s];
    bool there = slot && slot->address == address && slot->leaving != hides && !slot->mapped && !slot->block;
    if (there) slot->leaving = hides;
    if (there && found) *found = (struct sl_allocation){slot->address, slot->bytes, slot->number, slot->tag};
    sl_unlock(&core->order);
    return there;
}

static bool add(const struct sl_core *owner, uint64_t address, uint32_t users)
{
    pthread_mutex_lock(&late.lock);
    bool room = sl_grow(&late.list, &late.capacity, late.count, sizeof *late.list);
    if (room) {
        late.list[late.count++] = (struct late_free){
            .address = address, .number = ++late.number, .owner = owner->number, .users = users};
        atomic_store(&late.any, true);
    }
    pthread_mutex_unlock(&late.lock);
    return room;
}

enum sl_status sl_runtime_free_everywhere(uint64_t address, enum sl_free_when when,
                                          struct sl_allocation *freed)
{
    struct sl_core *core = sl_core_of(address);
    if (!core) return SL_OK;
    bool several = sl_cores_are_several();
    if (several && !sl_runtime_find(address, freed)) return SL_ERR_INVALID; /* also if it was freed already */
    uint32_t users = 0;
    for (struct sl_core *other = NULL; several && (other = sl_core_after(other));)
        if (other != core && has_work(other)) users |= (uint32_t)1 << other->number;
    SL_TEST_DELAY(FREE);
    if (!users) return sl_core_free(core, address, SL_FREE_PLAIN, when, freed);
    if (when == SL_FREE_IDLE && has_work(core)) return SL_ERR_UNSUPPORTED;
    if (!hide(core, address, true, freed)) return SL_ERR_INVALID;
    if (!add(core, address, users)) return SL_OK; /* no host memory for the list: the memory is never freed */
    sl_late_frees_look();
    return SL_OK;
}

/* The latest free that waits for the core; 0: none. */
static uint64_t last_for(uint32_t number)
{
    uint64_t last = 0;
    pthread_mutex_lock(&late.lock);
    for (uint32_t i = 0; i < late.count; i++)
        if (late.list[i].users >> number & 1) last = late.list[i].number;
    pthread_mutex_unlock(&late.lock);
    return last;
}

bool sl_core_may_record(struct sl_core *core)
{
    return !sl_migrator_is_held(&core->migrator) && !sl_behind_is(&core->migrator.behind, 0) &&
           !atomic_load(&core->streams.captures);
}

/* False: the driver does not say where the core's work ends. */
static bool take_points(struct sl_core *core, struct sl_waits *out)
{
    struct sl_points *points = sl_streams_points(&core->streams);
    bool sure = !sl_points_are_unsure(points);
    if (points && sure)
        sl_points_give(&core->reuse.frees, points, out);
    else
        sl_points_void(&core->reuse.frees, points);
    sure &= !out->unsure;
    if (!sure) sl_waits_end(out, &core->reuse.frees);
    return sure;
}

static void advance(struct sl_core *core, bool waits)
{
    uint32_t c = core->number;
    uint64_t last = last_for(c);
    struct sl_frees *frees = &core->reuse.frees;
    struct sl_waits *points = &late.of_core[c].waits;
    if (!points->count && last > late.of_core[c].passed) {
        late.of_core[c].asked = last;
        if (has_work(core) && !sl_core_may_record(core)) return;
        if (has_work(core) && !take_points(core, points)) return; /* is tried again */
        if (!points->count) late.of_core[c].passed = last;
    }
    if (!points->count) return;
    bool passed = true;
    for (uint32_t w = 0; waits && passed && sl_core_may_record(core) && w < points->count; w++)
        passed = sl_wait_on_host(&points->at[w]) == SL_OK;
    sl_waits_prune(points, frees);
    if (!points->count) late.of_core[c].passed = late.of_core[c].asked;
}

static bool is_over(const struct late_free *free)
{
    for (uint32_t users = free->users; users; users &= users - 1)
        if (late.of_core[__builtin_ctz(users)].passed < free->number) return false;
    return true;
}

/* Removes a free whose users' work is over from the list. */
static bool take(struct late_free *taken)
{
    bool any = false;
    pthread_mutex_lock(&late.lock);
    for (uint32_t i = 0; i < late.count && !any; i++) {
        if (!is_over(&late.list[i])) continue;
        any = true;
        *taken = late.list[i];
        for (late.count--; i < late.count; i++) late.list[i] = late.list[i + 1];
        if (!late.count) atomic_store(&late.any, false);
    }
    pthread_mutex_unlock(&late.lock);
    return any;
}

static bool look(bool waits)
{
    struct late_free taken;
    bool any = false;
    if (atomic_exchange(&late.looking, true)) return false;
    for (struct sl_core *core = NULL; (core = sl_core_after(core));) advance(core, waits);
    while (take(&taken)) {
        struct sl_core *owner = sl_core_numbered(taken.owner);
        any = true;
        if (owner && hide(owner, taken.address, false, NULL))
            sl_core_free(owner, taken.address, SL_FREE_BLOCK, SL_FREE_NOW, NULL);
    }
    atomic_store(&late.looking, false);
    return any;
}

void sl_late_frees_look(void)
{
    if (is_any()) look(false);
}

bool sl_late_frees_hurry(void)
{
    return is_any() && (look(false) | look(true));
}

void sl_late_frees_forget(uint32_t number)
{
    pthread_mutex_lock(&late.lock);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < late.count; i++) {
        late.list[i].users &= ~((uint32_t)1 << number);
        if (late.list[i].owner != number) late.list[kept++] = late.list[i];
    }
    late.count = kept;
    pthread_mutex_unlock(&late.lock);
}

void sl_late_frees_after_fork(void)
{
    pthread_mutex_init(&late.lock, NULL);
    late.list = NULL;
    late.count = late.capacity = 0;
    atomic_store(&late.any, false);
    atomic_store(&late.looking, false);
}
