/* Runs blocks: a worker's register files, and the dispatch loop. */
#include "worker.h"

#include <immintrin.h>
#include <string.h>

#include "module.h"
#include "ops.h"
#include "schedule.h"

static size_t align_up(size_t x, size_t align)
{
    return (x + align - 1) / align * align;
}

static void splat32(struct sc_group *group, enum sc_special special, uint32_t value)
{
    uint32_t place = group->program->special[special];
    if (!place) return;
    uint32_t *lane = (uint32_t *)(void *)(group->file + place);
    for (unsigned i = 0; i < SC_CHUNK; i++) lane[i] = value;
}

static void splat64(struct sc_group *group, uint32_t place, uint64_t value)
{
    if (!place) return;
    uint64_t *lane = (uint64_t *)(void *)(group->file + place);
    for (unsigned i = 0; i < SC_CHUNK; i++) lane[i] = value;
}

/* The value of a 32-bit special register, for a thread's linear index */
static uint32_t lane_special(enum sc_special special, uint32_t thread, const uint32_t block[3])
{
    uint32_t lane = thread & 31;
    switch (special) {
    case SC_SPECIAL_TID_X:
        return thread % block[0];
    case SC_SPECIAL_TID_Y:
        return thread / block[0] % block[1];
    case SC_SPECIAL_TID_Z:
        return thread / block[0] / block[1];
    case SC_SPECIAL_LANE:
        return lane;
    case SC_SPECIAL_WARP:
        return thread >> 5;
    case SC_SPECIAL_LANEMASK_EQ:
        return 1u << lane;
    case SC_SPECIAL_LANEMASK_LE:
        return (2u << lane) - 1;
    case SC_SPECIAL_LANEMASK_LT:
        return (1u << lane) - 1;
    case SC_SPECIAL_LANEMASK_GE:
        return -(1u << lane);
    case SC_SPECIAL_LANEMASK_GT:
        return -(2u << lane);
    default:
        return 0;
    }
}

/* Initialises the part of a register file that does not change from block to block */
static void fill_file(struct sc_worker *worker, struct sc_group *group)
{
    const struct sc_program *program = worker->program;
    const struct sc_launch *launch = worker->launch;
    uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    for (uint32_t i = 0; i < program->constant_count; i++) {
        const struct sc_constant *constant = &program->constants[i];
        if (constant->bytes == 8) {
            splat64(group, constant->place, constant->value);
        } else {
            uint32_t *lane = (uint32_t *)(void *)(group->file + constant->place);
            for (unsigned k = 0; k < SC_CHUNK; k++) lane[k] = (uint32_t)constant->value;
        }
    }
    for (unsigned s = 0; s < SC_SPECIAL_LOCAL; s++) {
        uint32_t *lane = (uint32_t *)(void *)(group->file + program->special[s]);
        for (uint32_t i = 0; program->special[s] && i < group->lanes; i++)
            lane[i] = lane_special((enum sc_special)s, group->first_thread + i, launch->block);
    }
    if (program->special[SC_SPECIAL_LOCAL]) {
        uint64_t *lane = (uint64_t *)(void *)(group->file + program->special[SC_SPECIAL_LOCAL]);
        for (uint32_t i = 0; i < group->lanes; i++)
            lane[i] = (uint64_t)(uintptr_t)worker->local +
                      (uint64_t)(group->first_thread + i) * program->local_bytes;
    }
    for (unsigned i = 0; i < 3; i++) {
        splat32(group, (enum sc_special)(SC_SPECIAL_NTID_X + i), launch->block[i]);
        splat32(group, (enum sc_special)(SC_SPECIAL_NCTAID_X + i), launch->grid[i]);
    }
    splat32(group, SC_SPECIAL_NWARP, (threads + 31) / 32);
    splat32(group, SC_SPECIAL_ENVREG_1, (uint32_t)((uint64_t)(uintptr_t)worker->barrier >> 32));
    splat32(group, SC_SPECIAL_ENVREG_2, (uint32_t)(uintptr_t)worker->barrier);
    splat32(group, SC_SPECIAL_DYNAMIC_SHARED, launch->dynamic_shared_bytes);
    splat32(group, SC_SPECIAL_TOTAL_SHARED, worker->shared_bytes);
    splat64(group, program->special[SC_SPECIAL_SHARED_BASE], (uint64_t)(uintptr_t)worker->shared);
    splat64(group, program->special[SC_SPECIAL_PARAM_BASE], (uint64_t)(uintptr_t)worker->parameters);
}

