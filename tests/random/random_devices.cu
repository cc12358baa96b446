/* A random program of one process on several devices: it makes up what it does by a seed, and compares all
 * that it reads with what the host computes.
 *
 * Buffers are of one device each. Kernels read and write those of their own device, and of another one;
 * copies go between all of them and the host. What uses a buffer waits, by events, for what used it before,
 * on whichever device. With --threads each device has a thread of its own, which makes its calls.
 *
 * --careless: memory is freed by cudaFree though other devices still use it, which not every driver waits
 * for.
 *
 * usage: random_devices --seed N [--devices N] [--steps N] [--threads] [--careless] [--seconds N]
 */
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <cuda_runtime.h>

#define OK(call)                                                                                             \
    do {                                                                                                     \
        cudaError_t error_ = (call);                                                                         \
        if (error_ != cudaSuccess) {                                                                         \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_));       \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

typedef uint32_t word;

__global__ void mix(word *to, const word *from, word factor, word bias, unsigned count)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = to[i] * factor + from[i] + bias;
}

/* Nobody else sees where `from` is. */
__global__ void mix_by_table(word *to, word *const *table, unsigned entry, word factor, unsigned count)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = to[i] * factor + table[entry][i];
}

/* A thread that has one device current, or the main one in its place. */
class Worker
{
  public:
    Worker(int device, bool threaded) : device_(device)
    {
        if (threaded) thread_ = std::thread([this] { serve(); });
    }
    ~Worker()
    {
        if (!thread_.joinable()) return;
        run([this] { ends_ = true; });
        thread_.join();
    }
    void run(const std::function<void()> &work)
    {
        if (!thread_.joinable()) {
            OK(cudaSetDevice(device_));
            work();
            return;
        }
        std::unique_lock<std::mutex> lock(mutex_);
        work_ = &work;
        changed_.notify_all();
        changed_.wait(lock, [this] { return !work_; });
    }

  private:
    void serve()
    {
        OK(cudaSetDevice(device_));
        std::unique_lock<std::mutex> lock(mutex_);
        while (!ends_) {
            changed_.wait(lock, [this] { return work_; });
            (*work_)();
            work_ = nullptr;
            changed_.notify_all();
        }
    }
    int device_;
    bool ends_ = false;
    std::thread thread_;
    std::mutex mutex_;
    std::condition_variable changed_;
    const std::function<void()> *work_ = nullptr;
};

struct Stream {
    int device;
    cudaStream_t handle;
};

struct Buffer {
    int device;
    word *memory;
    std::vector<word> truth;
    bool in_order; /* of cudaMallocAsync */
    std::vector<cudaEvent_t> uses;
    size_t bytes() const { return truth.size() * sizeof(word); }
};

struct World {
    std::mt19937 chance;
    int devices;
    bool peers, careless;
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<Stream> streams;
    std::vector<Buffer> buffers;
    std::vector<word *> tables; /* of each device, written before they are used */
    word *pinned, *pinned_seen;
    std::vector<uint64_t> live, peak;

    uint32_t below(uint32_t count) { return chance() % count; }
    bool happens(int percent) { return below(100) < (uint32_t)percent; }
};

enum { LONGEST = 768 << 10, TABLE = 4, STREAMS = 3 /* of each device, the last is the default one */ };

/* Behind what used the buffer before. */
static void wait_for(World &world, const Stream &stream, Buffer &buffer)
{
    (void)world;
    for (cudaEvent_t event : buffer.uses) OK(cudaStreamWaitEvent(stream.handle, event, 0));
}

static void note_use(const Stream &stream, Buffer &buffer)
{
    cudaEvent_t event;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaEventRecord(event, stream.handle));
    for (cudaEvent_t before : buffer.uses) OK(cudaEventDestroy(before)); /* it waited for them */
    buffer.uses = {event};
}

