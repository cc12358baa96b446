#include "probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char probe_kernels[] =
#include "kernels.ptx.inc"
    ;

const char *const advice_names[ADVICE_COUNT] = {"none", "accessed by", "host, accessed by"};

void must_succeed(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS) return;
    const char *name = NULL;
    cu.cuGetErrorName(result, &name);
    fflush(stdout);
    fprintf(stderr, "um_probe: %s: %s\n", what, name ? name : "unknown error");
    exit(EXIT_FAILURE);
}

double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static CUmemLocation location(const struct probe *probe, bool device)
{
    if (device) return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = probe->device};
    return (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST};
}

void advise(const struct probe *probe, CUdeviceptr memory, uint64_t bytes, CUmem_advise advice, bool device)
{
    MUST(cu.cuMemAdvise(memory, bytes, advice, location(probe, device)));
}

CUdeviceptr managed_new(const struct probe *probe, uint64_t bytes, enum advice advice)
{
    CUdeviceptr memory;
    if (bytes > probe->bytes) {
        fprintf(stderr, "um_probe: %llu bytes of managed memory are more than a part may have\n",
                (unsigned long long)bytes);
        exit(EXIT_FAILURE);
    }
    MUST(cu.cuMemAllocManaged(&memory, bytes, CU_MEM_ATTACH_GLOBAL));
    if (advice == ADVICE_HOST_ACCESSED_BY)
        advise(probe, memory, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, false);
    if (advice != ADVICE_NONE) advise(probe, memory, bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, true);
    return memory;
}

CUstream stream_new(void)
{
    CUstream stream;
    MUST(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

CUevent event_new(void)
{
    CUevent event;
    MUST(cu.cuEventCreate(&event, CU_EVENT_DEFAULT));
    return event;
}

uint64_t free_device_bytes(void)
{
    size_t free_bytes, total_bytes;
    MUST(cu.cuMemGetInfo(&free_bytes, &total_bytes));
    return free_bytes;
}

static void launch(CUfunction function, unsigned blocks, unsigned threads, void **arguments, CUstream stream)
{
    MUST(cu.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, NULL));
}

void launch_spin(const struct probe *probe, CUstream stream)
{
    CUdeviceptr out = probe->scratch;
    uint64_t count = probe->spin_count;
    launch(probe->spin, 1, 1, (void *[]){&out, &count}, stream);
}

void launch_nothing(const struct probe *probe, CUstream stream)
{
    launch(probe->nothing, 1, 1, (void *[]){NULL}, stream);
}

enum { THREADS = 256, MOST_BLOCKS = 2048 };

static unsigned blocks_for(uint64_t count)
{
    uint64_t blocks = (count + THREADS - 1) / THREADS;
    return (unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

void launch_read(const struct probe *probe, CUdeviceptr data, uint64_t bytes, CUstream stream)
{
    CUdeviceptr out = probe->scratch;
    uint64_t count = bytes / 16;
    launch(probe->read_all, blocks_for(count), THREADS, (void *[]){&data, &count, &out}, stream);
}

void launch_write(const struct probe *probe, CUdeviceptr data, uint64_t bytes, CUstream stream)
{
    uint64_t count = bytes / 16;
    float value = 1.0f;
    launch(probe->write_all, blocks_for(count), THREADS, (void *[]){&data, &count, &value}, stream);
}

void launch_copy(const struct probe *probe, CUdeviceptr to, CUdeviceptr from, uint64_t bytes, CUstream stream)
{
    uint64_t count = bytes / 16;
    launch(probe->copy_all, blocks_for(count), THREADS, (void *[]){&to, &from, &count}, stream);
}

void launch_fill(const struct probe *probe, CUdeviceptr data, uint64_t bytes, unsigned value, CUstream stream)
{
    uint64_t count = bytes / 4;
    launch(probe->fill, blocks_for(count), THREADS, (void *[]){&data, &count, &value}, stream);
}

void launch_count(const struct probe *probe, CUdeviceptr data, uint64_t bytes, unsigned value,
                  CUstream stream)
{
    uint64_t count = bytes / 4;
    CUdeviceptr out = probe->scratch + 8; /* the other kernels' result lies before it */
    MUST(cu.cuMemsetD32Async(out, 0, 2, stream));
    launch(probe->count_others, blocks_for(count), THREADS, (void *[]){&data, &count, &value, &out}, stream);
}

uint64_t counted(const struct probe *probe, CUstream stream)
{
    uint64_t count = 0;
    MUST(cu.cuMemcpyDtoHAsync(&count, probe->scratch + 8, sizeof count, stream));
    MUST(cu.cuStreamSynchronize(stream));
    return count;
}

uint64_t words_other_than(const void *data, uint64_t bytes, unsigned value)
{
    const unsigned *words = data;
    uint64_t others = 0;
    for (uint64_t i = 0; i < bytes / sizeof *words; i++) others += words[i] != value;
    return others;
}

void prefetch(const struct probe *probe, CUdeviceptr data, uint64_t bytes, bool to_device, CUstream stream)
{
    MUST(cu.cuMemPrefetchAsync(data, bytes, location(probe, to_device), 0, stream));
}

bool move(const struct probe *probe, char step, CUdeviceptr data, uint64_t bytes, CUstream stream)
{
    size_t size = bytes, first = 0;
    CUmemLocation device = location(probe, true);
    switch (step) {
    case 'h':
        memset((void *)(uintptr_t)data, 1, bytes);
        return true;
    case 'w':
        launch_write(probe, data, bytes, stream);
        return true;
    case 'd':
    case 'e':
        prefetch(probe, data, bytes, step == 'd', stream);
        return true;
    case 'x':
        if (!probe->can_discard) return false;
        MUST(cu.cuMemDiscardBatchAsync(&data, &size, 1, 0, stream));
        return true;
    case 'p':
        if (!probe->can_discard) return false;
        MUST(cu.cuMemDiscardAndPrefetchBatchAsync(&data, &size, 1, &device, &first, 1, 0, stream));
        return true;
    default:
        return false;
    }
}

bool move_all(const struct probe *probe, const char *steps, CUdeviceptr data, uint64_t bytes, CUstream stream)
{
    for (; *steps; steps++) {
        if (!move(probe, *steps, data, bytes, stream)) return false;
        MUST(cu.cuStreamSynchronize(stream));
    }
    return true;
}

double elapsed_seconds(CUevent from, CUevent to)
{
    float milliseconds;
    MUST(cu.cuEventSynchronize(to));
    MUST(cu.cuEventElapsedTime(&milliseconds, from, to));
    return (double)milliseconds * 1e-3;
}
