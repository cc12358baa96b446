/* A CUDA program that checks its own results on the device, so that every missing order shows.
 *
 * usage: ordered_program SEED [STEPS]
 *
 * Threads allocate and free in stream order and otherwise, hand memory from stream to stream by events,
 * destroy streams that have work, and capture graphs that allocate and free. Before memory is used or freed,
 * a kernel compares it with what its owner wrote. Exit status: 0: all was as written; 1: some was not; 3: a
 * call failed, which is printed as `error N`. Knows nothing of sluice. */
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 3, FEW = 4, MANY = 30, MOST_STREAMS = MANY, BLOCKS = 12, MIB = 1 << 20 };

#define must(call)                                                                                           \
    do {                                                                                                     \
        int must_result = (int)(call);                                                                       \
        if (must_result) {                                                                                   \
            fprintf(stderr, "ordered_program:%d: %s: error %d\n", __LINE__, #call, must_result);             \
            _Exit(3);                                                                                        \
        }                                                                                                    \
    } while (0)

/* For calls that may be made again: a refusal now and then must not end the run before its waits are tried. */
#define again(call)                                                                                          \
    do {                                                                                                     \
        int result, tries = 0;                                                                               \
        while ((result = (int)(call)) && ++tries < 40) cudaGetLastError();                                   \
        must(result);                                                                                        \
    } while (0)

extern "C" __global__ void write_all(uint32_t *to, uint32_t words, uint32_t value)
{
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
        to[i] = value ^ i;
}

extern "C" __global__ void compare(const uint32_t *from, uint32_t words, uint32_t value, uint32_t *wrong)
{
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
        if (from[i] != (value ^ i)) atomicAdd(wrong, 1);
}

extern "C" __global__ void copy_all(uint32_t *to, const uint32_t *from, uint32_t words)
{
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
        to[i] = from[i];
}

struct Block {
    uint32_t *at; /* NULL: none */
    uint32_t words, value;
    int stream; /* that used it last */
    bool plain; /* of cudaMalloc */
};

struct World {
    uint64_t random;
    Block blocks[BLOCKS];
    cudaStream_t streams[MOST_STREAMS];
    int stream_count, steps;
    cudaEvent_t event;
    uint32_t *wrong, *answer; /* the program's counter; pinned memory of this thread */
};

/* No thread waits for the whole context while one captures. */
static pthread_rwlock_t capturing = PTHREAD_RWLOCK_INITIALIZER;

static uint32_t below(World *w, uint32_t limit)
{
    uint64_t z = w->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 16) % limit;
}

static void check(World *w, const Block *block, cudaStream_t stream)
{
    compare<<<2, 64, 0, stream>>>(block->at, block->words, block->value, w->wrong);
    must(cudaGetLastError());
}

static void put(const Block *block, cudaStream_t stream)
{
    write_all<<<2, 64, 0, stream>>>(block->at, block->words, block->value);
    must(cudaGetLastError());
}

static void make(World *w, Block *block)
{
    uint32_t bytes = 4096 << below(w, 9);
    *block = Block{NULL, bytes / 4, below(w, 1u << 31), (int)below(w, w->stream_count), below(w, 4) == 0};
    cudaStream_t stream = w->streams[block->stream];
    if (block->plain)
        must(cudaMalloc(&block->at, bytes));
    else
        must(cudaMallocAsync(&block->at, bytes, stream));
    put(block, stream);
}

/* The stream `to` goes on behind what `from` has. */
static void order(World *w, int from, int to)
{
    if (from == to) return;
    again(cudaEventRecord(w->event, w->streams[from]));
    again(cudaStreamWaitEvent(w->streams[to], w->event, 0));
}

/* cudaFree waits for the kernel that writes `answer`, which the host reads behind it. */
static void end(World *w, Block *block)
{
    int stream = below(w, 2) ? block->stream : (int)below(w, w->stream_count);
    order(w, block->stream, stream);
    check(w, block, w->streams[stream]);
    if (block->plain) {
        *w->answer = 0;
        write_all<<<1, 1, 0, w->streams[stream]>>>(w->answer, 1, block->value);
        must(cudaGetLastError());
        pthread_rwlock_wrlock(&capturing);
        must(cudaFree(block->at));
        pthread_rwlock_unlock(&capturing);
        if (*(volatile uint32_t *)w->answer != block->value) _Exit(1);
    } else {
        must(cudaFreeAsync(block->at, w->streams[stream]));
    }
    block->at = NULL;
}

static void use(World *w, Block *block)
{
    int stream = (int)below(w, w->stream_count);
    order(w, block->stream, stream);
    block->stream = stream;
    check(w, block, w->streams[stream]);
    if (below(w, 2)) return;
    block->value = below(w, 1u << 31);
    put(block, w->streams[stream]);
}

