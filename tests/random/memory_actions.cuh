/* Allocations, frees, copies and sets of a random program. */
#ifndef RANDOM_MEMORY_ACTIONS_CUH
#define RANDOM_MEMORY_ACTIONS_CUH

#include "kernels.cuh"
#include "launch.cuh"

/* Most tensors are small, most bytes are in large ones. */
static inline size_t random_bytes(World *w)
{
    size_t bytes = (size_t)1 << (4 + below(w, 19));
    return bytes + 4 * below(w, bytes / 4);
}

static inline void set_buffer(World *w, Buffer *buffer, int s);

/* Of whole pieces, each of them memory of its own, somewhere in a range of addresses. Returns how long it is.
 */
static inline size_t map_pieces(World *w, Buffer *buffer, size_t bytes)
{
    const size_t piece = (size_t)2 << 20, before = below(w, 3) * piece;
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc access = {};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    bytes = (bytes + piece - 1) / piece * piece;
    buffer->reserved_bytes = before + bytes + below(w, 3) * piece;
    must(cuMemAddressReserve(&buffer->reserved, buffer->reserved_bytes, 0, 0, 0));
    buffer->address = buffer->reserved + before;
    for (size_t at = 0; at < bytes; at += piece) {
        CUmemGenericAllocationHandle handle;
        must(cuMemCreate(&handle, piece, &properties, 0));
        must(cuMemMap(buffer->address + at, piece, 0, handle, 0));
        must(cuMemRelease(handle));
    }
    must(cuMemSetAccess(buffer->address, bytes, &access, 1));
    return bytes;
}

static inline void allocate(World *w)
{
    Buffer *buffer = NULL;
    for (int i = 0; i < MAX_BUFFERS && !buffer; i++)
        if (!w->buffers[i].address) buffer = &w->buffers[i];
    if (!buffer) return;
    int s = (int)below(w, STREAMS),
        kind = chance(w, 60) ? PLAIN : (int)below(w, w->plain ? MANAGED : BUFFER_KINDS);
    size_t bytes = random_bytes(w) & ~(size_t)3;
    if (kind == PLAIN) must(cuMemAlloc(&buffer->address, bytes));
    if (kind == RUNTIME) must(cudaMalloc((void **)&buffer->address, bytes));
    if (kind == ASYNC && chance(w, 50)) must(cuMemAllocAsync(&buffer->address, bytes, w->streams[s]));
    if (kind == ASYNC && !buffer->address)
        must(cuMemAllocFromPoolAsync(&buffer->address, bytes, w->pool, w->streams[s]));
    if (kind == MAPPED) bytes = map_pieces(w, buffer, bytes);
    if (kind == MANAGED) must(cuMemAllocManaged(&buffer->address, bytes, CU_MEM_ATTACH_GLOBAL));
    buffer->bytes = bytes;
    buffer->kind = (BufferKind)kind;
    buffer->writer = -1;
    memset(buffer->pending, 0, sizeof buffer->pending);
    w->live_bytes += bytes;
    if (w->live_bytes > w->peak_bytes) w->peak_bytes = w->live_bytes;
    if (kind == MANAGED) w->passed_bytes += bytes;
    if (kind == ASYNC) after_use(w, buffer, s, true);
    set_buffer(w, buffer, s);
}

static inline void *free_in_thread(void *argument)
{
    must(cuMemFree(*(CUdeviceptr *)argument));
    return NULL;
}

/* With the program's context current, or none, or in a thread that never had any. */
static inline void free_plainly(World *w, CUdeviceptr address)
{
    pthread_t thread;
    CUcontext popped;
    switch (w->contexts ? below(w, 5) : 4) {
    case 0:
        must(cuCtxSetCurrent(NULL));
        must(cuMemFree(address));
        must(cuCtxSetCurrent(w->context));
        break;
    case 1:
        must(cuCtxPopCurrent(&popped));
        must(cuMemFree(address));
        must(cuCtxPushCurrent(popped));
        break;
    case 2:
        must(pthread_create(&thread, NULL, free_in_thread, &address));
        must(pthread_join(thread, NULL));
        break;
    default:
        must(cuMemFree(address));
    }
}

static inline void release(World *w, Buffer *buffer)
{
    if (!buffer) return;
    if (buffer->kind == ASYNC || (buffer->kind == PLAIN && chance(w, 20))) {
        int s = (int)below(w, STREAMS);
        before_use(w, buffer, s, true);
        must(cuMemFreeAsync(buffer->address, w->streams[s]));
    } else if (buffer->kind == MAPPED) {
        wait_for_context(false); /* unmapping waits for nothing */
        must(cuMemUnmap(buffer->address, buffer->bytes));
        must(cuMemAddressFree(buffer->reserved, buffer->reserved_bytes));
    } else {
        if (chance(w, 30)) wait_for_context(false); /* otherwise freeing waits for what uses it */
        if (buffer->kind == RUNTIME)
            must(cudaFree((void *)buffer->address));
        else
            free_plainly(w, buffer->address);
    }
    w->live_bytes -= buffer->bytes;
    buffer->address = 0;
}

