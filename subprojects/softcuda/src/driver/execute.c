/* Executes operations; their times are assigned elsewhere. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hidden.h"
#include "kernel_profile.h"
#include "native.h"
#include "program_time.h"
#include "queue.h"
#include "races.h"
#include "sampled_contents.h"
#include "touched.h"
#include "work.h"

#define GARBAGE 0xd5
#define PAGE UINT64_C(4096)
#define BLOCK_SHIFT 21 /* of sc_block_traffic */

static uint32_t worker_count(void)
{
    uint64_t threads = sc_options()->threads;
    if (threads) return (uint32_t)threads;
    static _Atomic uint32_t cores; /* cached because sysconf opens a file */
    uint32_t known = cores;
    if (known) return known;
    long found = sysconf(_SC_NPROCESSORS_ONLN);
    return cores = found > 0 ? (uint32_t)found : 1;
}

static CUresult fault_result(const struct sc_op *op, const struct sc_fault *fault)
{
    static const struct {
        CUresult result;
        const char *text;
    } kinds[] = {
        [SC_FAULT_NONE] = {CUDA_ERROR_LAUNCH_FAILED, "failed"},
        [SC_FAULT_ILLEGAL_ADDRESS] = {CUDA_ERROR_ILLEGAL_ADDRESS, "accessed an illegal address"},
        [SC_FAULT_MISALIGNED] = {CUDA_ERROR_MISALIGNED_ADDRESS, "accessed a misaligned address"},
        [SC_FAULT_TRAP] = {CUDA_ERROR_LAUNCH_FAILED, "trapped"},
        [SC_FAULT_ASSERT] = {CUDA_ERROR_ASSERT, "failed an assertion"},
        [SC_FAULT_TIMEOUT] = {CUDA_ERROR_LAUNCH_TIMEOUT, "made no progress"},
        [SC_FAULT_ILLEGAL_INSTRUCTION] = {CUDA_ERROR_ILLEGAL_INSTRUCTION, "met an illegal instruction"},
        [SC_FAULT_STACK] = {CUDA_ERROR_HARDWARE_STACK_ERROR, "called too deeply"},
        [SC_FAULT_INVALID_CALL] = {CUDA_ERROR_INVALID_PC, "called what is no function"},
    };
    if (op->launch.native) {
        sc_log("kernel %s %s: address 0x%llx", op->launch.name, kinds[fault->kind].text,
               (unsigned long long)fault->address);
        return kinds[fault->kind].result;
    }
    sc_log("kernel %s %s: PTX line %u, block (%u,%u,%u), thread (%u,%u,%u), address 0x%llx%s",
           op->launch.name, kinds[fault->kind].text, fault->line, fault->block[0], fault->block[1],
           fault->block[2], fault->thread[0], fault->thread[1], fault->thread[2],
           (unsigned long long)fault->address,
           sc_options()->sampled ? "; it may depend on what nothing computed (SOFTCUDA_EXECUTE=sample)" : "");
    return kinds[fault->kind].result;
}

/* The whole pages in between read as zeros then. Precondition: no other process has them. */
static void give_pages_back(uint64_t address, uint64_t bytes)
{
    uint64_t begin = (address + PAGE - 1) & ~(PAGE - 1), end = (address + bytes) & ~(PAGE - 1);
    if (begin < end) madvise((void *)begin, end - begin, MADV_DONTNEED);
}

/* Otherwise a program that is much larger than this machine would fill its memory by and by, as each launch
 * executes other blocks. */
static void scrap(uint64_t address, uint64_t bytes)
{
    const struct sc_allocation *allocation = sc_space_find_range(address, bytes);
    if (allocation && allocation->kind <= SC_MEMORY_MANAGED && !allocation->shared)
        give_pages_back(address, bytes);
}

/* Kernels that cannot be foretold are executed wholly, as copies between lists of tensors are, which move as
 * much as a model has. */
static void scrap_blocks(const struct sc_cost *cost)
{
    for (size_t i = 0; i < cost->block_count; i++)
        if (sc_sampled_is_scrap(cost, i))
            scrap(cost->blocks[i].block << BLOCK_SHIFT, UINT64_C(1) << BLOCK_SHIFT);
}