static void make(World &world)
{
    Buffer buffer;
    buffer.device = (int)world.below((uint32_t)world.devices);
    buffer.truth.resize(1024 + world.below(LONGEST));
    buffer.in_order = world.happens(40);
    const Stream &stream = world.streams[(size_t)buffer.device * STREAMS + world.below(STREAMS)];
    word value = world.below(256) * 0x01010101u;
    world.workers[(size_t)buffer.device]->run([&] {
        if (buffer.in_order)
            OK(cudaMallocAsync((void **)&buffer.memory, buffer.bytes(), stream.handle));
        else
            OK(cudaMalloc((void **)&buffer.memory, buffer.bytes()));
        OK(cudaMemsetAsync(buffer.memory, (int)(value & 255), buffer.bytes(), stream.handle));
        note_use(stream, buffer);
    });
    for (word &w : buffer.truth) w = value;
    uint64_t &live = world.live[(size_t)buffer.device], &peak = world.peak[(size_t)buffer.device];
    live += buffer.bytes();
    if (live > peak) peak = live;
    world.buffers.push_back(std::move(buffer));
}

/* By a call, which returns memory that others use only later; in the order of a stream, its device's or
 * another's; with the calling thread at another device. */
static void drop(World &world, size_t at)
{
    Buffer buffer = std::move(world.buffers[at]);
    world.buffers.erase(world.buffers.begin() + (long)at);
    bool elsewhere = world.happens(30), by_call = world.happens(50);
    bool careless = world.happens(50) && world.careless;
    size_t device = elsewhere ? world.below((uint32_t)world.devices) : (size_t)buffer.device;
    const Stream &stream = world.streams[device * STREAMS + world.below(STREAMS)];
    world.workers[device]->run([&] {
        if (by_call || (!buffer.in_order && elsewhere)) {
            for (cudaEvent_t event : buffer.uses)
                if (!careless) OK(cudaEventSynchronize(event));
            OK(cudaFree(buffer.memory));
        } else {
            wait_for(world, stream, buffer);
            OK(cudaFreeAsync(buffer.memory, stream.handle));
        }
        for (cudaEvent_t event : buffer.uses) OK(cudaEventDestroy(event));
    });
    world.live[(size_t)buffer.device] -= buffer.bytes();
}

static void launch(World &world)
{
    size_t t = world.below((uint32_t)world.buffers.size()), f = world.below((uint32_t)world.buffers.size());
    const Stream &stream = world.streams[world.below((uint32_t)world.streams.size())];
    Buffer &to = world.buffers[t], &from = world.buffers[f];
    if (t == f || (!world.peers && (to.device != stream.device || from.device != stream.device))) return;
    unsigned count = (unsigned)std::min(to.truth.size(), from.truth.size());
    word factor = world.below(1000) * 2 + 1, bias = world.below(1000);
    bool by_table = world.happens(15);
    unsigned entry = world.below(TABLE);
    world.workers[(size_t)stream.device]->run([&] {
        wait_for(world, stream, to);
        wait_for(world, stream, from);
        if (by_table) {
            word **table = (word **)world.tables[(size_t)stream.device] + entry;
            OK(cudaDeviceSynchronize()); /* nobody reads the entry */
            OK(cudaMemcpyAsync(table, &from.memory, sizeof from.memory, cudaMemcpyHostToDevice,
                               stream.handle));
            OK(cudaStreamSynchronize(stream.handle));
            mix_by_table<<<(count + 255) / 256, 256, 0, stream.handle>>>(
                to.memory, (word *const *)world.tables[(size_t)stream.device], entry, factor, count);
        } else {
            mix<<<(count + 255) / 256, 256, 0, stream.handle>>>(to.memory, from.memory, factor, bias, count);
        }
        OK(cudaGetLastError());
        note_use(stream, to);
        note_use(stream, from);
    });
    for (unsigned i = 0; i < count; i++)
        to.truth[i] = to.truth[i] * factor + from.truth[i] + (by_table ? 0 : bias);
}

