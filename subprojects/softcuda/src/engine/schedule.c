#include "schedule.h"

#include "ops_mask.h"

#include <string.h>

static void use_all(struct sc_group *group)
{
    group->use_mask = group->mask;
    group->use_full = group->full;
    group->slow_flags = SC_FLAG_GUARDED | SC_FLAG_ROUNDED | (group->apart ? SC_FLAG_BLEND : 0) |
                        (group->worker->ahead ? SC_FLAG_ORDERED : 0);
}

void sc_group_start(struct sc_group *group)
{
    uint32_t padded = (group->lanes + SC_CHUNK - 1) / SC_CHUNK * SC_CHUNK;
    for (uint32_t i = 0; !group->pristine && i < padded; i++) {
        group->mask[i] = i < group->lanes ? UINT32_MAX : 0;
        group->lane_at[i] = i < group->lanes ? group->program->start : SC_AT_EXIT;
    }
    group->pristine = true;
    group->first_chunk = 0;
    group->chunks = padded / SC_CHUNK;
    group->active = group->live = group->lanes;
    group->full = group->lanes == padded;
    group->current = group->program->start;
    group->others_at = SC_AT_EXIT;
    group->waiting_at = SC_AT_EXIT;
    group->apart = group->blocked = group->yields = false;
    group->polls = 0;
    use_all(group);
}

/* Activates the lanes that wait at the lowest basic block. lane_at must be valid for every lane. */
static bool resume(struct sc_group *group)
{
    uint32_t padded = (group->lanes + SC_CHUNK - 1) / SC_CHUNK * SC_CHUNK;
    struct sc_scan scan;
    group->masks->scan(group->lane_at, group->mask, padded, &scan);
    if (scan.lowest >= SC_AT_REST && scan.lowest < SC_AT_BARRIER) {
        for (uint32_t i = 0; i < padded; i++)
            if (group->lane_at[i] < SC_AT_BARRIER) group->lane_at[i] &= ~SC_AT_REST;
        group->masks->scan(group->lane_at, group->mask, padded, &scan);
        group->rested = true;
    }
    group->polls = 0;
    group->pristine = false;
    group->live = scan.live;
    group->blocked = scan.lowest >= SC_AT_BARRIER;
    if (group->blocked) {
        group->active = 0;
        return false;
    }
    group->first_chunk = scan.first_chunk;
    group->chunks = scan.chunks;
    group->active = scan.active;
    group->full = scan.active == scan.chunks * SC_CHUNK;
    group->current = scan.lowest;
    group->others_at = scan.others;
    group->apart = scan.active != scan.live;
    use_all(group);
    return true;
}

static bool go_to(struct sc_group *group, uint32_t block)
{
    if (__builtin_expect(block < group->others_at, 1)) {
        group->current = block;
        return true;
    }
    if (block == SC_AT_EXIT && !group->apart) {
        group->active = group->live = 0;
        group->blocked = true;
        return false;
    }
    uint32_t first = group->first_chunk * SC_CHUNK;
    group->masks->split(group->lane_at + first, group->mask + first, group->mask + first, block, block,
                        group->chunks * SC_CHUNK);
    return resume(group);
}

uint32_t sc_guard_lanes(struct sc_group *group, uint32_t place, bool negated)
{
    uint32_t first = group->first_chunk * SC_CHUNK;
    const uint32_t *predicate = (const uint32_t *)(const void *)(group->file + place);
    return group->masks->guard(group->guard_mask + first, group->mask + first, predicate + first,
                               negated ? UINT32_MAX : 0, group->chunks * SC_CHUNK);
}

/* Splits the active lanes: those in guard_mask go to `yes`, the others to `no`. */
static bool split(struct sc_group *group, uint32_t yes, uint32_t no)
{
    uint32_t first = group->first_chunk * SC_CHUNK;
    group->masks->split(group->lane_at + first, group->guard_mask + first, group->mask + first, yes, no,
                        group->chunks * SC_CHUNK);
    return resume(group);
}

