/* What these programs share: kernels that write and check patterns, counters of wrong words, and an end to
 * whatever does not go on. A program prints `total bad N` as its last line and exits with 0 if N is 0. */
#ifndef PROMISE_PROMISE_CUH
#define PROMISE_PROMISE_CUH

#include <cuda_runtime.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define must(call)                                                                                           \
    do {                                                                                                     \
        int must_result = (int)(call);                                                                       \
        if (must_result) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, must_result);                \
            exit(3);                                                                                         \
        }                                                                                                    \
    } while (0)

/* Keeps a thread busy; the empty assembly keeps the compiler from leaving it out. */
static __device__ void work(unsigned rounds)
{
    unsigned x = rounds;
    for (unsigned i = 0; i < rounds; i++) {
        x = x * 1664525u + 1013904223u;
        asm volatile("" : "+r"(x));
    }
}

enum { BLOCKS = 8, THREADS = 128 };

/* The pattern's words lie in pieces, one for each block, that are spread over all of the memory. */
static __device__ size_t place(size_t bytes)
{
    return blockIdx.x * (bytes / sizeof(unsigned) / gridDim.x) + threadIdx.x;
}

/* Both kernels work for `rounds` first. */
static __global__ void fill(unsigned *to, size_t bytes, unsigned pattern, unsigned rounds)
{
    work(rounds);
    to[place(bytes)] = pattern + (unsigned)place(bytes);
}

static __global__ void check(const unsigned *from, size_t bytes, unsigned pattern, unsigned rounds,
                             unsigned *wrong)
{
    work(rounds);
    if (from[place(bytes)] != pattern + (unsigned)place(bytes)) atomicAdd(wrong, 1u);
}

static inline void fill_in(cudaStream_t stream, unsigned *to, size_t bytes, unsigned pattern, unsigned rounds)
{
    fill<<<BLOCKS, THREADS, 0, stream>>>(to, bytes, pattern, rounds);
    must(cudaGetLastError());
}

static inline void check_in(cudaStream_t stream, const unsigned *from, size_t bytes, unsigned pattern,
                            unsigned rounds, unsigned *wrong)
{
    check<<<BLOCKS, THREADS, 0, stream>>>(from, bytes, pattern, rounds, wrong);
    must(cudaGetLastError());
}

static inline cudaStream_t new_stream()
{
    cudaStream_t stream;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static inline cudaEvent_t new_event()
{
    cudaEvent_t event;
    must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}

/* What is in `second` from now on comes behind what is in `first` so far. */
static inline void order(cudaStream_t first, cudaStream_t second, cudaEvent_t event)
{
    must(cudaEventRecord(event, first));
    must(cudaStreamWaitEvent(second, event, 0));
}

/* A counter on the device, 0. */
static inline unsigned *new_counter()
{
    unsigned *counter;
    must(cudaMalloc(&counter, sizeof *counter));
    must(cudaMemset(counter, 0, sizeof *counter));
    must(cudaDeviceSynchronize());
    return counter;
}

/* To be returned from main. Waits for the device. */
static inline int report(const unsigned *wrong)
{
    unsigned total;
    must(cudaDeviceSynchronize());
    must(cudaMemcpy(&total, wrong, sizeof total, cudaMemcpyDeviceToHost));
    printf("total bad %u\n", total);
    return total != 0;
}

static inline void end_in_vain(int)
{
    static const char text[] = "no progress\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(5);
}

/* The program ends with 5 if it has not ended by itself long after it should have. PROMISE_PATIENCE: after
 * how many seconds. */
static inline void watch()
{
    const char *seconds = getenv("PROMISE_PATIENCE");
    signal(SIGALRM, end_in_vain);
    alarm(seconds ? (unsigned)atoi(seconds) : 60);
}

#endif
