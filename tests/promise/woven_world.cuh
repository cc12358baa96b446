/* What one thread of a woven program owns: streams, and buffers that know who still uses them. Every use, and
 * every free, comes behind what it must come behind by events, so the program is right in whatever order the
 * device works. */
#ifndef PROMISE_WOVEN_WORLD_CUH
#define PROMISE_WOVEN_WORLD_CUH

#include <atomic>
#include <mutex>
#include <vector>

#include "promise.cuh"

enum { MOST_THREADS = 3, STREAMS = 4, ALL_STREAMS = MOST_THREADS * STREAMS, TABLE_ENTRIES = 1 << 15 };

/* Numbers by chance (SplitMix64). */
struct Chance {
    uint64_t state;

    uint64_t next()
    {
        uint64_t z = state += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }
    size_t below(size_t limit) { return next() % limit; }
    bool one_in(size_t count) { return count && below(count) == 0; }
};

enum Kind { PLAIN, ORDERED, OF_POOL };

struct Buffer {
    unsigned *address = NULL; /* NULL: there is none */
    size_t bytes = 0;
    Kind kind = PLAIN;
    unsigned pattern = 0; /* what is in it */
    unsigned entry = 0;   /* of the table that holds its address */
    int writer = -1;      /* the stream of the last write */
    bool pending[ALL_STREAMS] = {};
    cudaEvent_t used[ALL_STREAMS] = {}; /* each stream's last use */
};

/* What the seed decides for the whole program. */
struct Program {
    int threads, streams, iterations, steps, variables;
    unsigned rounds;   /* of work in each kernel */
    bool held;         /* streams are held up by functions of the host */
    size_t deviations; /* one step in so many is another one than in the iteration before; 0: none */
    int patience;      /* iterations from one synchronisation to the next; 0: none */
    std::vector<size_t> sizes;
    unsigned *wrong;  /* words, counted on the device */
    unsigned **table; /* on the device, and made there */
    std::atomic<unsigned> patterns, entries;
    cudaStream_t streams_of_all[ALL_STREAMS];
    std::mutex lock;
    std::vector<Buffer> mail; /* buffers on their way from one thread to another */
};

struct World {
    Program *program;
    int thread;
    uint64_t seed;
    Chance usual, unusual; /* the same in each iteration; another in each */
    std::vector<Buffer> variables, kept;
    cudaMemPool_t pool;
    int capturing = -1; /* the stream, or -1 */
    bool relaxed;       /* the capture allows everything */
    int captured_steps; /* until it ends */
    std::vector<Buffer> captured;
    cudaGraphExec_t graph; /* of checks of what is kept */

    int stream_at(size_t number) const
    {
        int stream = thread * STREAMS + (int)(number % program->streams);
        bool taken = stream == capturing;
        return taken ? thread * STREAMS + (int)((number + 1) % program->streams) : stream;
    }
    cudaStream_t stream(int s) const { return program->streams_of_all[s]; }
};

/* What other streams do with the buffer, and stream `s` must not meet, comes first. */
static inline void before_use(const World &w, const Buffer &buffer, int s, bool write)
{
    for (int other = 0; other < ALL_STREAMS; other++)
        if (other != s && buffer.pending[other] && (write || other == buffer.writer))
            must(cudaStreamWaitEvent(w.stream(s), buffer.used[other], 0));
}

static inline void after_use(const World &w, Buffer &buffer, int s, bool write)
{
    if (write) {
        for (bool &pending : buffer.pending) pending = false;
        buffer.writer = s;
    }
    if (!buffer.used[s]) buffer.used[s] = new_event();
    must(cudaEventRecord(buffer.used[s], w.stream(s)));
    buffer.pending[s] = true;
}

static inline unsigned new_pattern(const World &w)
{
    return w.program->patterns.fetch_add(1) * 2654435761u;
}

#endif