static CUresult run_kernel(struct sc_op *op)
{
    struct sc_reach reach = {1u << op->device->ordinal, op->context->peers};
    const struct sc_address_space space = {.find = sc_space_lookup, .context = &reach};
    const struct sc_launch_work *work = &op->launch;
    struct sc_launch launch = {
        .function = work->function,
        .grid = {work->grid[0], work->grid[1], work->grid[2]},
        .block = {work->block[0], work->block[1], work->block[2]},
        .dynamic_shared_bytes = work->dynamic_shared_bytes,
        .parameters = work->parameters,
        .heap = work->heap,
        .heap_bytes = work->heap_bytes,
        .cooperative = work->cooperative,
        .space = &space,
        .workers = worker_count(),
        .watchdog_instructions = sc_options()->watchdog,
        .sample_over = sc_options()->sampled ? (uint32_t)sc_options()->sample_over : 0,
        .sample_instructions = sc_options()->sample_instructions,
        .scrap = scrap,
        .touches = sc_touched_wanted(),
        .accesses = sc_races_wanted(),
    };
    struct sc_fault fault = {0};
    struct sc_kernel_profile *profile = sc_kernel_profile_of(work->name);
    uint64_t begin_ns = profile ? sc_kernel_profile_now() : 0;
    launch.profile = sc_kernel_profile_kinds(profile);
    enum sc_engine_status status = work->native
                                       ? sc_native_run(work->native, &launch, &op->cost, &fault, &op->token)
                                       : sc_run(&launch, &op->cost, &fault);
    sc_kernel_profile_add(profile, begin_ns, &op->cost);
    switch (status) {
    case SC_ENGINE_OK:
        if (sc_options()->sampled) scrap_blocks(&op->cost);
        return CUDA_SUCCESS;
    case SC_ENGINE_FAULT:
        if (fault.kind == SC_FAULT_ILLEGAL_ADDRESS) op->fault_address = fault.address;
        return fault_result(op, &fault);
    case SC_ENGINE_NO_MEMORY:
        sc_log("kernel %s: no host memory to run it", work->name);
        return CUDA_ERROR_OUT_OF_MEMORY;
    default:
        sc_log("kernel %s cannot run", work->name);
        return CUDA_ERROR_LAUNCH_FAILED;
    }
}

static void copy(const struct sc_copy_work *work)
{
    const char *source = work->snapshot ? work->snapshot : (const char *)work->source;
    for (uint64_t z = 0; z < work->depth; z++)
        for (uint64_t y = 0; y < work->height; y++)
            memmove((char *)work->destination + z * work->destination_slice + y * work->destination_pitch,
                    source + z * work->source_slice + y * work->source_pitch, work->width);
}

/* Fills memory with an element of several bytes, by doubling the filled part. */
static void fill(char *to, uint64_t bytes, const void *element, uint64_t element_bytes)
{
    memcpy(to, element, element_bytes);
    for (uint64_t done = element_bytes; done < bytes;) {
        uint64_t more = done < bytes - done ? done : bytes - done;
        memcpy(to + done, to, more);
        done += more;
    }
}

static void set(const struct sc_set_work *work)
{
    for (uint64_t y = 0; y < work->height; y++) {
        char *row = (char *)work->address + y * work->pitch;
        if (work->element_bytes == 1)
            memset(row, (int)work->value, work->width);
        else
            fill(row, work->width * work->element_bytes, &work->value, work->element_bytes);
    }
}

static void copy_sample(const struct sc_copy_work *work)
{
    struct sc_copy_work part = sc_sampled_copy(work);
    copy(&part);
    sc_sampled_make_finite(&part);
}

static void set_sample(const struct sc_set_work *work)
{
    struct sc_set_work part = sc_sampled_set(work);
    set(&part);
}

/* Fills discarded memory with garbage, so that a program that still needs it notices. Only resident pages are
 * filled: discarding must not allocate memory. Where contents do not count, their pages go back to the
 * system. */
