/* Memory that a plan expects to be dead behind one launch is used once more and freed some launches later.
 * The content lives until the free, however late whoever carries the plan out comes to it.
 *
 * usage: free_behind_late_daemon [SEED [ITERATIONS]]
 *
 * One thread and one stream. The seed decides what an iteration allocates, writes, reads and frees; all are
 * alike. The host waits after every fourth. */
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

static cudaStream_t stream;
static unsigned *wrong;

static Buffer make(unsigned pattern)
{
    static const size_t sizes[] = {2 << 20, 2 << 20, 4 << 20, 1 << 20, 256 << 10};
    Buffer buffer = {NULL, sizes[below(5)], pattern};
    if (below(16))
        must(cudaMallocAsync(&buffer.address, buffer.bytes, stream));
    else
        must(cudaMalloc(&buffer.address, buffer.bytes));
    fill_in(stream, buffer.address, buffer.bytes, pattern, ROUNDS);
    return buffer;
}

static void read(const Buffer &buffer)
{
    check_in(stream, buffer.address, buffer.bytes, buffer.pattern, ROUNDS, wrong);
}

static void release(const Buffer &buffer)
{
    read(buffer);
    must(cudaFreeAsync(buffer.address, stream));
}

static void iterate(unsigned *const *kept, unsigned pattern)
{
    std::vector<Buffer> live;
    for (int step = 0; step < STEPS; step++) {
        size_t dice = below(8), which = live.empty() ? 0 : below(live.size());
        if (dice < 3 && live.size() < MOST_LIVE) {
            live.push_back(make(pattern += 5000));
        } else if (dice == 6) {
            check_in(stream, kept[below(KEPT)], 2 << 20, 77, 0, wrong);
        } else if (live.empty()) {
            continue;
        } else if (dice < 5) {
            read(live[which]);
        } else if (dice == 5) {
            release(live[which]);
            live.erase(live.begin() + which);
        }
    }
    for (const Buffer &buffer : live) release(buffer);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int iterations = argc > 2 ? atoi(argv[2]) : 60;
    unsigned *kept[KEPT];
    watch();
    stream = new_stream();
    wrong = new_counter();
    for (unsigned *&buffer : kept) {
        must(cudaMallocAsync(&buffer, 2 << 20, stream));
        fill_in(stream, buffer, 2 << 20, 77, 0);
    }
    for (int i = 0; i < iterations; i++) {
        state = seed;
        iterate(kept, (unsigned)i * 1000000);
        if (i % 4 == 3) must(cudaStreamSynchronize(stream));
    }
    return report(wrong);
}