static bool run_rounded(struct sc_group *group, const struct sc_op *op)
{
    if (!op->rounding) return op->run(group, op);
    unsigned control = _mm_getcsr();
    _mm_setcsr((control & ~0x6000u) | (unsigned)op->rounding << 8);
    bool ok = op->run(group, op);
    _mm_setcsr(control);
    return ok;
}

/* An instruction with a guard, with a result that only active lanes may see, or with a rounding mode */
static bool run_masked(struct sc_group *group, const struct sc_op *op)
{
    const uint32_t *use = group->mask;
    uint32_t count = group->active;
    bool full = group->full, partial = (op->flags & SC_FLAG_BLEND) && group->apart;
    if (op->flags & SC_FLAG_GUARDED) {
        bool negated = op->flags & SC_FLAG_NEGATED;
        if (op->stride_guard == 0) {
            if ((sc_scalar(group, op->guard) != 0) == negated) return true;
        } else {
            count = sc_guard_lanes(group, op->guard, negated);
            if (!count) return true;
            use = group->guard_mask;
            full = count == group->chunks * SC_CHUNK;
            partial = count != group->active || partial;
        }
        group->worker->instructions += (uint64_t)count * op->weight;
        group->worker->flops += (uint64_t)count * op->flops;
    }
    if (op->flags & SC_FLAG_MASKED) {
        group->use_mask = use;
        group->use_full = full;
        bool wait = (op->flags & SC_FLAG_ORDERED) && group->worker->ahead;
        bool ok = (!wait || sc_order_before(group, op)) && op->run(group, op);
        group->use_mask = group->mask;
        group->use_full = group->full;
        return ok;
    }
    if (!partial || (op->flags & SC_FLAG_UNIFORM)) return run_rounded(group, op);
    struct sc_op copy = *op;
    copy.d = group->program->temporary;
    if (!run_rounded(group, &copy)) return false;
    size_t skip = (size_t)group->first_chunk * op->stride_d * 64;
    group->masks->blend((uint32_t *)(void *)(group->file + op->d + skip),
                        (const uint32_t *)(const void *)(group->file + copy.d + skip),
                        use + group->first_chunk * SC_CHUNK, group->chunks, op->stride_d * 4u);
    return true;
}

static bool stop(struct sc_worker *worker, const struct sc_group *group, uint32_t line, uint32_t lane,
                 uint8_t kind, uint64_t address)
{
    const uint32_t *size = worker->launch->block;
    uint32_t thread = group->first_thread + lane;
    worker->fault = (struct sc_fault){.kind = (enum sc_fault_kind)kind, .line = line, .address = address};
    memcpy(worker->fault.block, worker->block, sizeof worker->block);
    worker->fault.thread[0] = thread % size[0];
    worker->fault.thread[1] = thread / size[0] % size[1];
    worker->fault.thread[2] = thread / size[0] / size[1];
    return false;
}

static uint32_t first_active(const struct sc_group *group)
{
    uint32_t lane = group->first_chunk * SC_CHUNK, end = lane + group->chunks * SC_CHUNK;
    while (lane + 1 < end && !group->mask[lane]) lane++;
    return lane;
}

/* Whether the block may execute `instructions` more. Calls for help when `patience` is used up. */
static bool allow(struct sc_worker *worker, uint64_t instructions)
{
    if (worker->call_for_help) {
        void (*call)(void *) = worker->call_for_help;
        worker->call_for_help = NULL;
        worker->floor = 0;
        call(worker->context);
    }
    return instructions <= worker->watchdog_left;
}