static void spoil(uint64_t address, uint64_t bytes)
{
    unsigned char present[512];
    uint64_t begin = (address + PAGE - 1) & ~(PAGE - 1), end = (address + bytes) & ~(PAGE - 1);
    if (sc_options()->sampled) {
        give_pages_back(address, bytes);
        return;
    }
    for (uint64_t at = begin; at < end;) {
        uint64_t pages = (end - at) / PAGE;
        if (pages > sizeof present) pages = sizeof present;
        if (mincore((void *)at, pages * PAGE, present)) return;
        for (uint64_t i = 0; i < pages; i++)
            if (present[i] & 1) memset((void *)(at + i * PAGE), GARBAGE, PAGE);
        at += pages * PAGE;
    }
}

static void call(const struct sc_call_work *work)
{
    sc_set_in_callback(true);
    if (work->function)
        work->function(work->data);
    else
        work->callback(work->stream, CUDA_SUCCESS, work->data);
    sc_set_in_callback(false);
}

/* Whether the memory exists: a graph node may be launched after its memory was freed, or before it is
 * allocated. */
static bool exists(uint64_t address, uint64_t bytes, enum sc_side side)
{
    if (side == SC_SIDE_PAGEABLE) return true;
    const struct sc_allocation *allocation = sc_space_find_range(address, bytes);
    return allocation && !allocation->dormant;
}

static bool reaches(struct sc_box box, enum sc_side side)
{
    uint64_t bytes;
    return sc_extent(&box, &bytes) && exists(box.address, bytes, side);
}

static CUresult check_node(const struct sc_op *op)
{
    const struct sc_copy_work *copied = &op->copy;
    const struct sc_set_work *filled = &op->set;
    bool ok = true;
    if (op->kind == SC_OP_COPY)
        ok = reaches(sc_copy_box(copied, true), copied->to) &&
             reaches(sc_copy_box(copied, false), copied->from);
    if (op->kind == SC_OP_SET)
        ok = reaches((struct sc_box){filled->address, filled->width * filled->element_bytes, filled->height,
                                     1, filled->pitch, 0},
                     filled->to);
    if (ok) return CUDA_SUCCESS;
    sc_log("a %s in a graph: its memory is gone, or not allocated yet",
           op->kind == SC_OP_COPY ? "copy" : "memset");
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* Executes the record of an interprocess event, or a wait for one. */
static CUresult meet_process(struct sc_op *op)
{
    op->token = op->peers->begin(&op->ipc);
    if (!op->token) return CUDA_ERROR_OUT_OF_MEMORY;
    return op->peers->run(NULL, op->token) ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_TIMEOUT;
}

static CUresult work_on(struct sc_op *op)
{
    switch (op->kind) {
    case SC_OP_KERNEL:
        return run_kernel(op);
    case SC_OP_COPY:
        if (sc_options()->sampled)
            copy_sample(&op->copy);
        else
            copy(&op->copy);
        break;
    case SC_OP_SET:
        if (sc_options()->sampled)
            set_sample(&op->set);
        else
            set(&op->set);
        break;
    case SC_OP_DISCARD:
    case SC_OP_DISCARD_PREFETCH:
        for (uint64_t i = 0; i < op->move.count; i++)
            spoil(op->move.spans[i].address, op->move.spans[i].bytes);
        break;
    case SC_OP_CALL:
        call(&op->call);
        break;
    case SC_OP_RECORD:
    case SC_OP_WAIT:
        return op->peers ? meet_process(op) : CUDA_SUCCESS;
    default:
        break; /* changes residency, not contents */
    }
    return CUDA_SUCCESS;
}

CUresult sc_op_execute(struct sc_op *op)
{
    CUresult fault = op->in_graph ? check_node(op) : CUDA_SUCCESS;
    if (fault) return fault;
    bool on_device = op->kind != SC_OP_CALL; /* a host function is the program's */
    if (on_device) sc_program_time_pause();
    if (on_device) sc_trap_begin();
    sc_hidden_before(op);
    fault = work_on(op);
    sc_hidden_after(op);
    if (on_device) sc_trap_end();
    if (on_device) sc_program_time_go_on();
    return fault;
}
