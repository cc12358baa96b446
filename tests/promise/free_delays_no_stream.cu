/* Two streams that allocate, use and free memory by themselves do so at the same time: memory that comes back
 * to the stream that freed it waits for no other stream.
 *
 * usage: free_delays_no_stream [ROUNDS]
 *
 * Prints `elapsed_ms MS`, by events of the last of three times: copies in one stream, kernels in the other.
 * To be compared with the same run on a device whose memory nobody manages. */
#include "promise.cuh"

static const size_t bytes = 8 << 20;

static float once(cudaStream_t copier, cudaStream_t runner, const void *source, int rounds)
{
    cudaEvent_t begin, end, event = new_event();
    unsigned *copied, *filled;
    float ms;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    must(cudaDeviceSynchronize());
    must(cudaEventRecord(begin, copier));
    for (int i = 0; i < rounds; i++) {
        must(cudaMallocAsync(&copied, bytes, copier));
        must(cudaMemcpyAsync(copied, source, bytes, cudaMemcpyHostToDevice, copier));
        must(cudaFreeAsync(copied, copier));
        must(cudaMallocAsync(&filled, bytes, runner));
        fill_in(runner, filled, bytes, (unsigned)i, 0);
        must(cudaFreeAsync(filled, runner));
    }
    order(runner, copier, event);
    must(cudaEventRecord(end, copier));
    must(cudaDeviceSynchronize());
    must(cudaEventElapsedTime(&ms, begin, end));
    return ms;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 200;
    unsigned long long all = ~0ull;
    cudaMemPool_t pool;
    void *source;
    watch();
    cudaStream_t copier = new_stream(), runner = new_stream();
    unsigned *wrong = new_counter();
    must(cudaMallocHost(&source, bytes));
    must(cudaDeviceGetDefaultMemPool(&pool, 0));
    must(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
    for (int time = 0; time < 2; time++) once(copier, runner, source, rounds);
    printf("elapsed_ms %.3f\n", once(copier, runner, source, rounds));
    return report(wrong);
}
