/* When memory that was freed is given out again, and which calls that allocate, free or load wait for a
 * stream that does not move. */
#include "answer.h"
#include "hold.h"
#include "probe.h"

enum { FIRST = 0x33333333, SECOND = 0x44444444 };
static const double HOLD_SECONDS = 0.4;

enum relation { SAME_STREAM, NO_ORDER, BEHIND_EVENT, RELATION_COUNT };
static const char *const relation_names[RELATION_COUNT] = {"same stream", "another stream, no order",
                                                           "another stream, behind an event"};

/* Memory is written on a held stream and freed there; an allocation of its size follows, is written and read.
 */
static void check_stream_order(const struct probe *probe, enum relation relation)
{
    const uint64_t bytes = 8 * MIB;
    const char *name = relation_names[relation];
    struct hold hold;
    CUstream first = stream_new(), second = relation == SAME_STREAM ? first : stream_new();
    CUevent freed = event_new();
    CUdeviceptr old, fresh;
    MUST(cu.cuMemAllocAsync(&old, bytes, first));
    MUST(cu.cuStreamSynchronize(first));
    hold_begin(&hold, first, HOLD_SECONDS);
    launch_fill(probe, old, bytes, FIRST, first);
    MUST(cu.cuMemFreeAsync(old, first));
    MUST(cu.cuEventRecord(freed, first));
    if (relation == BEHIND_EVENT) MUST(cu.cuStreamWaitEvent(second, freed, 0));
    double before = now_seconds();
    MUST(cu.cuMemAllocAsync(&fresh, bytes, second));
    double call = now_seconds() - before;
    bool call_waits = hold.gave_up;
    launch_fill(probe, fresh, bytes, SECOND, second);
    if (relation == NO_ORDER) MUST(cu.cuStreamSynchronize(second));
    bool stream_waits = hold_end(&hold);
    MUST(cu.cuStreamSynchronize(second));
    launch_count(probe, fresh, bytes, SECOND, second);
    answer_metadata(counted(probe, second) == 0, "%s: what is given out again keeps what is written to it",
                    name);
    answer_text(fresh == old ? "the same" : "another", "%s: address", name);
    answer_number(call * 1e6, "us", "%s: cuMemAllocAsync: call", name);
    answer_text(call_waits ? "waits" : "returns", "%s: cuMemAllocAsync", name);
    if (relation == NO_ORDER)
        answer_text(stream_waits ? "waits" : "goes on", "%s: the stream that allocates", name);
    MUST(cu.cuMemFreeAsync(fresh, second));
    MUST(cu.cuStreamSynchronize(second));
    MUST(cu.cuEventDestroy(freed));
    if (second != first) MUST(cu.cuStreamDestroy(second));
    MUST(cu.cuStreamDestroy(first));
}

/* What the calls below begin with, made before a stream is held. */
struct things {
    const struct probe *probe;
    CUdeviceptr plain, unused, pooled, managed;
    CUmodule module;
    CUstream other;
};

static void free_used(struct things *t)
{
    MUST(cu.cuMemFree(t->plain));
}

static void free_unused(struct things *t)
{
    MUST(cu.cuMemFree(t->unused));
}

static void free_managed(struct things *t)
{
    MUST(cu.cuMemFree(t->managed));
}

static void free_pooled(struct things *t)
{
    MUST(cu.cuMemFree(t->pooled));
}

static void allocate(struct things *t)
{
    MUST(cu.cuMemAlloc(&t->plain, 4 * MIB));
}

static void allocate_managed(struct things *t)
{
    t->managed = managed_new(t->probe, 4 * MIB, ADVICE_NONE);
}

static void load_module(struct things *t)
{
    MUST(cu.cuModuleLoadData(&t->module, probe_kernels));
}

static void launch_lazily(struct things *t)
{
    CUfunction function;
    int depth = 0;
    CUdeviceptr out = t->probe->scratch;
    MUST(cu.cuModuleGetFunction(&function, t->module, "deep"));
    MUST(cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, t->other, (void *[]){&out, &depth}, NULL));
}

static void unload_module(struct things *t)
{
    MUST(cu.cuModuleUnload(t->module));
}

static const struct {
    const char *name;
    void (*call)(struct things *things);
} calls[] = {
    {"cuMemFree of what the held stream uses", free_used},
    {"cuMemFree of what nobody uses", free_unused},
    {"cuMemFree of managed memory that nobody uses", free_managed},
    {"cuMemFree of a pool's memory that nobody uses", free_pooled},
    {"cuMemAlloc", allocate},
    {"cuMemAllocManaged", allocate_managed},
    {"cuModuleLoadData", load_module},
    {"the first launch of a kernel with a stack, another stream", launch_lazily},
    {"cuModuleUnload", unload_module},
};

static void check_calls(const struct probe *probe)
{
    struct things things = {.probe = probe, .other = stream_new()};
    CUstream held = stream_new();
    MUST(cu.cuMemAlloc(&things.plain, 4 * MIB));
    MUST(cu.cuMemAlloc(&things.unused, 4 * MIB));
    things.managed = managed_new(probe, 4 * MIB, ADVICE_HOST_ACCESSED_BY);
    if (cu.cuMemAllocAsync) MUST(cu.cuMemAllocAsync(&things.pooled, 4 * MIB, things.other));
    MUST(cu.cuCtxSynchronize());
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct hold hold;
        if (calls[i].call == free_pooled && !things.pooled) continue;
        hold_begin(&hold, held, HOLD_SECONDS);
        if (calls[i].call == free_used) launch_fill(probe, things.plain, 4 * MIB, FIRST, held);
        calls[i].call(&things);
        answer_text(hold_end(&hold) ? "waits" : "returns", "%s", calls[i].name);
        MUST(cu.cuCtxSynchronize());
    }
    MUST(cu.cuMemFree(things.plain));
    MUST(cu.cuMemFree(things.managed));
    MUST(cu.cuStreamDestroy(held));
    MUST(cu.cuStreamDestroy(things.other));
}

void part_reuse(struct probe *probe)
{
    if (cu.cuMemAllocAsync && cu.cuMemFreeAsync)
        for (enum relation relation = 0; relation < RELATION_COUNT; relation++)
            check_stream_order(probe, relation);
    check_calls(probe);
}
