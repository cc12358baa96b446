/* Contexts that come and go in a random program: memory is freed with whatever is current, calls are tried
 * without a context, and between two phases a context ends with what is in it and another one follows. */
#ifndef RANDOM_CONTEXT_ACTIONS_CUH
#define RANDOM_CONTEXT_ACTIONS_CUH

#include "memory_actions.cuh"

/* What must not differ: the errors. What would be written is not looked at. */
static void try_without_a_context(World *w)
{
    CUdeviceptr address;
    size_t free_bytes, total_bytes;
    uint32_t word;
    unsigned type;
    Buffer *buffer = any_buffer(w);
    CUcontext popped = NULL;
    bool pops = chance(w, 50);
    if (pops)
        must(cuCtxPopCurrent(&popped));
    else
        must(cuCtxSetCurrent(NULL));
    note_result(w, "allocation without a context", cuMemAlloc(&address, 4096));
    note_result(w, "allocation in order without a context", cuMemAllocAsync(&address, 4096, w->streams[2]));
    note_result(w, "memory without a context", cuMemGetInfo(&free_bytes, &total_bytes));
    if (buffer) {
        note_result(w, "set without a context", cuMemsetD8(buffer->address, 1, 4));
        note_result(w, "copy without a context", cuMemcpyDtoH(&word, buffer->address, 4));
        note_result(w, "free in order without a context", cuMemFreeAsync(buffer->address, w->streams[2]));
        note_result(w, "question without a context",
                    cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, buffer->address));
    }
    must(pops ? cuCtxPushCurrent(w->context) : cuCtxSetCurrent(w->context));
}

/* All that a context had is read, and part of it freed. What outlives contexts is freed. */
static void leave_context(World *w)
{
    for (int i = 0; i < MAX_BUFFERS; i++) {
        Buffer *buffer = &w->buffers[i];
        if (!buffer->address) continue;
        copy_out(w, buffer, Piece{0, buffer->bytes / 4});
        if (buffer->kind == MAPPED || buffer->kind == ASYNC || chance(w, 60)) release(w, buffer);
        if (buffer->address) w->live_bytes -= buffer->bytes;
    }
    release_host_memory(w);
    must(cuMemPoolDestroy(w->pool));
    for (int s = 2; s < STREAMS; s++)
        if (chance(w, 50)) must(cuStreamDestroy(w->streams[s]));
    memset(w->buffers, 0, sizeof w->buffers);
}

/* The context in which the next phase runs, current: the primary one, or one of the program's own beside or
 * instead of it. *own: the program's, or NULL. */
static CUcontext change_context(World *w, CUcontext *own)
{
    CUcontext context;
    if (*own)
        must(cuCtxDestroy(*own));
    else if (chance(w, 80))
        must(cudaDeviceReset());
    *own = NULL;
    if (chance(w, 40)) {
        must(cuCtxSetCurrent(NULL));
        must(cuCtxCreate(own, NULL, 0, 0));
        return *own;
    }
    must(cudaSetDevice(0));
    must(cuCtxGetCurrent(&context));
    return context;
}

#endif
