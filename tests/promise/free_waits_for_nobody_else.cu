/* Memory that is freed and taken again in one stream waits for that stream only. Another stream is held up by
 * a function on the host, which waits for what the first one does with the memory: were there a wait, nobody
 * would go on. */
#include <atomic>

#include "promise.cuh"

static const size_t bytes = 4 << 20;
static std::atomic<bool> seen;

static void wait_until_seen(void *)
{
    while (!seen) usleep(1000);
}

int main()
{
    unsigned *other, *memory;
    watch();
    cudaStream_t held = new_stream(), free = new_stream();
    unsigned *wrong = new_counter();
    must(cudaMalloc(&other, bytes));
    must(cudaDeviceSynchronize());
    must(cudaMallocAsync(&memory, bytes, free));
    fill_in(free, memory, bytes, 1, 0);
    must(cudaStreamSynchronize(free));
    fill_in(held, other, bytes, 5, 0);
    must(cudaLaunchHostFunc(held, wait_until_seen, NULL));
    must(cudaFreeAsync(memory, free));
    must(cudaMallocAsync(&memory, bytes, free));
    fill_in(free, memory, bytes, 2, 0);
    check_in(free, memory, bytes, 2, 0, wrong);
    must(cudaStreamSynchronize(free));
    seen = true;
    return report(wrong);
}
