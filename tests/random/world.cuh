/* What one thread of a random program owns: buffers, streams, a random number generator, and a log of
 * everything that it saw. Uses are ordered by events, so that the program has one right result in whatever
 * order the device works. */
#ifndef RANDOM_WORLD_CUH
#define RANDOM_WORLD_CUH

#include <cuda.h>
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BUFFERS = 48, STREAMS = 5, MAX_HOST = 256 };

enum BufferKind { PLAIN, RUNTIME, ASYNC, MAPPED, MANAGED, BUFFER_KINDS };

struct Buffer {
    CUdeviceptr address; /* 0: no buffer */
    size_t bytes;
    BufferKind kind;
    CUdeviceptr reserved; /* of MAPPED: the addresses around it */
    size_t reserved_bytes;
    int writer;            /* the stream that wrote last, or -1 */
    CUevent used[STREAMS]; /* each stream's last use */
    bool pending[STREAMS];
};

struct World {
    uint64_t random;
    uint64_t log;
    int thread;
    bool plain; /* takes no memory that is the driver's own business, so that all of it is under the budget */
    bool contexts; /* contexts come and go */
    CUcontext context;
    Buffer buffers[MAX_BUFFERS];
    CUstream streams[STREAMS];
    CUmemoryPool pool;
    void *pinned[MAX_HOST], *pageable[MAX_HOST]; /* in use by copies until the next synchronisation */
    int pinned_count, pageable_count;
    size_t live_bytes, peak_bytes;
    size_t passed_bytes; /* allocated in ways that are the driver's own business */
};

static inline uint64_t next_random(World *w)
{
    uint64_t z = w->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline size_t below(World *w, size_t limit)
{
    return limit ? next_random(w) % limit : 0;
}

static inline bool chance(World *w, int percent)
{
    return (int)below(w, 100) < percent;
}

/* The log is the program's output: results and errors in the thread's own order. */
static inline void note(World *w, uint64_t value)
{
    w->log = (w->log ^ value) * 0x100000001b3u;
    w->log ^= w->log >> 29;
}

extern bool verbose;

static inline void note_result(World *w, const char *what, CUresult result)
{
    if (verbose) fprintf(stderr, "[%d] %s: %d\n", w->thread, what, (int)result);
    note(w, (uint64_t)result);
}

/* Calls that must succeed: where one does not, nothing after it would mean anything, in no thread. */
#define must(call)                                                                                           \
    do {                                                                                                     \
        int must_result = (int)(call);                                                                       \
        if (must_result) {                                                                                   \
            fprintf(stderr, "random_program: %s:%d: %s: error %d\n", __FILE__, __LINE__, #call,              \
                    must_result);                                                                            \
            _Exit(3);                                                                                        \
        }                                                                                                    \
    } while (0)

/* A context cannot be waited for while one of its streams captures, whichever thread it is of: captures are
 * readers. */
extern pthread_rwlock_t capturing;

static inline void wait_for_context(bool by_the_runtime)
{
    pthread_rwlock_wrlock(&capturing);
    if (by_the_runtime)
        must(cudaDeviceSynchronize());
    else
        must(cuCtxSynchronize());
    pthread_rwlock_unlock(&capturing);
}

/* Stream `s` is going to read (or write) the buffer: what came before in other streams comes first. */
static inline void before_use(World *w, Buffer *buffer, int s, bool write)
{
    for (int other = 0; other < STREAMS; other++) {
        if (other == s || !buffer->pending[other] || (!write && other != buffer->writer)) continue;
        if (chance(w, 15))
            must(cuEventSynchronize(buffer->used[other]));
        else
            must(cuStreamWaitEvent(w->streams[s], buffer->used[other], 0));
    }
}

static inline void after_use(World *w, Buffer *buffer, int s, bool write)
{
    if (write) {
        memset(buffer->pending, 0, sizeof buffer->pending);
        buffer->writer = s;
    }
    if (!buffer->used[s]) must(cuEventCreate(&buffer->used[s], CU_EVENT_DISABLE_TIMING));
    must(cuEventRecord(buffer->used[s], w->streams[s]));
    buffer->pending[s] = true;
}

/* After a write every later use waits for it alone; a reader's own stream order then carries the wait on,
 * which is why the writer's event stays pending when others read. */
static inline void use(World *w, Buffer *const *buffers, const bool *writes, int count, int s)
{
    for (int i = 0; i < count; i++) before_use(w, buffers[i], s, writes[i]);
}

static inline void used(World *w, Buffer *const *buffers, const bool *writes, int count, int s)
{
    for (int i = 0; i < count; i++) after_use(w, buffers[i], s, writes[i]);
}

/* Host memory that a copy may still be reading is freed here. */
static inline void release_host_memory(World *w)
{
    wait_for_context(false);
    for (int i = 0; i < w->pinned_count; i++) must(cuMemFreeHost(w->pinned[i]));
    for (int i = 0; i < w->pageable_count; i++) free(w->pageable[i]);
    w->pinned_count = w->pageable_count = 0;
}

static inline void *host_memory(World *w, size_t bytes, bool pinned)
{
    if (w->pinned_count == MAX_HOST || w->pageable_count == MAX_HOST) release_host_memory(w);
    void *memory = NULL;
    if (pinned)
        must(cuMemAllocHost(&memory, bytes ? bytes : 1));
    else
        memory = malloc(bytes ? bytes : 1);
    if (!memory) exit(4);
    (pinned ? w->pinned[w->pinned_count++] : w->pageable[w->pageable_count++]) = memory;
    return memory;
}

static inline Buffer *any_buffer(World *w)
{
    for (int tries = 0; tries < 64; tries++) {
        Buffer *buffer = &w->buffers[below(w, MAX_BUFFERS)];
        if (buffer->address) return buffer;
    }
    return NULL;
}

#endif