/* Runs one instruction, or a batch. Returns the next one; NULL if a lane faulted. */
static inline const struct sc_op *step(struct sc_group *group, const struct sc_op *op)
{
    bool slow = op->flags & group->slow_flags;
    bool ok = slow ? op->code == SC_OP_BATCH || run_masked(group, op) : op->run(group, op);
    if (__builtin_expect(!ok, 0)) return NULL;
    return op + (slow ? 1 : op->advance);
}

/* Returns the instruction that faulted, or `end`. */
static const struct sc_op *run_ops(struct sc_group *group, const struct sc_op *op, const struct sc_op *end)
{
    while (op < end) {
        const struct sc_op *next = step(group, op);
        if (__builtin_expect(!next, 0)) break;
        op = next;
    }
    return op;
}

/* Like run_ops, and notes what each instruction accesses. */
static const struct sc_op *sample_ops(struct sc_group *group, const struct sc_op *op, const struct sc_op *end)
{
    struct sc_worker *worker = group->worker;
    while (op < end) {
        sc_sample_enter(worker->sample, (uint32_t)(op - group->program->ops), worker);
        const struct sc_op *next = step(group, op);
        if (!next) break;
        sc_sample_leave(worker->sample, worker);
        op = next;
    }
    return op;
}

/* Like run_ops, and measures each instruction's time. */
static const struct sc_op *profile_ops(struct sc_group *group, const struct sc_op *op,
                                       const struct sc_op *end)
{
    uint64_t begin = __rdtsc();
    while (op < end) {
        const struct sc_op *next = step(group, op);
        uint64_t now = __rdtsc();
        if (!next) break;
        if (op->code != SC_OP_BATCH || next != op + 1)
            sc_profile_note(group->worker->kinds, op, group->active, now - begin);
        begin = now;
        op = next;
    }
    return op;
}

static bool leave(struct sc_group *group, const struct sc_block *block)
{
    struct sc_profile_kind *kinds = group->worker->kinds;
    if (__builtin_expect(kinds == NULL, 1)) return sc_group_leave(group, block);
    struct sc_profile_kind *kind = &kinds[SC_PROFILE_END + block->end];
    uint64_t begin = __rdtsc();
    kind->executions++;
    kind->lanes += group->active;
    bool ok = sc_group_leave(group, block);
    kind->ticks += __rdtsc() - begin;
    return ok;
}

/* Runs until no lane of the group can run, or one faults */
static bool run_group(struct sc_worker *worker, struct sc_group *group)
{
    const struct sc_program *program = worker->program;
    const struct sc_block *block;
    do {
        block = &program->blocks[group->current];
        uint64_t lanes = group->active,
                 instructions = lanes * (block->instructions + (block->instructions == 0));
        worker->instructions += lanes * block->instructions;
        worker->flops += lanes * block->flops;
        if (__builtin_expect(instructions > worker->watchdog_left - worker->floor, 0) &&
            !allow(worker, instructions))
            return stop(worker, group, block->line, first_active(group), SC_FAULT_TIMEOUT, 0);
        worker->watchdog_left -= instructions;
        const struct sc_op *op = program->ops + block->first_op, *end = program->ops + block->op_end;
        op = __builtin_expect(worker->sample != NULL, 0)  ? sample_ops(group, op, end)
             : __builtin_expect(worker->kinds != NULL, 0) ? profile_ops(group, op, end)
                                                          : run_ops(group, op, end);
        if (__builtin_expect(op < end, 0))
            return stop(worker, group, op->line, group->fault_lane, group->fault_kind, group->fault_address);
    } while (leave(group, block) && (!group->yields || sc_group_yield(group)));
    return true;
}

/* Runs the instructions that depend on the launch only */
static bool run_once(struct sc_worker *worker, struct sc_group *group)
{
    const struct sc_program *program = worker->program;
    sc_group_start(group);
    for (uint32_t i = 0; i < program->once_end; i++)
        if (!run_rounded(group, &program->ops[i]))
            return stop(worker, group, program->ops[i].line, group->fault_lane, group->fault_kind,
                        group->fault_address);
    return true;
}