static inline void set_buffer(World *w, Buffer *buffer, int s)
{
    CUstream stream = w->streams[s];
    size_t words = buffer->bytes / 4;
    uint32_t value = (uint32_t)next_random(w);
    before_use(w, buffer, s, true);
    switch (below(w, 6)) {
    case 0:
        must(cuMemsetD32Async(buffer->address, value, words, stream));
        break;
    case 1:
        must(cuMemsetD8Async(buffer->address, (uint8_t)value, buffer->bytes, stream));
        break;
    case 2:
        must(cuMemsetD16Async(buffer->address, (uint16_t)value, buffer->bytes / 2, stream));
        break;
    case 3:
        must(cudaMemsetAsync((void *)buffer->address, (int)value, buffer->bytes, stream));
        break;
    default:
        launch(w, s, fill, (uint32_t *)buffer->address, words, value);
    }
    after_use(w, buffer, s, true);
}

/* A piece of the buffer, in words. */
struct Piece {
    size_t first, count;
};

static inline Piece random_piece(World *w, const Buffer *buffer)
{
    size_t words = buffer->bytes / 4, first = chance(w, 50) ? 0 : below(w, words);
    return Piece{first, chance(w, 50) ? words - first : 1 + below(w, words - first)};
}

static inline void copy_in(World *w)
{
    Buffer *buffer = any_buffer(w);
    if (!buffer) return;
    Piece piece = random_piece(w, buffer);
    int s = (int)below(w, STREAMS);
    bool pinned = chance(w, 50);
    uint32_t *data = (uint32_t *)host_memory(w, piece.count * 4, pinned), salt = (uint32_t)next_random(w);
    for (size_t i = 0; i < piece.count; i++) data[i] = salt + (uint32_t)i * 2654435761u;
    CUdeviceptr to = buffer->address + 4 * piece.first;
    before_use(w, buffer, s, true);
    if (chance(w, 70)) {
        must(cuMemcpyHtoDAsync(to, data, 4 * piece.count, w->streams[s]));
    } else if (chance(w, 50)) {
        must(cudaMemcpyAsync((void *)to, data, 4 * piece.count, cudaMemcpyDefault, w->streams[s]));
    } else {
        must(cuStreamSynchronize(w->streams[s]));
        must(cuMemcpyHtoD(to, data, 4 * piece.count));
    }
    after_use(w, buffer, s, true);
}

static inline void copy_out(World *w, Buffer *buffer, Piece piece)
{
    int s = (int)below(w, STREAMS);
    uint32_t *data = (uint32_t *)host_memory(w, piece.count * 4, chance(w, 50));
    CUdeviceptr from = buffer->address + 4 * piece.first;
    before_use(w, buffer, s, false);
    if (chance(w, 50)) {
        must(cuMemcpyDtoHAsync(data, from, 4 * piece.count, w->streams[s]));
        must(cuStreamSynchronize(w->streams[s]));
    } else {
        must(cuStreamSynchronize(w->streams[s]));
        must(cuMemcpyDtoH(data, from, 4 * piece.count));
    }
    uint64_t hash = 0;
    for (size_t i = 0; i < piece.count; i++) hash = hash * 31 + data[i];
    if (verbose)
        fprintf(stderr, "[%d] read %zu bytes: %016llx\n", w->thread, 4 * piece.count,
                (unsigned long long)hash);
    note(w, hash);
}

static inline void copy_across(World *w)
{
    Buffer *to = any_buffer(w), *from = any_buffer(w);
    if (!to || !from || to == from) return;
    int s = (int)below(w, STREAMS);
    Piece a = random_piece(w, to), b = random_piece(w, from);
    size_t bytes = 4 * (a.count < b.count ? a.count : b.count);
    CUdeviceptr into = to->address + 4 * a.first, out_of = from->address + 4 * b.first;
    Buffer *both[] = {to, from};
    bool writes[] = {true, false};
    use(w, both, writes, 2, s);
    if (chance(w, 50)) {
        must(cuMemcpyDtoDAsync(into, out_of, bytes, w->streams[s]));
    } else if (chance(w, 50)) {
        must(cuMemcpyAsync(into, out_of, bytes, w->streams[s]));
    } else { /* as two rows with a gap between them */
        size_t width = bytes / 3;
        CUDA_MEMCPY2D copy = {};
        copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = out_of;
        copy.dstDevice = into;
        copy.srcPitch = copy.dstPitch = 2 * width;
        copy.WidthInBytes = width;
        copy.Height = 2;
        if (width) must(cuMemcpy2DAsync(&copy, w->streams[s]));
    }
    used(w, both, writes, 2, s);
}

/* The host uses managed memory directly. */
static inline void touch_managed(World *w)
{
    Buffer *buffer = any_buffer(w);
    if (!buffer || buffer->kind != MANAGED) return;
    wait_for_context(false);
    uint32_t *words = (uint32_t *)buffer->address;
    note(w, words[0]);
    words[0] += 7;
}

/* Reads all that is alive, and frees some of it. */
static inline void end_world(World *w)
{
    for (int i = 0; i < MAX_BUFFERS; i++) {
        Buffer *buffer = &w->buffers[i];
        if (!buffer->address) continue;
        copy_out(w, buffer, Piece{0, buffer->bytes / 4});
        if (chance(w, 50)) release(w, buffer);
    }
    release_host_memory(w);
}

#endif
