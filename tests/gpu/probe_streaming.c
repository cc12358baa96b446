/* A kernel that streams host memory: reads it, writes it, and reads one half while it writes the other, so
 * that both directions of the link are in use. By kind of memory, and by the size of its pages, on which
 * depends by how large pieces the device maps it. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "probe.h"

enum memory { PREFETCHED, TOUCHED, REGISTERED_HUGE, REGISTERED_SMALL, PINNED, DEVICE, MEMORIES };
static const char *const memory_names[MEMORIES] = {
    "managed, populated by a prefetch to the host", /* 2 MiB blocks, where the host has them */
    "managed, populated page by page",              /* 4 KiB pages, mostly */
    "registered, 2 MiB pages",
    "registered, 4 KiB pages",
    "pinned",
    "device",
};

struct buffer {
    CUdeviceptr data;
    void *host, *mapping;
    uint64_t mapping_bytes;
};

/* In an order in which no neighbour follows: a driver that guesses ahead has nothing to guess from. */
static void touch_pages(void *memory, uint64_t bytes)
{
    volatile char *pages = memory;
    for (uint64_t page = 0; page < 2 * MIB; page += 4096)
        for (uint64_t block = 0; block < bytes; block += 2 * MIB) pages[block + page] = 1;
}

/* False if the driver or the kernel refuses it. */
static bool register_pages(struct buffer *out, uint64_t bytes, bool huge)
{
    out->mapping_bytes = bytes + 2 * MIB;
    out->mapping = mmap(NULL, out->mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out->mapping == MAP_FAILED) {
        out->mapping = NULL;
        return false;
    }
    uintptr_t aligned = ((uintptr_t)out->mapping + 2 * MIB - 1) & ~(uintptr_t)(2 * MIB - 1);
    out->host = (void *)aligned;
    madvise(out->host, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(out->host, 1, bytes);
    if (!cu.cuMemHostRegister ||
        cu.cuMemHostRegister(out->host, bytes, CU_MEMHOSTREGISTER_DEVICEMAP) != CUDA_SUCCESS)
        return false;
    MUST(cu.cuMemHostGetDevicePointer(&out->data, out->host, 0));
    return true;
}

static bool buffer_new(struct buffer *out, const struct probe *probe, enum memory memory, uint64_t bytes,
                       CUstream stream)
{
    *out = (struct buffer){0};
    switch (memory) {
    case PREFETCHED:
        out->data = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
        return move_all(probe, "e", out->data, bytes, stream);
    case TOUCHED:
        out->data = managed_new(probe, bytes, ADVICE_HOST_ACCESSED_BY);
        touch_pages((void *)(uintptr_t)out->data, bytes);
        return true;
    case REGISTERED_HUGE:
    case REGISTERED_SMALL:
        return register_pages(out, bytes, memory == REGISTERED_HUGE);
    case PINNED:
        MUST(cu.cuMemHostAlloc(&out->host, bytes, CU_MEMHOSTALLOC_DEVICEMAP));
        MUST(cu.cuMemHostGetDevicePointer(&out->data, out->host, 0));
        return true;
    default:
        MUST(cu.cuMemAlloc(&out->data, bytes));
        return true;
    }
}

static void buffer_delete(struct buffer *buffer, enum memory memory)
{
    if (memory == PINNED) {
        MUST(cu.cuMemFreeHost(buffer->host));
    } else if (memory == REGISTERED_HUGE || memory == REGISTERED_SMALL) {
        if (buffer->data) MUST(cu.cuMemHostUnregister(buffer->host));
        if (buffer->mapping) munmap(buffer->mapping, buffer->mapping_bytes);
    } else {
        MUST(cu.cuMemFree(buffer->data));
    }
}

/* Of a mapping, how much of it the kernel backs with huge pages. */
static uint64_t huge_bytes(const void *address)
{
    char line[256];
    unsigned long long from, to, value, found = 0;
    bool inside = false;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%llx-%llx ", &from, &to) == 2)
            inside = (uintptr_t)address >= from && (uintptr_t)address < to;
        else if (inside && sscanf(line, "AnonHugePages: %llu kB", &value) == 1)
            found = value * 1024;
    }
    if (file) fclose(file);
    return found;
}

enum use { READ, WRITE, BOTH, USES };

/* Seconds of the fastest of several, after one that does not count. */
static double time_use(const struct probe *probe, enum use use, CUdeviceptr data, uint64_t bytes,
                       CUstream stream)
{
    CUevent begin = event_new(), end = event_new();
    double best = 0;
    for (int i = 0; i <= probe->repeat; i++) {
        MUST(cu.cuEventRecord(begin, stream));
        if (use == READ) launch_read(probe, data, bytes, stream);
        if (use == WRITE) launch_write(probe, data, bytes, stream);
        if (use == BOTH) launch_copy(probe, data + bytes / 2, data, bytes / 2, stream);
        MUST(cu.cuEventRecord(end, stream));
        double seconds = elapsed_seconds(begin, end);
        if (i == 1 || (i > 1 && seconds < best)) best = seconds;
    }
    MUST(cu.cuEventDestroy(begin));
    MUST(cu.cuEventDestroy(end));
    return best;
}

void part_streaming(struct probe *probe)
{
    uint64_t bytes = probe->bytes < 512 * MIB ? 16 * MIB : 256 * MIB;
    CUstream stream = stream_new();
    for (enum memory memory = 0; memory < MEMORIES; memory++) {
        struct buffer buffer;
        if (buffer_new(&buffer, probe, memory, bytes, stream)) {
            double gbps[USES];
            for (enum use use = 0; use < USES; use++)
                gbps[use] = (double)bytes / time_use(probe, use, buffer.data, bytes, stream) * 1e-9;
            printf("{\"part\": \"streaming\", \"memory\": \"%s\", \"bytes\": %llu, \"huge_bytes\": %llu, "
                   "\"read_gbps\": %.3f, \"write_gbps\": %.3f, \"both_gbps\": %.3f}\n",
                   memory_names[memory], (unsigned long long)bytes,
                   (unsigned long long)(buffer.mapping ? huge_bytes(buffer.host) : 0), gbps[READ],
                   gbps[WRITE], gbps[BOTH]);
        }
        buffer_delete(&buffer, memory);
    }
    MUST(cu.cuStreamDestroy(stream));
}