#define LOCAL_INSIDE (8u << 20) /* maximum bytes of local memory that are part of the common allocation */

/* The parts of a worker's memory, in bytes */
struct layout {
    uint32_t group_count;
    size_t groups, shared, local, file, masks, caches, total;
    bool apart; /* local memory is allocated by itself: most pages of large stacks are never touched */
};

static struct layout lay_out(const struct sc_launch *launch)
{
    const struct sc_program *program = launch->function->program;
    uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
    size_t shared_bytes = program->static_shared_bytes + launch->dynamic_shared_bytes;
    struct layout layout = {.group_count = (threads + program->lanes - 1) / program->lanes};
    layout.groups = align_up(layout.group_count * sizeof(struct sc_group), 64);
    layout.file = align_up(program->file_bytes, 64);
    layout.masks = align_up((size_t)program->lanes * 4, 64);
    layout.caches = align_up((program->cache_count + 1) * sizeof(struct sc_window), 64);
    layout.shared = align_up(shared_bytes + 64, 4096);
    layout.local = align_up((size_t)threads * program->local_bytes + 64, 64);
    layout.apart = layout.local > LOCAL_INSIDE;
    size_t each = layout.file + 4 * layout.masks + layout.caches;
    layout.total = align_up(
        layout.shared + (layout.apart ? 0 : layout.local) + layout.groups + each * layout.group_count, 4096);
    return layout;
}

size_t sc_worker_bytes(const struct sc_launch *launch)
{
    return lay_out(launch).total;
}

static bool allocate(struct sc_worker *worker, const struct layout *layout, unsigned char *memory)
{
    const struct sc_launch *launch = worker->launch;
    worker->owns_memory = !memory;
    worker->memory = memory ? memory : aligned_alloc(4096, layout->total);
    worker->stacks = layout->apart ? calloc(1, layout->local) : NULL;
    worker->touches = launch->touches ? calloc(1, sizeof *worker->touches) : NULL;
    worker->accesses = launch->accesses ? calloc(1, sizeof *worker->accesses) : NULL;
    worker->kinds = launch->profile ? calloc(SC_PROFILE_KINDS, sizeof *worker->kinds) : NULL;
    worker->watched = launch->touches || launch->accesses;
    return worker->memory && (!layout->apart || worker->stacks) && (!launch->profile || worker->kinds) &&
           (!launch->touches || worker->touches) && (!launch->accesses || worker->accesses);
}

/* Places a group's parts at `at`. Returns the end. */
static unsigned char *place_group(struct sc_worker *worker, uint32_t index, const struct layout *layout,
                                  unsigned char *at)
{
    const struct sc_program *program = worker->program;
    const uint32_t *size = worker->launch->block;
    struct sc_group *group = &worker->groups[index];
    group->file = at;
    group->mask = (uint32_t *)(void *)(at += layout->file);
    group->lane_at = (uint32_t *)(void *)(at += layout->masks);
    group->barrier_block = (uint32_t *)(void *)(at += layout->masks);
    group->guard_mask = (uint32_t *)(void *)(at += layout->masks);
    group->caches = (struct sc_window *)(void *)(at += layout->masks);
    group->worker = worker;
    group->program = program;
    group->masks = sc_isa()->mask;
    group->shared = worker->shared;
    group->first_thread = index * program->lanes;
    uint32_t left = size[0] * size[1] * size[2] - group->first_thread;
    group->lanes = left < program->lanes ? left : program->lanes;
    return at + layout->caches;
}