static bool leave_indexed(struct sc_group *group, const struct sc_block *block)
{
    const uint32_t *targets = group->program->targets + block->target;
    uint32_t last = block->table_size - 1;
    if (block->index_stride == 0) {
        uint32_t index = sc_scalar(group, block->index);
        return go_to(group, targets[index < last ? index : last]);
    }
    const uint32_t *index = (const uint32_t *)(const void *)(group->file + block->index);
    uint32_t first = group->first_chunk * SC_CHUNK, end = first + group->chunks * SC_CHUNK;
    for (uint32_t i = first; i < end; i++)
        if (group->mask[i]) group->lane_at[i] = targets[index[i] < last ? index[i] : last];
    return resume(group);
}

/* The number of active lanes for which the block's branch condition holds; if it is neither all nor none,
 * group->guard_mask has these lanes. */
static uint32_t condition(struct sc_group *group, const struct sc_block *block)
{
    if (!block->conditional) return group->active;
    if (block->guard_stride == 0)
        return (sc_scalar(group, block->guard) != 0) != block->negated ? group->active : 0;
    return sc_guard_lanes(group, block->guard, block->negated);
}

static bool wait_at_barrier(struct sc_group *group, const struct sc_block *block, uint32_t yes)
{
    uint32_t index = (uint32_t)(block - group->program->blocks);
    if (yes == group->active && !group->apart && block->barrier_mode == SC_BARRIER_SYNC &&
        !block->barrier_count) {
        group->waiting_at = block->next;
        group->waiting_block = index;
        group->blocked = true;
        return false;
    }
    uint32_t first = group->first_chunk * SC_CHUNK, end = first + group->chunks * SC_CHUNK;
    if (yes == group->active)
        memcpy(group->guard_mask + first, group->mask + first, (end - first) * sizeof(uint32_t));
    for (uint32_t i = first; i < end; i++)
        if (group->guard_mask[i]) group->barrier_block[i] = index;
    if (block->barrier_mode == SC_BARRIER_ARRIVE) {
        group->worker->arrived[sc_scalar(group, block->barrier_id) & 15] += yes;
        return go_to(group, block->next);
    }
    return split(group, SC_AT_BARRIER | block->next, block->next);
}

bool sc_group_leave(struct sc_group *group, const struct sc_block *block)
{
    uint32_t yes;
    switch (block->end) {
    case SC_END_FALL:
        return go_to(group, block->next);
    case SC_END_INDEXED:
        return leave_indexed(group, block);
    default:
        break;
    }
    yes = condition(group, block);
    if (yes == 0) return go_to(group, block->next);
    if (block->end == SC_END_BARRIER) return wait_at_barrier(group, block, yes);
    uint32_t target = block->end == SC_END_BRANCH ? block->target : SC_AT_EXIT;
    if (yes != group->active) return split(group, target, block->next);
    return go_to(group, target);
}

bool sc_group_yield(struct sc_group *group)
{
    group->yields = false;
    if (!group->apart) return false;
    uint32_t first = group->first_chunk * SC_CHUNK, at = SC_AT_REST | group->current;
    group->masks->split(group->lane_at + first, group->mask + first, group->mask + first, at, at,
                        group->chunks * SC_CHUNK);
    group->rested = false;
    return resume(group) && !group->rested;
}

/* If all lanes of the group wait at one barrier, which is stored in a short form, writes the position of each
 * lane. */
static void write_out(struct sc_group *group)
{
    if (group->waiting_at == SC_AT_EXIT) return;
    uint32_t first = group->first_chunk * SC_CHUNK, end = first + group->chunks * SC_CHUNK;
    for (uint32_t i = first; i < end; i++) {
        if (!group->mask[i]) continue;
        group->lane_at[i] = SC_AT_BARRIER | group->waiting_at;
        group->barrier_block[i] = group->waiting_block;
    }
    group->waiting_at = SC_AT_EXIT;
}