static void copy(World &world)
{
    size_t t = world.below((uint32_t)world.buffers.size()), f = world.below((uint32_t)world.buffers.size());
    if (t == f) return;
    Buffer &to = world.buffers[t], &from = world.buffers[f];
    size_t count = std::min(to.truth.size(), from.truth.size());
    const Stream &stream = world.streams[world.below((uint32_t)world.streams.size())];
    int how = (int)world.below(3);
    bool elsewhere = world.happens(30) && stream.handle; /* the default stream is the thread's device's */
    size_t thread = elsewhere ? world.below((uint32_t)world.devices) : (size_t)stream.device;
    world.workers[thread]->run([&] {
        wait_for(world, stream, to);
        wait_for(world, stream, from);
        size_t bytes = count * sizeof(word);
        if (how == 0)
            OK(cudaMemcpyPeerAsync(to.memory, to.device, from.memory, from.device, bytes, stream.handle));
        else if (how == 1)
            OK(cudaMemcpyAsync(to.memory, from.memory, bytes, cudaMemcpyDefault, stream.handle));
        else {
            OK(cudaStreamSynchronize(stream.handle));
            OK(cudaMemcpyPeer(to.memory, to.device, from.memory, from.device, bytes));
            OK(cudaSetDevice(to.device));
            OK(cudaDeviceSynchronize());
            OK(cudaSetDevice(from.device));
            OK(cudaDeviceSynchronize());
            OK(cudaSetDevice((int)thread));
            OK(cudaDeviceSynchronize());
        }
    });
    world.workers[(size_t)stream.device]->run([&] {
        note_use(stream, to);
        note_use(stream, from);
    });
    std::copy(from.truth.begin(), from.truth.begin() + (long)count, to.truth.begin());
}

static void upload(World &world)
{
    Buffer &to = world.buffers[world.below((uint32_t)world.buffers.size())];
    const Stream &stream = world.streams[world.below((uint32_t)world.streams.size())];
    bool reads = world.happens(40) && stream.device == to.device; /* a kernel reads the host's memory */
    word first = world.below(1000000);
    for (size_t i = 0; i < to.truth.size(); i++) world.pinned[i] = first + (word)i * 7;
    world.workers[(size_t)stream.device]->run([&] {
        wait_for(world, stream, to);
        unsigned count = (unsigned)to.truth.size();
        if (reads)
            mix<<<(count + 255) / 256, 256, 0, stream.handle>>>(to.memory, world.pinned_seen, 3, 1, count);
        else
            OK(cudaMemcpyAsync(to.memory, world.pinned, to.bytes(), cudaMemcpyHostToDevice, stream.handle));
        note_use(stream, to);
        OK(cudaStreamSynchronize(stream.handle)); /* the host writes there again */
    });
    for (size_t i = 0; i < to.truth.size(); i++)
        to.truth[i] = (reads ? to.truth[i] * 3 + 1 : 0) + first + (word)i * 7;
}

static void check(World &world, size_t at)
{
    Buffer &buffer = world.buffers[at];
    const Stream &stream = world.streams[world.below((uint32_t)world.streams.size())];
    std::vector<word> seen(buffer.truth.size());
    world.workers[(size_t)stream.device]->run([&] {
        wait_for(world, stream, buffer);
        OK(cudaMemcpyAsync(seen.data(), buffer.memory, buffer.bytes(), cudaMemcpyDeviceToHost,
                           stream.handle));
        OK(cudaStreamSynchronize(stream.handle));
    });
    for (size_t i = 0; i < seen.size(); i++)
        if (seen[i] != buffer.truth[i]) {
            fprintf(stderr, "buffer %p of device %d, word %zu of %zu: %u instead of %u\n",
                    (void *)buffer.memory, buffer.device, i, seen.size(), seen[i], buffer.truth[i]);
            _exit(2);
        }
}

