/* Memory that a plan expects to be dead at one launch is used once more and freed some launches later. The
 * content lives until the free, in the order of the stream that frees, however late whoever carries the plan
 * out comes to it.
 *
 * usage: free_behind_late_daemon [ITERATIONS [SEED]]
 *
 * One thread does the same in each iteration: buffers are allocated in stream order, written, read in two
 * streams, and freed in either; cudaMalloc and cudaFree come in between. The host waits every fourth
 * iteration. */
#include <vector>

#include "promise.cuh"

enum { STEPS = 150, MOST_LIVE = 24, KEPT = 8, ROUNDS = 300 };

struct Buffer {
    unsigned *address;
    size_t bytes;
    unsigned pattern;
};

static uint64_t state;

static size_t below(size_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(state >> 33) % limit;
}

static cudaStream_t first, second;
static cudaEvent_t event;
static unsigned *wrong;

static Buffer make(unsigned pattern)
{
    static const size_t sizes[] = {2 << 20, 2 << 20, 4 << 20, 1 << 20, 256 << 10};
    Buffer buffer = {NULL, sizes[below(5)], pattern};
    if (below(16))
        must(cudaMallocAsync(&buffer.address, buffer.bytes, first));
    else
        must(cudaMalloc(&buffer.address, buffer.bytes));
    fill_in(first, buffer.address, buffer.bytes, pattern, ROUNDS);
    return buffer;
}

static void read(const Buffer &buffer, bool in_second)
{
    if (in_second) order(first, second, event);
    check_in(in_second ? second : first, buffer.address, buffer.bytes, buffer.pattern, ROUNDS, wrong);
    if (in_second) order(second, first, event);
}

static void release(const Buffer &buffer)
{
    read(buffer, false);
    order(first, second, event);
    must(cudaFreeAsync(buffer.address, second));
}

static void iterate(unsigned *const *kept, unsigned pattern)
{
    std::vector<Buffer> live;
    for (int step = 0; step < STEPS; step++) {
        size_t dice = below(8), which = live.empty() ? 0 : below(live.size());
        if (dice < 3 && live.size() < MOST_LIVE) {
            live.push_back(make(pattern += 5000));
        } else if (dice == 6) {
            check_in(first, kept[below(KEPT)], 2 << 20, 77, 0, wrong);
        } else if (live.empty()) {
            continue;
        } else if (dice < 5) {
            read(live[which], below(2));
        } else if (dice == 5) {
            release(live[which]);
            live.erase(live.begin() + which);
        }
    }
    for (const Buffer &buffer : live) release(buffer);
}

int main(int argc, char **argv)
{
    int iterations = argc > 1 ? atoi(argv[1]) : 60;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    unsigned *kept[KEPT];
    watch();
    first = new_stream();
    second = new_stream();
    event = new_event();
    wrong = new_counter();
    for (unsigned *&buffer : kept) {
        must(cudaMallocAsync(&buffer, 2 << 20, first));
        fill_in(first, buffer, 2 << 20, 77, 0);
    }
    for (int i = 0; i < iterations; i++) {
        state = seed;
        iterate(kept, (unsigned)i * 1000000);
        if (i % 4 < 3) continue;
        must(cudaStreamSynchronize(second));
        must(cudaStreamSynchronize(first));
    }
    return report(wrong);
}
