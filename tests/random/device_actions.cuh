/* Kernels, streams, and calls that fail, of a random program. */
#ifndef RANDOM_DEVICE_ACTIONS_CUH
#define RANDOM_DEVICE_ACTIONS_CUH

#include "memory_actions.cuh"

/* Up to `count` different buffers, the first to be written; how many there are. */
static int pick(World *w, Buffer **buffers, bool *writes, int count)
{
    int found = 0;
    for (int tries = 0; tries < 4 * count && found < count; tries++) {
        Buffer *buffer = any_buffer(w);
        bool taken = !buffer;
        for (int i = 0; i < found; i++) taken = taken || buffers[i] == buffer;
        if (taken) continue;
        writes[found] = found == 0;
        buffers[found++] = buffer;
    }
    return found;
}

static size_t least_words(Buffer *const *buffers, int count)
{
    size_t bytes = buffers[0]->bytes;
    for (int i = 1; i < count; i++)
        if (buffers[i]->bytes < bytes) bytes = buffers[i]->bytes;
    return bytes / 4;
}

static uint32_t *words_of(const Buffer *buffer, size_t skip)
{
    return (uint32_t *)buffer->address + skip;
}

/* Puts the buffers' pointers into a new table on the device. */
static CUdeviceptr make_table(World *w, Buffer *const *buffers, int count, int s)
{
    CUdeviceptr table;
    must(cuMemAlloc(&table, (size_t)count * sizeof table));
    uint64_t *entries = (uint64_t *)host_memory(w, (size_t)count * sizeof *entries, chance(w, 50));
    for (int i = 0; i < count; i++) entries[i] = buffers[i]->address;
    must(cuMemcpyHtoDAsync(table, entries, (size_t)count * sizeof *entries, w->streams[s]));
    return table;
}

static void run_kernel(World *w)
{
    Buffer *b[8];
    bool writes[8];
    int count = pick(w, b, writes, 8), s = (int)below(w, STREAMS);
    uint32_t salt = (uint32_t)next_random(w);
    if (count < 8) return;
    size_t two = least_words(b, 2), eight = least_words(b, 8), skip = chance(w, 50) ? 0 : below(w, two);
    int kind = (int)below(w, 8), uses = kind == 0   ? 2
                                        : kind == 1 ? 4
                                        : kind == 2 ? 8
                                        : kind == 3 ? 3
                                        : kind == 5 ? 2
                                                    : 1;
    if (kind == 5 && b[0]->bytes < 256) return;
    use(w, b, writes, uses, s);
    CUdeviceptr table = 0;
    switch (kind) {
    case 0:
        launch(w, s, fold, words_of(b[0], skip), words_of(b[1], skip), two - skip, salt);
        break;
    case 1: {
        Sources sources = {salt,
                           words_of(b[0], 0),
                           least_words(b, 4),
                           {words_of(b[1], 0), words_of(b[2], 0), words_of(b[3], 0)},
                           (uint16_t)salt};
        launch(w, s, fold_structure, sources);
        break;
    }
    case 2:
        launch(w, s, fold_eight, words_of(b[0], 0), words_of(b[1], 0), words_of(b[2], 0), words_of(b[3], 0),
               words_of(b[4], 0), words_of(b[5], 0), words_of(b[6], 0), words_of(b[7], 0), eight);
        break;
    case 3:
        table = make_table(w, b, 3, s);
        launch(w, s, fold_table, (uint32_t *const *)table, 3, least_words(b, 3), salt);
        break;
    case 4:
        launch(w, s, touch, words_of(b[0], 0), b[0]->bytes / 4, 1 + below(w, 5000), salt);
        break;
    case 5:
        launch(w, s, tally, words_of(b[0], 0), words_of(b[1], 0), two);
        break;
    case 6:
        must(cuMemAlloc(&table, sizeof table));
        launch(w, s, hide, (uint32_t **)table, b[0]->address / 2, b[0]->address - b[0]->address / 2);
        launch(w, s, fold_hidden, (uint32_t *const *)table, b[0]->bytes / 4, salt);
        break;
    default:
        launch(w, s, fill, words_of(b[0], 0), b[0]->bytes / 4, salt);
    }
    used(w, b, writes, uses, s);
    if (table) must(cuMemFree(table)); /* waits for the kernel */
}

