/* What cuMemGetInfo counts, and when: a module that is loaded lazily, a kernel that needs a stack, managed
 * memory where it is resident and where it is not. To be run with CUDA_MODULE_LOADING=LAZY. */
#include "answer.h"
#include "probe.h"

/* What was taken since the last call, in MiB; negative what was given back. */
static void answer_taken(uint64_t *last_free, const char *by)
{
    uint64_t now_free = free_device_bytes();
    answer_number(((double)*last_free - (double)now_free) / (double)MIB, "MiB", "taken by %s", by);
    *last_free = now_free;
}

static void follow_module(const struct probe *probe, CUstream stream)
{
    CUmodule module;
    CUfunction plain, deep;
    int depth = 0;
    uint64_t last = free_device_bytes();
    CUdeviceptr out = probe->scratch;
    MUST(cu.cuModuleLoadData(&module, probe_kernels));
    answer_taken(&last, "a module");
    MUST(cu.cuModuleGetFunction(&plain, module, "nothing"));
    MUST(cu.cuModuleGetFunction(&deep, module, "deep"));
    answer_taken(&last, "looking up its kernels");
    MUST(cu.cuLaunchKernel(plain, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){NULL}, NULL));
    MUST(cu.cuStreamSynchronize(stream));
    answer_taken(&last, "the first launch of one");
    MUST(cu.cuLaunchKernel(deep, 1, 1, 1, 32, 1, 1, 0, stream, (void *[]){&out, &depth}, NULL));
    MUST(cu.cuStreamSynchronize(stream));
    answer_taken(&last, "the first launch of one with 2 KiB of local memory");
    MUST(cu.cuModuleUnload(module));
    answer_taken(&last, "unloading the module");
}

static void follow_managed(const struct probe *probe, CUstream stream)
{
    uint64_t bytes = probe->bytes < 256 * MIB ? probe->bytes / 2 : 128 * MIB, before = free_device_bytes();
    uint64_t last = before;
    answer_number((double)bytes / (double)MIB, "MiB", "managed memory in question");
    CUdeviceptr memory = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
    answer_taken(&last, "reserving it");
    move_all(probe, "h", memory, bytes, stream);
    answer_taken(&last, "writing it on the host");
    move_all(probe, "d", memory, bytes, stream);
    answer_text(before >= free_device_bytes() + bytes ? "yes" : "no", "cuMemGetInfo counts what is resident");
    answer_taken(&last, "fetching it");
    move_all(probe, "w", memory, bytes, stream);
    answer_taken(&last, "writing it on the device");
    if (move_all(probe, "x", memory, bytes, stream)) answer_taken(&last, "discarding it");
    move_all(probe, "de", memory, bytes, stream);
    answer_taken(&last, "evicting it");
    MUST(cu.cuMemFree(memory));
    answer_taken(&last, "freeing it");
}

static void follow_streams(CUstream stream)
{
    CUdeviceptr memory;
    uint64_t last = free_device_bytes();
    CUstream streams[32];
    for (int i = 0; i < 32; i++) streams[i] = stream_new();
    answer_taken(&last, "32 streams");
    for (int i = 0; i < 32; i++) MUST(cu.cuStreamDestroy(streams[i]));
    MUST(cu.cuMemAlloc(&memory, 1));
    answer_taken(&last, "cuMemAlloc of a byte");
    MUST(cu.cuMemFree(memory));
    if (!cu.cuMemAllocAsync || cu.cuMemAllocAsync(&memory, 64 * MIB, stream)) return;
    MUST(cu.cuStreamSynchronize(stream));
    last = free_device_bytes();
    MUST(cu.cuMemFreeAsync(memory, stream));
    answer_taken(&last, "cuMemFreeAsync of 64 MiB, before the stream is waited for");
    MUST(cu.cuStreamSynchronize(stream));
    answer_taken(&last, "waiting for the stream");
}

void part_memory(struct probe *probe)
{
    CUstream stream = stream_new();
    follow_module(probe, stream);
    follow_managed(probe, stream);
    follow_streams(stream);
    MUST(cu.cuStreamDestroy(stream));
}