static void wait_somewhere(World &world)
{
    size_t device = world.below((uint32_t)world.devices);
    world.workers[device]->run([&] { OK(cudaDeviceSynchronize()); });
}

static void step(World &world)
{
    uint32_t what = world.below(100);
    if (world.buffers.size() < 4 || (what < 12 && world.buffers.size() < 24))
        make(world);
    else if (what < 22)
        drop(world, world.below((uint32_t)world.buffers.size()));
    else if (what < 62)
        launch(world);
    else if (what < 80)
        copy(world);
    else if (what < 88)
        upload(world);
    else if (what < 95)
        check(world, world.below((uint32_t)world.buffers.size()));
    else
        wait_somewhere(world);
}

static void open_world(World &world, bool threaded)
{
    world.live.resize((size_t)world.devices);
    world.peak.resize((size_t)world.devices);
    OK(cudaHostAlloc((void **)&world.pinned, (LONGEST + 1024) * sizeof(word),
                     cudaHostAllocPortable | cudaHostAllocMapped));
    OK(cudaHostGetDevicePointer((void **)&world.pinned_seen, world.pinned, 0));
    for (int d = 0; d < world.devices; d++) {
        world.workers.emplace_back(new Worker(d, threaded));
        world.workers.back()->run([&] {
            for (int s = 0; s < STREAMS; s++) {
                cudaStream_t stream = NULL;
                if (s + 1 < STREAMS)
                    OK(cudaStreamCreateWithFlags(&stream, s ? cudaStreamNonBlocking : cudaStreamDefault));
                world.streams.push_back({d, stream});
            }
            for (int peer = 0; peer < world.devices && world.peers; peer++)
                if (peer != d) OK(cudaDeviceEnablePeerAccess(peer, 0));
            cudaMemPool_t pool;
            std::vector<cudaMemAccessDesc> all;
            for (int peer = 0; peer < world.devices; peer++)
                if (peer != d)
                    all.push_back({{cudaMemLocationTypeDevice, peer}, cudaMemAccessFlagsProtReadWrite});
            OK(cudaDeviceGetDefaultMemPool(&pool, d));
            if (world.peers) OK(cudaMemPoolSetAccess(pool, all.data(), all.size()));
            word *table;
            OK(cudaMalloc((void **)&table, TABLE * sizeof(word *)));
            world.tables.push_back(table);
        });
    }
}

int main(int count, char **arguments)
{
    World world;
    unsigned seed = 1, steps = 0, seconds = 200;
    bool threaded = false;
    world.devices = 0;
    world.careless = false;
    for (int a = 1; a < count; a++) {
        std::string name = arguments[a];
        unsigned value = a + 1 < count ? (unsigned)strtoul(arguments[a + 1], NULL, 10) : 0;
        if (name == "--threads") threaded = true;
        if (name == "--careless") world.careless = true;
        if (name == "--seed") seed = value;
        if (name == "--devices") world.devices = (int)value;
        if (name == "--steps") steps = value;
        if (name == "--seconds") seconds = value;
    }
    alarm(seconds);
    world.chance.seed(seed);
    int drawn = 2 + (int)world.below(2);
    threaded |= world.happens(40);
    world.peers = world.happens(70);
    if (!world.devices) world.devices = drawn;
    if (!steps) steps = 150 + world.below(250);
    open_world(world, threaded);
    for (unsigned s = 0; s < steps; s++) step(world);
    for (size_t b = 0; b < world.buffers.size(); b++) check(world, b);
    while (!world.buffers.empty()) drop(world, world.below((uint32_t)world.buffers.size()));
    uint64_t peak = 0;
    for (uint64_t bytes : world.peak) peak = std::max(peak, bytes);
    printf("peak_bytes %llu\n", (unsigned long long)peak);
    fflush(NULL);
    world.workers.clear();
    return 0;
}