/* A new stream in the place of one of the program's own. What the old one was given still comes first. */
static void replace_stream(World *w)
{
    int s = 2 + (int)below(w, STREAMS - 2);
    CUevent last;
    must(cuEventCreate(&last, CU_EVENT_DISABLE_TIMING));
    must(cuEventRecord(last, w->streams[s]));
    if (chance(w, 30)) must(cuStreamSynchronize(w->streams[s]));
    must(cuStreamDestroy(w->streams[s]));
    must(cuStreamCreateWithPriority(&w->streams[s],
                                    chance(w, 50) ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT, 0));
    must(cuStreamWaitEvent(w->streams[s], last, 0));
    must(cuEventDestroy(last));
}

static void wait_for_something(World *w)
{
    switch (below(w, 4)) {
    case 0:
        wait_for_context(false);
        break;
    case 1:
        wait_for_context(true);
        break;
    case 2:
        must(cuStreamSynchronize(w->streams[below(w, STREAMS)]));
        break;
    default:
        (void)cuStreamQuery(w->streams[below(w, STREAMS)]);
    }
}

/* Calls that the driver refuses, and questions about memory. The answers are part of the result. */
static void ask(World *w)
{
    Buffer *buffer = any_buffer(w);
    if (!buffer) return;
    CUdeviceptr base = 0, pointer = 0;
    size_t bytes = 0, offset = below(w, buffer->bytes);
    unsigned type = 0;
    cudaFunction_t function;
    uint64_t nothing = 0;
    void *none[] = {&nothing, &nothing, &nothing};
    switch (below(w, 14)) {
    case 0:
        note_result(w, "address range", cuMemGetAddressRange(&base, &bytes, buffer->address + offset));
        note(w, buffer->kind == ASYNC || (base == buffer->address && bytes == buffer->bytes));
        break;
    case 1:
        note_result(w, "memory type",
                    cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, buffer->address + offset));
        note(w, type);
        break;
    case 2:
        note_result(w, "is managed",
                    cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_IS_MANAGED, buffer->address + offset));
        note(w, type);
        break;
    case 3:
        note_result(w, "no bytes", cuMemAlloc(&pointer, 0));
        break;
    case 4:
        if (buffer->kind == PLAIN && offset)
            note_result(w, "free inside", cuMemFree(buffer->address + offset));
        break;
    case 5:
        note_result(w, "free nowhere", cuMemFree((CUdeviceptr)&type));
        break;
    case 6:
        must(cudaGetFuncBySymbol(&function, (const void *)fill));
        note_result(w, "too large a block",
                    cuLaunchKernel(function, 1, 1, 1, 4096, 1, 1, 0, w->streams[0], none, NULL));
        break;
    case 7:
        note_result(w, "no bytes in stream order", cuMemAllocAsync(&pointer, 0, w->streams[0]));
        break;
    case 8:
        if (buffer->kind == ASYNC && offset)
            note_result(w, "free inside", cuMemFreeAsync(buffer->address + offset, w->streams[0]));
        break;
    case 9:
        must(cuMemAllocFromPoolAsync(&pointer, 64 + offset, w->pool, w->streams[0]));
        must(cuMemFreeAsync(pointer, w->streams[0]));
        break;
    case 10:
        if (buffer->kind == ASYNC) break; /* a pool may give more than was asked for */
        note_result(w, "copy beyond the end",
                    cuMemcpyDtoDAsync(buffer->address + offset, buffer->address, buffer->bytes - offset + 1,
                                      w->streams[0]));
        break;
    case 11:
        if (buffer->kind == ASYNC) break;
        note_result(w, "set beyond the end",
                    cuMemsetD8Async(buffer->address + offset, 0, buffer->bytes - offset + 1, w->streams[0]));
        break;
    case 12:
        note_result(w, "host flags", cuMemHostGetFlags(&type, (void *)buffer->address));
        note_result(w, "mapped",
                    cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MAPPED, buffer->address + offset));
        note(w, type);
        break;
    default:
        if (buffer->kind == PLAIN) {
            must(cuMemAlloc(&pointer, 64));
            must(cuMemFree(pointer));
            note_result(w, "start of a range", cuMemGetAddressRange(&base, NULL, buffer->address + offset));
            note(w, base == buffer->address);
        }
    }
}

#endif