bool sc_worker_init(struct sc_worker *worker, const struct sc_launch *launch, const struct sc_common *common,
                    unsigned char *memory)
{
    const struct sc_program *program = launch->function->program;
    const struct layout layout = lay_out(launch);
    memset(worker, 0, sizeof *worker);
    worker->launch = launch;
    worker->program = program;
    worker->parameters = common->parameters;
    worker->barrier = launch->cooperative ? &common->barrier : NULL;
    worker->parameter_bytes = launch->function->entry->signature.parameter_bytes;
    worker->shared_bytes = program->static_shared_bytes + launch->dynamic_shared_bytes;
    if (!allocate(worker, &layout, memory)) return false;
    memset(worker->memory, 0, layout.total);
    worker->group_count = layout.group_count;
    worker->shared = worker->memory;
    worker->local = layout.apart ? worker->stacks : worker->shared + layout.shared;
    unsigned char *at = worker->shared + layout.shared + (layout.apart ? 0 : layout.local);
    worker->groups = (struct sc_group *)(void *)at;
    at += layout.groups;
    for (uint32_t g = 0; g < layout.group_count; g++) {
        at = place_group(worker, g, &layout, at);
        fill_file(worker, &worker->groups[g]);
        if (!run_once(worker, &worker->groups[g])) return false;
    }
    return true;
}

void sc_worker_free(struct sc_worker *worker)
{
    if (worker->owns_memory) free(worker->memory);
    sc_vec_free(&worker->log.entries);
    free(worker->stacks);
    sc_traffic_free(&worker->traffic);
    if (worker->touches) sc_touches_free(worker->touches);
    free(worker->touches);
    if (worker->accesses) sc_accesses_free(worker->accesses);
    free(worker->accesses);
    free(worker->kinds);
    free(worker->product_plans);
    worker->kinds = NULL;
    worker->touches = NULL;
    worker->accesses = NULL;
    worker->groups = NULL;
    worker->memory = NULL;
    worker->stacks = NULL;
}

/* Runs until the block ends or, in a cooperative launch, waits for another block. */
static enum sc_progress run_groups(struct sc_worker *worker)
{
    for (bool more = true; more;) {
        uint32_t live = 0, line = 0, lane = 0;
        const struct sc_group *stuck = NULL;
        bool resting = false; /* a group yields, and can continue */
        for (uint32_t g = 0; g < worker->group_count; g++) {
            struct sc_group *group = &worker->groups[g];
            if (!group->blocked && !run_group(worker, group)) return SC_PROGRESS_FAULT;
            live += group->live;
            resting |= !group->blocked;
            if (group->live && !stuck) stuck = group;
        }
        if (!live) return SC_PROGRESS_DONE;
        more = sc_release_barriers(worker);
        if (!more && resting && worker->launch->cooperative) return SC_PROGRESS_WAITS;
        more |= resting;
        if (more) continue;
        while (stuck && lane + 1 < stuck->lanes && stuck->lane_at[lane] == SC_AT_EXIT) lane++;
        line = worker->program->blocks[stuck->barrier_block[lane]].line;
        stop(worker, stuck, line, lane, SC_FAULT_TIMEOUT, 0);
        return SC_PROGRESS_FAULT;
    }
    return SC_PROGRESS_DONE;
}

void sc_worker_begin(struct sc_worker *worker, uint32_t x, uint32_t y, uint32_t z)
{
    const uint64_t wish = worker->launch->watchdog_instructions, limit = wish ? wish : UINT64_MAX;
    worker->block[0] = x, worker->block[1] = y, worker->block[2] = z;
    worker->watchdog_left = limit;
    worker->floor = worker->call_for_help && worker->patience < limit ? limit - worker->patience : 0;
    memset(worker->arrived, 0, sizeof worker->arrived);
    for (uint32_t g = 0; g < worker->group_count; g++) {
        struct sc_group *group = &worker->groups[g];
        for (unsigned i = 0; i < 3; i++)
            splat32(group, (enum sc_special)(SC_SPECIAL_CTAID_X + i), worker->block[i]);
        sc_group_start(group);
    }
}

enum sc_progress sc_worker_go_on(struct sc_worker *worker)
{
    return run_groups(worker);
}

bool sc_worker_run(struct sc_worker *worker, uint32_t x, uint32_t y, uint32_t z)
{
    sc_worker_begin(worker, x, y, z);
    const uint64_t limit = worker->watchdog_left;
    bool ok = run_groups(worker) == SC_PROGRESS_DONE;
    uint64_t used = limit - worker->watchdog_left;
    worker->patience -= used < worker->patience ? used : worker->patience;
    return ok;
}