/* The common case: all live lanes of the block wait at the same barrier. */
static bool release_all(struct sc_worker *worker)
{
    uint32_t id = UINT32_MAX;
    for (uint32_t g = 0; g < worker->group_count; g++) {
        struct sc_group *group = &worker->groups[g];
        if (!group->live) continue;
        if (group->waiting_at == SC_AT_EXIT) return false;
        uint32_t mine = sc_scalar(group, worker->program->blocks[group->waiting_block].barrier_id) & 15;
        if (id != UINT32_MAX && id != mine) return false;
        id = mine;
    }
    if (id == UINT32_MAX || worker->arrived[id]) return false;
    for (uint32_t g = 0; g < worker->group_count; g++) {
        struct sc_group *group = &worker->groups[g];
        if (!group->live) continue;
        group->current = group->waiting_at;
        group->waiting_at = SC_AT_EXIT;
        group->blocked = false;
    }
    return true;
}

struct tally {
    uint32_t waiting, wanted, yes; /* lanes that wait, lanes that are required, lanes whose predicate holds
                                      (bar.red) */
};

static bool waits(const struct sc_group *group, uint32_t lane)
{
    return group->lane_at[lane] >= SC_AT_BARRIER && group->lane_at[lane] != SC_AT_EXIT;
}

static uint32_t barrier_of(const struct sc_group *group, uint32_t lane, const struct sc_block **block)
{
    *block = &group->program->blocks[group->barrier_block[lane]];
    return sc_scalar(group, (*block)->barrier_id) & 15;
}

static void count_lane(const struct sc_group *group, uint32_t lane, uint32_t live, struct tally tally[16])
{
    const struct sc_block *block;
    struct tally *mine = &tally[barrier_of(group, lane, &block)];
    mine->waiting++;
    mine->wanted = block->barrier_count ? sc_scalar(group, block->barrier_count) : live;
    if (!block->barrier_value) return;
    const uint32_t *value = (const uint32_t *)(const void *)(group->file + block->barrier_value);
    mine->yes += value[block->barrier_value_stride ? lane : 0] != 0;
}

static void give_result(struct sc_group *group, uint32_t lane, const struct sc_block *block,
                        const struct tally *tally)
{
    uint32_t result = tally->yes;
    if (block->barrier_mode == SC_BARRIER_AND) result = tally->yes == tally->waiting ? UINT32_MAX : 0;
    if (block->barrier_mode == SC_BARRIER_OR) result = tally->yes ? UINT32_MAX : 0;
    uint32_t *place = (uint32_t *)(void *)(group->file + block->barrier_result);
    if (block->barrier_result_stride) {
        place[lane] = result;
    } else {
        for (unsigned i = 0; i < SC_CHUNK; i++) place[i] = result;
    }
}

bool sc_release_barriers(struct sc_worker *worker)
{
    struct tally tally[16] = {{0, 0, 0}};
    uint32_t live = 0;
    bool any = false;
    if (release_all(worker)) return true;
    for (uint32_t g = 0; g < worker->group_count; g++) {
        write_out(&worker->groups[g]);
        live += worker->groups[g].live;
    }
    for (uint32_t g = 0; g < worker->group_count; g++)
        for (uint32_t i = 0; i < worker->groups[g].lanes; i++)
            if (waits(&worker->groups[g], i)) count_lane(&worker->groups[g], i, live, tally);
    for (uint32_t g = 0; g < worker->group_count; g++) {
        struct sc_group *group = &worker->groups[g];
        bool mine = false;
        for (uint32_t i = 0; i < group->lanes; i++) {
            const struct sc_block *block;
            if (!waits(group, i)) continue;
            uint32_t id = barrier_of(group, i, &block);
            if (tally[id].waiting + worker->arrived[id] < tally[id].wanted) continue;
            if (block->barrier_result) give_result(group, i, block, &tally[id]);
            group->lane_at[i] &= ~SC_AT_BARRIER;
            mine = true;
        }
        if (mine) resume(group);
        any |= mine;
    }
    for (unsigned id = 0; id < 16; id++)
        if (tally[id].waiting && tally[id].waiting + worker->arrived[id] >= tally[id].wanted)
            worker->arrived[id] = 0;
    return any;
}
