/* Programs that have a context current only during some calls: memory that is freed while none is current, in
 * whatever thread, is given out again only when nobody uses it any more; calls that the driver refuses
 * without a context change nothing, now or later; and what holds in one context holds in the next.
 *
 * usage: no_context_is_current [ITERATIONS] */
#include "promise.cuh"

#include <cuda.h>
#include <pthread.h>

enum { ROUNDS = 1000, OTHERS = 24, CONTEXTS = 3 };
static const size_t bytes = 2 << 20;

static CUcontext context;

static void *free_in_thread(void *address)
{
    must(cuMemFree((CUdeviceptr)address));
    return NULL;
}

/* What comes by now and then without a context. */
static void try_in_vain(unsigned *memory, cudaStream_t stream)
{
    unsigned word, refused = 0;
    CUdeviceptr address = (CUdeviceptr)memory, other;
    size_t free_bytes, total_bytes;
    refused += cuMemsetD8(address, 1, 4) == CUDA_ERROR_INVALID_CONTEXT;
    refused += cuMemsetD32Async(address, 1, 1, stream) == CUDA_ERROR_INVALID_CONTEXT;
    refused += cuMemcpyDtoH(&word, address, 4) == CUDA_ERROR_INVALID_CONTEXT;
    refused += cuMemAlloc(&other, bytes) == CUDA_ERROR_INVALID_CONTEXT;
    refused += cuMemAllocAsync(&other, bytes, stream) == CUDA_ERROR_INVALID_CONTEXT;
    refused += cuMemFreeAsync(address, stream) == CUDA_ERROR_INVALID_CONTEXT;
    refused += cuMemGetInfo(&free_bytes, &total_bytes) == CUDA_ERROR_INVALID_CONTEXT;
    must(refused != 7);
}

static void free_without_a_context(unsigned *memory, unsigned *other, cudaStream_t stream, unsigned way)
{
    pthread_t thread;
    CUcontext popped;
    if (way == 0)
        must(cuCtxSetCurrent(NULL));
    else if (way == 1)
        must(cuCtxPopCurrent(&popped));
    if (way < 2) {
        try_in_vain(other, stream);
        must(cuMemFree((CUdeviceptr)memory));
        try_in_vain(other, stream);
        must(cuCtxSetCurrent(context));
    } else {
        must(pthread_create(&thread, NULL, free_in_thread, memory));
        must(pthread_join(thread, NULL));
    }
}

/* Returns the wrong words. All memory together is more than the budget. */
static unsigned in_one_context(unsigned iterations)
{
    unsigned *others[OTHERS], *first, *second, total;
    cudaStream_t stream = new_stream(), successor = new_stream();
    unsigned *wrong = new_counter();
    must(cuCtxGetCurrent(&context));
    for (unsigned i = 0; i < OTHERS; i++) {
        must(cudaMalloc(&others[i], bytes));
        fill_in(stream, others[i], bytes, 100 * i, 0);
    }
    for (unsigned k = 1; k <= iterations; k++) {
        must(cudaMalloc(&first, bytes));
        fill_in(stream, first, bytes, 1000 * k, 0);
        for (unsigned i = 0; i < OTHERS; i += 3) check_in(stream, others[i], bytes, 100 * i, 0, wrong);
        check_in(stream, first, bytes, 1000 * k, ROUNDS, wrong);
        free_without_a_context(first, others[k % OTHERS], stream, k % 3);
        must(cudaMalloc(&second, bytes));
        fill_in(successor, second, bytes, 5000 * k, 0);
        check_in(successor, second, bytes, 5000 * k, 0, wrong);
        must(cudaFree(second));
    }
    for (unsigned i = 0; i < OTHERS; i++) check_in(stream, others[i], bytes, 100 * i, 0, wrong);
    must(cudaDeviceSynchronize());
    must(cudaMemcpy(&total, wrong, sizeof total, cudaMemcpyDeviceToHost));
    return total;
}

int main(int argc, char **argv)
{
    unsigned iterations = argc > 1 ? (unsigned)atoi(argv[1]) : 9, total = 0;
    watch();
    for (unsigned c = 0; c < CONTEXTS; c++) {
        total += in_one_context(iterations);
        must(cudaDeviceReset());
    }
    printf("total bad %u\n", total);
    return total != 0;
}