static void replace_stream(World *w)
{
    int s = 1 + (int)below(w, w->stream_count - 1);
    for (Block *block = w->blocks; block < w->blocks + BLOCKS; block++)
        if (block->at && block->stream == s) {
            order(w, s, 0);
            block->stream = 0;
        }
    must(cudaStreamDestroy(w->streams[s]));
    must(cudaStreamCreateWithFlags(&w->streams[s], below(w, 2) ? cudaStreamDefault : cudaStreamNonBlocking));
}

/* The graph doubles the block through memory of its own. The stream may have work from before. */
static void run_graph(World *w, Block *block)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    uint32_t *own, *before = NULL, bytes = block->words * 4;
    bool works_before = below(w, 2);
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (works_before) {
        must(cudaMallocAsync(&before, bytes, stream));
        Block first = {before, block->words, block->value + 1, 0, false};
        put(&first, stream);
        check(w, &first, stream);
        must(cudaFreeAsync(before, stream));
    }
    pthread_rwlock_rdlock(&capturing);
    must(cudaStreamBeginCapture(stream, below(w, 2) ? cudaStreamCaptureModeThreadLocal
                                                    : cudaStreamCaptureModeRelaxed));
    must(cudaMallocAsync(&own, bytes, stream));
    copy_all<<<2, 64, 0, stream>>>(own, block->at, block->words);
    must(cudaGetLastError());
    Block copy = {own, block->words, block->value, 0, false};
    check(w, &copy, stream);
    copy_all<<<2, 64, 0, stream>>>(block->at, own, block->words);
    must(cudaGetLastError());
    must(cudaFreeAsync(own, stream));
    must(cudaStreamEndCapture(stream, &graph));
    pthread_rwlock_unlock(&capturing);
    must(cudaGraphInstantiate(&ready, graph, 0));
    for (uint32_t i = 1 + below(w, 3); i > 0; i--) must(cudaGraphLaunch(ready, w->streams[block->stream]));
    must(cudaStreamDestroy(stream));
    must(cudaGraphExecDestroy(ready));
    must(cudaGraphDestroy(graph));
}

static void wait_for_all(void)
{
    pthread_rwlock_wrlock(&capturing);
    again(cudaDeviceSynchronize());
    pthread_rwlock_unlock(&capturing);
}

static void act(World *w)
{
    Block *block = &w->blocks[below(w, BLOCKS)];
    uint32_t dice = below(w, 100);
    if (!block->at)
        make(w, block);
    else if (dice < 40)
        use(w, block);
    else if (dice < 75)
        end(w, block);
    else if (dice < 87)
        run_graph(w, block);
    else if (dice < 93)
        replace_stream(w);
    else if (dice < 98)
        again(cudaStreamSynchronize(w->streams[block->stream]));
    else
        wait_for_all();
}

static void *work(void *argument)
{
    World *w = (World *)argument;
    must(cudaHostAlloc(&w->answer, 4, cudaHostAllocDefault));
    must(cudaEventCreateWithFlags(&w->event, cudaEventDisableTiming));
    w->streams[0] = cudaStreamPerThread;
    for (int s = 1; s < w->stream_count; s++)
        must(cudaStreamCreateWithFlags(&w->streams[s], s % 2 ? cudaStreamDefault : cudaStreamNonBlocking));
    for (int i = 0; i < w->steps; i++) act(w);
    for (Block *block = w->blocks; block < w->blocks + BLOCKS; block++)
        if (block->at) end(w, block);
    return NULL;
}

int main(int count, char **arguments)
{
    if (count < 2) {
        fprintf(stderr, "usage: ordered_program SEED [STEPS]\n");
        return 2;
    }
    uint64_t seed = strtoull(arguments[1], NULL, 10);
    int steps = count > 2 ? atoi(arguments[2]) : 60;
    static World worlds[THREADS];
    pthread_t threads[THREADS];
    uint32_t *wrong, answer;
    must(cudaMalloc(&wrong, 4));
    must(cudaMemset(wrong, 0, 4));
    again(cudaDeviceSynchronize());
    for (int t = 0; t < THREADS; t++) {
        worlds[t].random = seed * THREADS + (uint64_t)t;
        worlds[t].stream_count = seed % 4 == 3 ? MANY : FEW;
        worlds[t].steps = steps;
        worlds[t].wrong = wrong;
        must(pthread_create(&threads[t], NULL, work, &worlds[t]));
    }
    for (int t = 0; t < THREADS; t++) must(pthread_join(threads[t], NULL));
    again(cudaDeviceSynchronize());
    must(cudaMemcpy(&answer, wrong, 4, cudaMemcpyDeviceToHost));
    if (answer) fprintf(stderr, "%u words are wrong\n", answer);
    return answer != 0;
}
